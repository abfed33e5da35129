package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
)

// A limit applies at every level: what binds a process is the tightest of its
// own group and all groups above (Documentation/admin-guide/cgroup-v2.rst).

// groupFile has a file of a group parsed, unless the group has no such file.
func groupFile(dir, name string, parse func([]byte) error) error {
	path := filepath.Join(dir, name)
	b, err := readBounded(path)
	if errors.Is(err, ErrNoData) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := parse(b); err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	return nil
}

// CPULimit returns the tightest CPU quota as a number of CPUs, 2.5 for two and a half CPUs' worth of time; absent where
// no level sets one. The error is ErrNoData where the controller is not visible.
func (c Cgroup) CPULimit() (best Optional[float64], err error) {
	dirs, v := c.version("cpu")
	if v == 0 {
		return best, c.noController("cpu")
	}
	for _, dir := range dirs {
		cpus, err := quotaOf(dir, v)
		if err != nil && !errors.Is(err, ErrNoData) {
			return Optional[float64]{}, err
		}
		if q, ok := cpus.Get(); ok && q < best.Or(math.Inf(1)) {
			best = cpus
		}
	}
	return best, nil
}

func quotaOf(dir string, version int) (cpus Optional[float64], err error) {
	if version == 2 {
		b, err := readBounded(filepath.Join(dir, "cpu.max"))
		if err != nil {
			return cpus, err
		}
		return ParseCPUMax(b)
	}
	quota, err := readBounded(filepath.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return cpus, err
	}
	period, err := readBounded(filepath.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return cpus, err
	}
	q, err := strconv.ParseInt(string(bytes.TrimSpace(quota)), 10, 64)
	p, ok := parseCount(bytes.TrimSpace(period))
	if err != nil || !ok || p == 0 {
		return cpus, malformed(dir+"/cpu.cfs_quota_us", "quota or period")
	}
	if q < 0 {
		return cpus, nil
	}
	return Some(float64(q) / float64(p)), nil
}

// ParseCPUMax parses "quota period" or "max period" of version 2 into CPUs.
func ParseCPUMax(b []byte) (Optional[float64], error) {
	line, ok := oneLine(b)
	if !ok {
		return Optional[float64]{}, malformed("cpu.max", "not one whole line")
	}
	quota, rest := nextField(line)
	period, _ := nextField(rest)
	p, ok := parseCount(period)
	if !ok || p == 0 {
		return Optional[float64]{}, malformed("cpu.max", "period")
	}
	if string(quota) == "max" {
		return Optional[float64]{}, nil
	}
	q, ok := parseCount(quota)
	if !ok {
		return Optional[float64]{}, malformed("cpu.max", "quota")
	}
	return Some(float64(q) / float64(p)), nil
}

// CPUSet returns the CPUs the process' cpuset allows.
func (c Cgroup) CPUSet() (set CPUSet, err error) {
	dirs, v := c.version("cpuset")
	names := []string{"cpuset.effective_cpus", "cpuset.cpus"}
	if v == 2 {
		names = []string{"cpuset.cpus.effective"}
	}
	for _, dir := range dirs {
		for _, name := range names {
			err := groupFile(dir, name, func(b []byte) (err error) { set, err = ParseCPUList(b); return err })
			if err != nil || len(set) > 0 {
				return set, err
			}
		}
	}
	return nil, c.noController("cpuset")
}

// MemoryLimit is the memory limit that binds.
type MemoryLimit struct {
	Bytes int64
	// Dir is the group that sets it; its use is what counts against it.
	Dir string
}

// noMemoryLimit is what version 1 prints for "no limit": PAGE_COUNTER_MAX pages
// in bytes, which is a little below 2^63 and depends on the page size. No
// machine has 2^60 bytes.
const noMemoryLimit = 1 << 60

