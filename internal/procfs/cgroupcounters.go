package procfs

import (
	"errors"
	"os"
	"path/filepath"
)

// CgroupCounters reads what a process' groups count, keeping the files open. It
// is not for use by several goroutines at once; Close it.
//
// The counters are those of the group that binds (the one with the tightest
// limit), or of the process' own group where nothing binds: throttling by a
// parent's quota is counted in the parent.
type CgroupCounters struct {
	buf Buffer
	// version of the cpu and the memory controller, 0 where not visible.
	cpuVersion, memVersion int

	cpuStat, cpuUsage, memUse, memStat, memEvents cgroupFile
	pressure                                      [pressureResources]cgroupFile
	missing                                       error
}

// cgroupFile is a file of a group, opened at its first read.
type cgroupFile struct {
	path string
	hot  *hotFile
}

// CgroupCPU is what the cpu controller counts.
type CgroupCPU struct {
	// UsageSeconds is the CPU time of the group (usage_usec, or cpuacct.usage).
	UsageSeconds Optional[float64]
	// Periods, Throttled and ThrottledSeconds say how often a quota stopped the
	// group; absent where it has no quota in version 2.
	Periods          Optional[int64]
	Throttled        Optional[int64]
	ThrottledSeconds Optional[float64]
}

// Counters prepares a reader of the group's counters.
func (c Cgroup) Counters() *CgroupCounters {
	r := &CgroupCounters{missing: c.noController("cpu or memory")}
	if dir, v := c.countingDir("cpu"); v > 0 {
		r.cpuVersion = v
		r.cpuStat.path = filepath.Join(dir, "cpu.stat")
		if v == 1 { // there only where cpu and cpuacct are mounted together
			r.cpuUsage.path = filepath.Join(dir, "cpuacct.usage")
		}
	}
	if dir, v := c.countingDir("memory"); v > 0 {
		r.memVersion = v
		use, events := "memory.current", "memory.events"
		if v == 1 {
			use, events = "memory.usage_in_bytes", "memory.failcnt"
		}
		r.memUse.path = filepath.Join(dir, use)
		r.memStat.path = filepath.Join(dir, "memory.stat")
		r.memEvents.path = filepath.Join(dir, events)
	}
	if dirs := c.dirs[""]; len(dirs) > 0 && !isRootGroup(dirs[0]) {
		for i := range r.pressure {
			r.pressure[i].path = filepath.Join(dirs[0], PressureResource(i).String()+".pressure")
		}
	}
	return r
}

// isRootGroup reports that this is the root of the whole hierarchy, whose
// figures are the machine's. It alone has no cgroup.events; the root of a
// container's namespace has one.
func isRootGroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.events"))
	return errors.Is(err, os.ErrNotExist)
}

// countingDir returns the binding group's folder, or the process' own.
func (c Cgroup) countingDir(controller string) (string, int) {
	dirs, v := c.version(controller)
	if v == 0 {
		return "", 0
	}
	dir := dirs[0]
	switch controller {
	case "cpu":
		if l, err := c.CPULimit(); err == nil {
			dir = l.Or(CPULimit{Dir: dir}).Dir
		}
	case "memory":
		if l, err := c.MemoryLimit(); err == nil {
			dir = l.Or(MemoryLimit{Dir: dir}).Dir
		}
	}
	return dir, v
}

// Close gives the descriptors back.
func (r *CgroupCounters) Close() {
	for _, f := range []*cgroupFile{&r.cpuStat, &r.cpuUsage, &r.memUse, &r.memStat, &r.memEvents} {
		f.hot.close()
		f.hot = nil
	}
	for i := range r.pressure {
		r.pressure[i].hot.close()
		r.pressure[i].hot = nil
	}
}

func (r *CgroupCounters) read(f *cgroupFile) ([]byte, error) {
	if f.path == "" {
		return nil, r.missing
	}
	if f.hot == nil {
		hot, err := openHot(f.path, true)
		if err != nil {
			return nil, err
		}
		f.hot = hot
	}
	b, err := f.hot.read(&r.buf)
	if err != nil {
		f.hot.close()
		f.hot = nil
	}
	return b, err
}

// CPU reads the cpu controller.
func (r *CgroupCounters) CPU(c *CgroupCPU) error {
	*c = CgroupCPU{}
	b, err := r.read(&r.cpuStat)
	if err != nil {
		return err
	}
	if err := ParseCgroupCPUStat(b, c); err != nil {
		return err
	}
	if r.cpuVersion == 1 && r.cpuUsage.path != "" {
		b, err := r.read(&r.cpuUsage)
		if errors.Is(err, ErrNoData) {
			r.cpuUsage.path = "" // not tried again
		} else if err != nil {
			return err
		}
		if line, ok := oneLine(b); err == nil && ok {
			if n, ok := parseCount(line); ok {
				c.UsageSeconds = Some(float64(n) / 1e9)
			}
		}
	}
	return nil
}

// ParseCgroupCPUStat parses cpu.stat of either version: version 2 counts
// throttled_usec and usage_usec, version 1 throttled_time in nanoseconds.
func ParseCgroupCPUStat(b []byte, c *CgroupCPU) error {
	*c = CgroupCPU{}
	return eachKeyed(b, "cpu.stat", func(key []byte, n int64) {
		switch string(key) {
		case "usage_usec":
			c.UsageSeconds = Some(float64(n) / 1e6)
		case "nr_periods":
			c.Periods = Some(n)
		case "nr_throttled":
			c.Throttled = Some(n)
		case "throttled_usec":
			c.ThrottledSeconds = Some(float64(n) / 1e6)
		case "throttled_time":
			c.ThrottledSeconds = Some(float64(n) / 1e9)
		}
	})
}

// Pressure reads a PSI file of the process' own group; version 2 only.
func (r *CgroupCounters) Pressure(res PressureResource, p *Pressure) error {
	b, err := r.read(&r.pressure[res])
	if err != nil {
		return err
	}
	return ParsePressure(b, p)
}

// eachKeyed calls visit for each "key count" line.
func eachKeyed(b []byte, name string, visit func(key []byte, n int64)) error {
	if len(b) == 0 {
		return malformed(name, "empty")
	}
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			return malformed(name, "cut")
		}
		b = rest
		key, value := nextField(line)
		field, _ := nextField(value)
		n, ok := parseCount(field)
		if !ok {
			return malformed(name, "not a count")
		}
		visit(key, n)
	}
	return nil
}
