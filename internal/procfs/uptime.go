package procfs

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Uptime returns the time since boot, suspended time included, from
// /proc/uptime. It and ID.Start count from the same instant, so a process' age
// is Uptime less Start/100 s whatever the wall clock does.
func (f FS) Uptime() (time.Duration, error) {
	b, err := f.readFile("proc", "uptime")
	if err != nil {
		return 0, err
	}
	return ParseUptime(b)
}

// ParseUptime parses "seconds idle-seconds".
func ParseUptime(b []byte) (time.Duration, error) {
	line, ok := oneLine(b)
	if !ok {
		return 0, malformed("uptime", "not one whole line")
	}
	field, _ := nextField(line)
	d, err := time.ParseDuration(string(field) + "s")
	if err != nil || d < 0 {
		return 0, malformed("uptime", "seconds")
	}
	return d, nil
}

// KernelRelease returns what uname -r prints.
func (f FS) KernelRelease() (string, error) {
	s, err := f.readString("proc", "sys", "kernel", "osrelease")
	if err == nil && s == "" {
		return "", malformed("osrelease", "empty")
	}
	return s, err
}

// BootID returns the number that the kernel drew when it was started: another on each machine and after each start.
func (f FS) BootID() (string, error) {
	return f.readString("proc", "sys", "kernel", "random", "boot_id")
}

// HostName returns what uname -n prints.
func (f FS) HostName() (string, error) { return f.readString("proc", "sys", "kernel", "hostname") }

// PtraceScope returns Yama's restriction on looking into other processes: 0
// same user, 1 descendants only, 2 administrator only, 3 nobody. ErrNoData says
// that Yama is not in this kernel, which restricts no more than 0 does.
func (f FS) PtraceScope() (int, error) { return f.setting("yama/ptrace_scope", 0, 3) }

// PerfEventParanoid returns kernel.perf_event_paranoid, from -1, everything is
// allowed, to 4; above 2 nobody but root may sample anything. ErrNoData says
// that this kernel has no perf events.
func (f FS) PerfEventParanoid() (int, error) {
	return f.setting("perf_event_paranoid", math.MinInt, math.MaxInt)
}

// setting reads a number of /proc/sys/kernel.
func (f FS) setting(name string, least, most int) (int, error) {
	s, err := f.readString("proc/sys/kernel", name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, malformed(path.Base(name), strconv.Quote(s))
	}
	return n, nil
}

// HidePID returns the hidepid option of the /proc mount: "" or "0" hides
// nothing, "1" and "noaccess" hide the folders' content, "2", "invisible", "4"
// and "ptraceable" hide other users' processes altogether.
func HidePID(mounts []Mount) string {
	for _, m := range slices.Backward(mounts) {
		if m.FSType != "proc" || m.Point != "/proc" {
			continue
		}
		for opt := range strings.SplitSeq(m.SuperOptions, ",") {
			if v, ok := strings.CutPrefix(opt, "hidepid="); ok {
				return v
			}
		}
		return ""
	}
	return ""
}