// MemoryLimit returns the tightest limit, absent where no level sets one. Of
// several that are as tight it is that of the uppermost group: what others below
// it use counts against it too.
func (c Cgroup) MemoryLimit() (best Optional[MemoryLimit], err error) {
	dirs, v := c.version("memory")
	if v == 0 {
		return best, c.noController("memory")
	}
	name := "memory.max"
	if v == 1 {
		name = "memory.limit_in_bytes"
	}
	for _, dir := range dirs {
		var limit Optional[int64]
		err := groupFile(dir, name, func(b []byte) (err error) { limit, err = ParseLimit(b); return err })
		if err != nil {
			return Optional[MemoryLimit]{}, err
		}
		if n, ok := limit.Get(); ok && n <= best.Or(MemoryLimit{Bytes: noMemoryLimit}).Bytes {
			best = Some(MemoryLimit{Bytes: n, Dir: dir})
		}
	}
	return best, nil
}

// ParseLimit parses a number of bytes or "max"; a number that means "no limit"
// is absent.
func ParseLimit(b []byte) (Optional[int64], error) {
	line, ok := oneLine(b)
	if !ok {
		return Optional[int64]{}, malformed("limit", "not one whole line")
	}
	if string(line) == "max" {
		return Optional[int64]{}, nil
	}
	n, ok := parseCount(line)
	if !ok {
		return Optional[int64]{}, malformed("limit", strconv.Quote(string(line)))
	}
	if n >= noMemoryLimit {
		return Optional[int64]{}, nil
	}
	return Some(n), nil
}

func (c Cgroup) noController(name string) error {
	return &readError{c.fs.Path("sys", "fs", "cgroup"), ErrNoData,
		fmt.Errorf("the %s controller is not visible (cgroup mode %s)", name, c.Mode)}
}

// UsableCPUs is how many CPUs a process can really use, with each term that could be read.
type UsableCPUs struct {
	// CPUs is the smallest of the terms, at least a fraction of one: a quota of
	// half a CPU is 0.5.
	CPUs float64
	// Affinity counts the online CPUs among those allowed.
	Affinity Optional[int]
	CPUSet   Optional[int]
	Quota    Optional[float64]
	// Warnings say which terms could not be read.
	Warnings []string
}

// UsableCPUs computes min(affinity, cpuset, quota/period) of a process, or of
// several of one control group that may each be bound to cores of their own. It
// is ErrNoData only where none of them can be read.
func (f FS) UsableCPUs(pid int, others ...int) (UsableCPUs, error) {
	allowed, err := f.allowed(pid)
	if err != nil {
		return UsableCPUs{}, err
	}
	for _, other := range others {
		if more, err := f.allowed(other); err == nil { // else it has ended
			allowed = allowed.Or(more)
		}
	}
	u := UsableCPUs{CPUs: math.Inf(1)}
	if online, err := f.OnlineCPUs(); err == nil {
		allowed = allowed.And(online)
	}
	if len(allowed) > 0 {
		u.Affinity, u.CPUs = Some(len(allowed)), float64(len(allowed))
	}
	if group, err := f.Cgroup(pid); err != nil {
		u.Warnings = append(u.Warnings, "cgroup limits unknown: "+err.Error())
	} else {
		if set, err := group.CPUSet(); err == nil {
			if u.CPUSet = Some(len(set)); len(others) == 0 { // those of others may be of a group of their own
				u.CPUs = min(u.CPUs, float64(len(set)))
			}
		} else if !errors.Is(err, ErrNoData) {
			u.Warnings = append(u.Warnings, "cpuset unknown: "+err.Error())
		}
		limit, err := group.CPULimit()
		if err != nil && !errors.Is(err, ErrNoData) {
			u.Warnings = append(u.Warnings, "CPU quota unknown: "+err.Error())
		}
		if q, ok := limit.Get(); ok && q > 0 {
			u.Quota, u.CPUs = limit, min(u.CPUs, q)
		}
	}
	if math.IsInf(u.CPUs, 1) {
		return UsableCPUs{}, &readError{"the affinity", ErrNoData, errors.New("no Cpus_allowed_list")}
	}
	return u, nil
}

// allowed are the CPUs that the scheduler lets a process run on.
func (f FS) allowed(pid int) (CPUSet, error) {
	p, err := f.Open(pid)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	status, err := p.Status()
	return status.CPUs.Or(nil), err
}
