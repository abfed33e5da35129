package procfs

import (
	"errors"
	"os"
	"path/filepath"
)

// CgroupCounters reads what a process' groups count, keeping the files open. It
// is not for use by several goroutines at once; Close it.
//
// Memory is that of the group that binds (the one with the tightest limit), or
// of the process' own group where nothing binds. Of CPU quotas see Throttling.
type CgroupCounters struct {
	buf             Buffer
	memUse, memStat keptFile
	pressure        [pressureResources]keptFile
	missing         error
}

// Counters prepares a reader of the group's counters.
func (c Cgroup) Counters() *CgroupCounters {
	r := &CgroupCounters{missing: c.noController("memory")}
	if dir, v := c.memoryDir(); v > 0 {
		use := "memory.current"
		if v == 1 {
			use = "memory.usage_in_bytes"
		}
		r.memUse.path = filepath.Join(dir, use)
		r.memStat.path = filepath.Join(dir, "memory.stat")
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

// memoryDir returns the binding group's folder, or the process' own.
func (c Cgroup) memoryDir() (string, int) {
	dirs, v := c.version("memory")
	if v == 0 {
		return "", 0
	}
	dir := dirs[0]
	if l, err := c.MemoryLimit(); err == nil {
		dir = l.Or(MemoryLimit{Dir: dir}).Dir
	}
	return dir, v
}

// Close gives the descriptors back.
func (r *CgroupCounters) Close() {
	r.memUse.close()
	r.memStat.close()
	for i := range r.pressure {
		r.pressure[i].close()
	}
}

func (r *CgroupCounters) read(f *keptFile) ([]byte, error) {
	if f.path == "" {
		return nil, r.missing
	}
	return f.read(&r.buf)
}

// Pressure reads a PSI file of the process' own group; version 2 only.
func (r *CgroupCounters) Pressure(res PressureResource, p *Pressure) error {
	return into(p, ParsePressure)(r.read(&r.pressure[res]))
}
