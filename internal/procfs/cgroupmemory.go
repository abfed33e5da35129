package procfs

// CgroupMemory is what the memory controller counts.
type CgroupMemory struct {
	UseBytes Optional[int64]
	// FileBytes is page cache, InactiveFileBytes that part of it that is first
	// to go; tmpfs is in FileBytes.
	FileBytes         Optional[int64]
	InactiveFileBytes Optional[int64]
	AnonBytes         Optional[int64]
	SharedMemoryBytes Optional[int64]
	// FileRefaults counts file pages read again soon after their eviction.
	FileRefaults Optional[int64]
}

// MemoryUse reads the bytes in use alone, which is cheap.
func (r *CgroupCounters) MemoryUse() (int64, error) {
	b, err := r.read(&r.memUse)
	if err != nil {
		return 0, err
	}
	line, ok := oneLine(b)
	n, ok2 := parseCount(line)
	if !ok || !ok2 {
		return 0, malformed(r.memUse.path, "not a count")
	}
	return n, nil
}

// Memory reads use and composition. The kernel gathers memory.stat from every
// CPU and group below, so once a second is enough.
func (r *CgroupCounters) Memory(m *CgroupMemory) error {
	*m = CgroupMemory{}
	use, err := r.MemoryUse()
	if err != nil {
		return err
	}
	b, err := r.read(&r.memStat)
	if err != nil {
		return err
	}
	if err := ParseCgroupMemoryStat(b, m); err != nil {
		return err
	}
	m.UseBytes = Some(use)
	return nil
}

// ParseCgroupMemoryStat parses memory.stat of either version. Version 1 has a
// set of keys of the group alone and one with total_ for it and all below; the
// latter is what version 2 always means.
func ParseCgroupMemoryStat(b []byte, m *CgroupMemory) error {
	*m = CgroupMemory{}
	return eachKeyed(b, "memory.stat", func(key []byte, n int64) {
		switch string(key) {
		case "file", "total_cache":
			m.FileBytes = Some(n)
		case "inactive_file":
			if _, have := m.InactiveFileBytes.Get(); !have {
				m.InactiveFileBytes = Some(n)
			}
		case "total_inactive_file":
			m.InactiveFileBytes = Some(n)
		case "anon", "total_rss":
			m.AnonBytes = Some(n)
		case "shmem", "total_shmem":
			m.SharedMemoryBytes = Some(n)
		case "workingset_refault_file", "total_workingset_refault_file":
			m.FileRefaults = Some(n)
		}
	})
}
