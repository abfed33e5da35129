package sampler

// call groups system calls by what a thread that sleeps in them waits for.
type call uint8

const (
	callOther call = iota
	callPoll
	callPpoll
	callFutex
	callRead     // of a file, a pipe or a socket
	callFileRead // of a file only
	callWrite
	callReceive // from a socket
	callOpen    // opens, names, attributes and listings of files
	callFcntl
	callFlock
	callSleep
	callSelect
	callIoctl
	callWaitChild
)

// callTable reports the group of a system call by its number.
type callTable struct {
	groups  [512]call
	hasPoll bool
}

func (t *callTable) of(number int) call {
	if number < len(t.groups) {
		return t.groups[number]
	}
	return callOther
}

// callNumber is one system call: its name and its numbers, -1 where the architecture lacks it. The numbers are those of
// arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (arm64).
type callNumber struct {
	name         string
	amd64, arm64 int
}

var callNumbers = map[call][]callNumber{
	callRead: {{"read", 0, 63}, {"readv", 19, 65}},
	callFileRead: {{"pread64", 17, 67}, {"preadv", 295, 69}, {"preadv2", 327, 286}, {"sendfile", 40, 71},
		{"copy_file_range", 326, 285}, {"readahead", 187, 213}, {"fadvise64", 221, 223}, {"madvise", 28, 233},
		{"msync", 26, 227}, {"mmap", 9, 222}},
	callWrite: {{"write", 1, 64}, {"writev", 20, 66}, {"pwrite64", 18, 68}, {"sendto", 44, 206}, {"sendmsg", 46, 211}},
	// Receiving a tensor begins with a connection to the worker that holds it (multiprocessing/resource_sharer.py).
	callReceive: {{"recvfrom", 45, 207}, {"recvmsg", 47, 212}, {"recvmmsg", 299, 243}, {"connect", 42, 203}},
	callOpen: {{"open", 2, -1}, {"openat", 257, 56}, {"openat2", 437, 437}, {"close", 3, 57}, {"stat", 4, -1},
		{"fstat", 5, 80}, {"lstat", 6, -1}, {"newfstatat", 262, 79}, {"statx", 332, 291}, {"access", 21, -1},
		{"faccessat", 269, 48}, {"faccessat2", 439, 439}, {"readlink", 89, -1}, {"readlinkat", 267, 78},
		{"getdents", 78, -1}, {"getdents64", 217, 61}, {"statfs", 137, 43}, {"fstatfs", 138, 44}, {"lseek", 8, 62},
		{"getxattr", 191, 8}},
	callPoll:  {{"poll", 7, -1}},
	callPpoll: {{"ppoll", 271, 73}, {"epoll_wait", 232, -1}, {"epoll_pwait", 281, 22}},
	callFutex: {{"futex", 202, 98}},
	callFcntl: {{"fcntl", 72, 25}},
	callFlock: {{"flock", 73, 32}},
	callSleep: {{"nanosleep", 35, 101}, {"clock_nanosleep", 230, 115}},
	// Python's time.sleep was select without descriptors before 3.11 (Modules/timemodule.c, pysleep).
	callSelect: {{"select", 23, -1}, {"pselect6", 270, 72}},
	callIoctl:  {{"ioctl", 16, 29}},
	// A parent sleeps in state D in vfork until the child has begun its program (kernel/fork.c, wait_for_vfork_done).
	callWaitChild: {{"wait4", 61, 260}, {"waitid", 247, 95}, {"vfork", 58, -1}, {"clone", 56, 220},
		{"clone3", 435, 435}},
}

// newCallTable builds the table of an architecture in Go's words; nil where the numbers are not known.
func newCallTable(arch string) *callTable {
	if arch != "amd64" && arch != "arm64" {
		return nil
	}
	t := &callTable{}
	for group, calls := range callNumbers {
		for _, c := range calls {
			n := c.amd64
			if arch == "arm64" {
				n = c.arm64
			}
			if n < 0 {
				continue
			}
			t.groups[n] = group
			t.hasPoll = t.hasPoll || group == callPoll
		}
	}
	return t
}
