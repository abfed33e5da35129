package procfs

// CgroupMemory is what the memory controller counts.
type CgroupMemory struct {
	UseBytes int64
	// FileBytes is page cache, that of tmpfs included.
	FileBytes         Optional[int64]
	SharedMemoryBytes Optional[int64]
	// FileRefaults counts file pages read again soon after their eviction.
	FileRefaults Optional[int64]
}

// Memory reads use and composition. The kernel gathers memory.stat from every
// CPU and group below, so once a second is enough.
func (r *CgroupCounters) Memory(m *CgroupMemory) error {
	*m = CgroupMemory{}
	b, err := r.read(&r.memUse)
	if err != nil {
		return err
	}
	line, ok := oneLine(b)
	use, ok2 := parseCount(line)
	if !ok || !ok2 {
		return malformed(r.memUse.path, "not a count")
	}
	err = into(m, ParseCgroupMemoryStat)(r.read(&r.memStat))
	if err == nil {
		m.UseBytes = use
	}
	return err
}

// ParseCgroupMemoryStat parses memory.stat of either version. Version 1 has a
// set of keys of the group alone and one with total_ for it and all below; the
// latter is what version 2 always means.
func ParseCgroupMemoryStat(b []byte, m *CgroupMemory) error {
	*m = CgroupMemory{}
	return emptied(m, eachKeyed(b, "memory.stat", func(key, value []byte) bool {
		switch string(key) {
		case "file", "total_cache":
			return setCount(&m.FileBytes, value, 1)
		case "shmem", "total_shmem":
			return setCount(&m.SharedMemoryBytes, value, 1)
		case "workingset_refault_file", "total_workingset_refault_file":
			return setCount(&m.FileRefaults, value, 1)
		}
		return true
	}))
}

// MemoryRoom is what a memory limit leaves.
type MemoryRoom struct {
	// Bytes may be used before the kernel ends a process for want of memory: the limit less what is in use, page cache
	// that is no tmpfs not counted. It is below zero for a moment where the limit has just been lowered.
	Bytes int64
	Limit MemoryLimit
}

// MemoryRoom returns what the tightest limit leaves; absent where no level sets one.
func (c Cgroup) MemoryRoom() (Optional[MemoryRoom], error) {
	limit, err := c.MemoryLimit()
	if err != nil {
		return Optional[MemoryRoom]{}, err
	}
	l, ok := limit.Get()
	if !ok {
		return Optional[MemoryRoom]{}, nil
	}
	counters := c.Counters()
	defer counters.Close()
	var m CgroupMemory
	if err := counters.Memory(&m); err != nil {
		return Optional[MemoryRoom]{}, err
	}
	reclaimable := max(m.FileBytes.Or(0)-m.SharedMemoryBytes.Or(0), 0)
	return Some(MemoryRoom{Bytes: l.Bytes - max(m.UseBytes-reclaimable, 0), Limit: l}), nil
}
