package procfs

import (
	"bytes"
	"math"
	"regexp"
	"testing"
)

// damage is what a text is spoilt with everywhere at once.
var damage = []spoiler{
	{regexp.MustCompile(`\n`), "\r\n"}, {regexp.MustCompile(`[0-9]+`), "18446744073709551616"},
	{regexp.MustCompile(`[0-9]+`), "9223372036854775808"},
	{regexp.MustCompile(`[0-9]+`), "-1"}, {regexp.MustCompile(`[0-9]+`), "1e999"}, {regexp.MustCompile(`[0-9]+`), ""},
	{regexp.MustCompile(`[a-z]`), "\x00"},
	{regexp.MustCompile(`[a-z]`), "\xff"}, {regexp.MustCompile(`\n`), " 1 2 3 4\n"}, {regexp.MustCompile(`[ \t]`), ""},
	{regexp.MustCompile(`\n`), ""},
}

type spoiler struct {
	what *regexp.Regexp
	with string
}

// of returns the spoilt text.
func (s spoiler) of(text string) string { return s.what.ReplaceAllLiteralString(text, s.with) }

// seeds adds the good text of each parser of that name, and damaged forms of it.
func seeds(f *testing.F, names ...string) {
	for _, name := range names {
		good := parsers[name].good
		for k := range len(good) + 1 {
			f.Add([]byte(good[:k]))
		}
		for _, d := range damage {
			f.Add([]byte(d.of(good)))
		}
		f.Add([]byte(good + good))
	}
	for _, s := range []string{"", "\n", "\x00", "-1\n", "18446744073709551616\n", "1 (", "1 ()\n", ") (\n"} {
		f.Add([]byte(s))
	}
}

func finite(t *testing.T, values ...float64) {
	t.Helper()
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			t.Errorf("a parsed value is %v", v)
		}
	}
}

func FuzzStat(f *testing.F) {
	seeds(f, "stat")
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Stat
		if err := ParseStat(b, &s); err != nil {
			return
		}
		finite(t, s.UserSeconds, s.SystemSeconds, float64(s.MajorFaults), float64(s.PPID), float64(s.Threads))
	})
}

func FuzzTaskFiles(f *testing.F) {
	seeds(f, "schedstat", "io", "statm", "syscall")
	f.Fuzz(func(t *testing.T, b []byte) {
		var sched Schedstat
		if ParseSchedstat(b, &sched) == nil {
			finite(t, float64(sched.CPU), float64(sched.RunDelay))
		}
		var io IO
		if ParseIO(b, &io) == nil {
			finite(t, float64(io.ReadChars), float64(io.ReadBytes), float64(io.ReadCalls))
		}
		var m Statm
		if ParseStatm(b, &m) == nil {
			finite(t, float64(m.ResidentBytes), float64(m.SharedBytes))
		}
		var s Syscall
		if ParseSyscall(b, &s) == nil && s.Number < -1 {
			t.Errorf("system call %d", s.Number)
		}
	})
}

func FuzzMachineFiles(f *testing.F) {
	seeds(f, "/proc/stat", "meminfo", "vmstat", "diskstats", "pressure")
	f.Fuzz(func(t *testing.T, b []byte) {
		var s SystemStat
		if ParseSystemStat(b, &s) == nil {
			for state := range cpuStates {
				if v, ok := s.Total.Seconds(state); ok {
					finite(t, v)
				}
			}
		}
		var m Meminfo
		if ParseMeminfo(b, &m) == nil {
			finite(t, float64(m.Total.Or(0)), float64(m.Available.Or(0)))
		}
		var v Vmstat
		if ParseVmstat(b, &v) == nil {
			finite(t, float64(v.SwapInBytes.Or(0)), float64(v.FileRefaults.Or(0)))
		}
		_ = parseDiskstats(b, new(DiskStat), func(d *DiskStat) {
			finite(t, float64(d.ReadBytes), d.ReadSeconds, d.QueueSeconds)
		})
		var p Pressure
		if ParsePressure(b, &p) == nil {
			finite(t, p.SomeSeconds.Or(0), p.FullSeconds.Or(0))
		}
	})
}

func FuzzColdFiles(f *testing.F) {
	seeds(f, "status", "children", "fdinfo", "mountinfo", "uptime")
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := ParseStatus(b); err == nil {
			finite(t, float64(s.ResidentBytes.Or(0)))
		}
		if mounts, err := ParseMounts(b); err == nil {
			_, _ = MountOf(mounts, "/a/b")
		}
		if pids, err := ParseChildren(b, nil); err == nil {
			for _, pid := range pids {
				finite(t, float64(pid))
			}
		}
		_, _ = ParseFDFlags(b)
		_ = ParseEnviron(b)
		_ = ParseCmdline(b)
		_, _ = ParseCPUList(b)
		if d, err := ParseUptime(b); err == nil {
			finite(t, float64(d))
		}
		_ = overlayDirs(string(b))
		_ = unescapeOctal(string(b))
	})
}

func FuzzCgroupFiles(f *testing.F) {
	seeds(f, "cpu.stat", "memory.stat", "cpu.max", "limit", "io.max", "cgroup")
	f.Fuzz(func(t *testing.T, b []byte) {
		var c CgroupCPU
		if ParseCgroupCPUStat(b, &c) == nil {
			finite(t, float64(c.Throttled.Or(0)))
		}
		var m CgroupMemory
		if ParseCgroupMemoryStat(b, &m) == nil {
			finite(t, float64(m.FileBytes.Or(0)))
		}
		if q, err := ParseCPUMax(b); err == nil {
			finite(t, q.Or(0))
		}
		if l, err := ParseLimit(b); err == nil {
			finite(t, float64(l.Or(0)))
		}
		_ = parseIOLimits(b, "rbps", map[Device]*IOLimit{})
		_, _ = ParseCgroupEntries(b)
	})
}

// FuzzLinesOfOneValue are the short files and links, and the map of a process.
func FuzzLinesOfOneValue(f *testing.F) {
	seeds(f, "limit")
	for _, s := range []string{"pid:[4026531836]", "pid:[4026531836",
		"7f00-7f01 r-xp 00000000 fe:01 12 /usr/lib/libtorch_cpu.so\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseNamespaceLink(string(b)); err != nil && n != 0 {
			t.Errorf("namespace %d beside %v", n, err)
		}
		if paths, err := ParseMappedFiles(bytes.NewReader(b), func(string) bool { return true }, 3); err == nil &&
			len(paths) > 3 {
			t.Errorf("%d paths, at most 3 were asked for", len(paths))
		}
	})
}
