package procfs

import "bytes"

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
	// ReadBytes and WrittenBytes are what was asked of storage; mapped files
	// and read-ahead count. Each file system has to count for itself: those on
	// block devices, NFS, SMB, AFS, Ceph and 9p do, FUSE and virtiofs do not.
	ReadBytes           int64
	WrittenBytes        int64
	CancelledWriteBytes int64
}

// ParseIO parses /proc/PID/io. All seven lines have been there since Linux
// 2.6.20; a file without one of them is malformed. Unknown lines are ignored.
func ParseIO(b []byte, io *IO) error {
	*io = IO{}
	seen := 0
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			return malformed("io", "cut")
		}
		b = rest
		colon := bytes.IndexByte(line, ':')
		if colon < 0 {
			return malformed("io", "line without a colon")
		}
		var dst *int64
		var bit int
		switch string(line[:colon]) {
		case "rchar":
			dst, bit = &io.ReadChars, 1
		case "wchar":
			dst, bit = &io.WrittenChars, 2
		case "syscr":
			dst, bit = &io.ReadCalls, 4
		case "syscw":
			dst, bit = &io.WriteCalls, 8
		case "read_bytes":
			dst, bit = &io.ReadBytes, 16
		case "write_bytes":
			dst, bit = &io.WrittenBytes, 32
		case "cancelled_write_bytes":
			dst, bit = &io.CancelledWriteBytes, 64
		default:
			continue
		}
		field, _ := nextField(line[colon+1:])
		v, ok := parseCount(field)
		if !ok {
			*io = IO{}
			return malformed("io", "not a count")
		}
		*dst = v
		seen |= bit
	}
	if seen != 127 {
		*io = IO{}
		return malformed("io", "a line is missing")
	}
	return nil
}
