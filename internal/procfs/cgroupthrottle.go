package procfs

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// CgroupCPU is what the cpu controller counts.
type CgroupCPU struct {
	// Periods and Throttled say how often a quota stopped the group; absent where
	// it has no quota in version 2.
	Periods   Optional[int64]
	Throttled Optional[int64]
}

// Throttling follows how often CPU quotas stop a process' group, keeping the
// files open. It is not for use by several goroutines at once; Close it.
//
// Each level's cpu.stat counts only what its own quota did. The tightest quota
// is not always the one that stops: a wider one above may be used up by
// neighbours. So what is counted from one reading to the next is that of the
// level that stopped the group most often in between, and a quota that comes or
// goes meanwhile makes no jump.
type Throttling struct {
	buf     Buffer
	missing error
	levels  []*quotaLevel // the tightest quota first; the process' own group where there is no quota
	sum     CgroupCPU
	begun   bool
}

type quotaLevel struct {
	file keptFile
	last CgroupCPU
	read bool
}

// Throttling prepares a reader.
func (c Cgroup) Throttling() *Throttling {
	t := &Throttling{missing: c.noController("cpu")}
	t.Follow(c)
	return t
}

// Follow looks again for the levels that set a quota.
func (t *Throttling) Follow(c Cgroup) {
	dirs, v := c.version("cpu")
	if v == 0 {
		return
	}
	type level struct {
		dir  string
		cpus float64
	}
	var quotas []level
	for _, dir := range dirs {
		if limit, err := quotaOf(dir, v); err == nil {
			if cpus, ok := limit.Get(); ok {
				quotas = append(quotas, level{dir, cpus})
			}
		}
	}
	if len(quotas) == 0 {
		quotas = []level{{dir: dirs[0]}}
	}
	slices.SortStableFunc(quotas, func(a, b level) int {
		return cmp.Or(cmp.Compare(a.cpus, b.cpus), strings.Compare(b.dir, a.dir)) // of equal ones the innermost
	})
	before := t.levels
	t.levels = nil
	for _, q := range quotas {
		path := filepath.Join(q.dir, "cpu.stat")
		if i := slices.IndexFunc(before, func(l *quotaLevel) bool { return l.file.path == path }); i >= 0 {
			t.levels = append(t.levels, before[i])
			before = slices.Delete(before, i, i+1)
			continue
		}
		t.levels = append(t.levels, &quotaLevel{file: keptFile{path: path}})
	}
	closeLevels(before)
}

// Close gives the descriptors back.
func (t *Throttling) Close() { closeLevels(t.levels) }

func closeLevels(levels []*quotaLevel) {
	for _, l := range levels {
		l.file.close()
	}
}

// Read reads the levels. The first reading is what the tightest quota has
// counted; what is not counted at all, as where there is no quota in version 2,
// is absent. It fails where no level can be read.
func (t *Throttling) Read(c *CgroupCPU) error {
	var most CgroupCPU
	failed, grown := t.missing, false
	readable := false
	for _, l := range t.levels {
		var now CgroupCPU
		if err := into(&now, ParseCgroupCPUStat)(l.file.read(&t.buf)); err != nil {
			failed, l.read = err, false
			continue
		}
		if !t.begun {
			t.sum, t.begun = now, true
		}
		if growth, ok := grownSince(l, now); ok && (!grown || growth.Throttled.Or(0) > most.Throttled.Or(0)) {
			most, grown = growth, true
		}
		l.last, l.read, readable = now, true, true
	}
	if !readable {
		*c = CgroupCPU{}
		return failed
	}
	if grown {
		t.sum.Periods = Some(t.sum.Periods.Or(0) + most.Periods.Or(0))
		t.sum.Throttled = Some(t.sum.Throttled.Or(0) + most.Throttled.Or(0))
	}
	*c = t.sum
	return nil
}

// grownSince is what a level counted since it was last read; false where it was
// not, does not count, or restarted.
func grownSince(l *quotaLevel, now CgroupCPU) (CgroupCPU, bool) {
	periods, ok1 := now.Periods.Get()
	throttled, ok2 := now.Throttled.Get()
	if !l.read || !ok1 || !ok2 || l.last.Periods.Or(periods+1) > periods ||
		l.last.Throttled.Or(throttled+1) > throttled {
		return CgroupCPU{}, false
	}
	return CgroupCPU{Some(periods - l.last.Periods.Or(0)), Some(throttled - l.last.Throttled.Or(0))}, true
}

// ParseCgroupCPUStat parses cpu.stat of either version.
func ParseCgroupCPUStat(b []byte, c *CgroupCPU) error {
	*c = CgroupCPU{}
	return emptied(c, eachKeyed(b, "cpu.stat", func(key, value []byte) bool {
		switch string(key) {
		case "nr_periods":
			return setCount(&c.Periods, value, 1)
		case "nr_throttled":
			return setCount(&c.Throttled, value, 1)
		}
		return true
	}))
}
