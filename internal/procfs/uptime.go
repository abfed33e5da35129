package procfs

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
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
	whole, frac, _ := bytes.Cut(field, []byte{'.'})
	s, ok1 := parseCount(whole)
	if !ok1 || s > 1<<33 || len(frac) > 9 {
		return 0, malformed("uptime", "seconds")
	}
	d := time.Duration(s) * time.Second
	if len(frac) > 0 {
		n, ok := parseCount(frac)
		if !ok {
			return 0, malformed("uptime", "fraction")
		}
		for i := len(frac); i < 9; i++ {
			n *= 10
		}
		d += time.Duration(n)
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
func (f FS) PtraceScope() (int, error) {
	s, err := f.readString("proc", "sys", "kernel", "yama", "ptrace_scope")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 3 {
		return 0, malformed("ptrace_scope", strconv.Quote(s))
	}
	return n, nil
}

// PerfEventParanoid returns kernel.perf_event_paranoid, from -1, everything is
// allowed, to 4; above 2 nobody but root may sample anything. ErrNoData says
// that this kernel has no perf events.
func (f FS) PerfEventParanoid() (int, error) {
	s, err := f.readString("proc", "sys", "kernel", "perf_event_paranoid")
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, malformed("perf_event_paranoid", strconv.Quote(s))
	}
	return n, nil
}

// CPUModel returns the first CPU's model name and whether the CPUs carry the
// hypervisor flag, which says that this is a virtual machine.
func (f FS) CPUModel() (model string, hypervisor bool, err error) {
	lib, err := procfs.NewFS(f.Path("proc"))
	if err != nil {
		return "", false, &readError{f.Path("proc"), ErrNoData, err}
	}
	infos, err := lib.CPUInfo()
	if err != nil {
		return "", false, classify(f.Path("proc", "cpuinfo"), err)
	}
	if len(infos) == 0 {
		return "", false, &readError{f.Path("proc", "cpuinfo"), ErrNoData, ErrMalformed}
	}
	for _, flag := range infos[0].Flags {
		hypervisor = hypervisor || flag == "hypervisor"
	}
	return infos[0].ModelName, hypervisor, nil
}

// HidePID returns the hidepid option of the /proc mount: "" or "0" hides
// nothing, "1" and "noaccess" hide the folders' content, "2", "invisible", "4"
// and "ptraceable" hide other users' processes altogether.
func HidePID(mounts []Mount) string {
	for i := len(mounts) - 1; i >= 0; i-- {
		m := mounts[i]
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
