package procfs

// MemoryRoom is what a memory limit leaves.
type MemoryRoom struct {
	// Bytes may be used before the kernel ends a process for want of memory: the limit less what is in use, page cache that is no
	// tmpfs not counted. It is below zero for a moment where the limit has just been lowered.
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
	return Some(MemoryRoom{Bytes: l.Bytes - max(m.UseBytes.Or(0)-reclaimable, 0), Limit: l}), nil
}
