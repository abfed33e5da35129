package procfs

// IO is what a process read and wrote since its start, its ended threads
// included (proc_pid_io(5)), and so are the children whose end it has waited
// for, with all they did (kernel/exit.c, wait_task_zombie). Reading another process' file needs the same user
// or CAP_SYS_PTRACE.
type IO struct {
	// ReadChars and WrittenChars are bytes that went through read and write
	// calls, page-cache hits, pipes and sockets included. Reads of a mapped file
	// are not in them.
	ReadChars    int64
	WrittenChars int64
	ReadCalls    int64
	WriteCalls   int64
	// ReadBytes is what was asked of storage; mapped files and read-ahead count.
	// Each file system has to count for itself: those on block devices, NFS, SMB,
	// AFS, Ceph and 9p do, FUSE and virtiofs do not.
	ReadBytes int64
}

// ParseIO parses /proc/PID/io. All seven lines have been there since Linux
// 2.6.20; a file without one of them is malformed. Unknown lines are ignored.
func ParseIO(b []byte, io *IO) error {
	*io = IO{}
	seen, unused := 0, int64(0)
	fields := [...]struct {
		key string
		dst *int64
	}{{"rchar", &io.ReadChars}, {"wchar", &io.WrittenChars}, {"syscr", &io.ReadCalls}, {"syscw", &io.WriteCalls},
		{"read_bytes", &io.ReadBytes}, {"write_bytes", &unused}, {"cancelled_write_bytes", &unused}}
	err := eachKeyed(b, "io", func(key, value []byte) (ok bool) {
		for i, f := range &fields {
			if string(key) == f.key {
				seen |= 1 << i
				field, _ := nextField(value)
				*f.dst, ok = parseCount(field)
				return ok
			}
		}
		return true
	})
	if err == nil && seen != 1<<len(fields)-1 {
		err = malformed("io", "a line is missing")
	}
	return emptied(io, err)
}
