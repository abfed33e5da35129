package sampler

import "runtime"

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
	groups  []call
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
	group        call
}

var callNumbers = []callNumber{
	{"read", 0, 63, callRead}, {"readv", 19, 65, callRead},
	{"pread64", 17, 67, callFileRead}, {"preadv", 295, 69, callFileRead}, {"preadv2", 327, 286, callFileRead},
	{"sendfile", 40, 71, callFileRead}, {"copy_file_range", 326, 285, callFileRead}, {"readahead", 187, 213,
		callFileRead},
	{"fadvise64", 221, 223, callFileRead}, {"madvise", 28, 233, callFileRead}, {"msync", 26, 227, callFileRead},
	{"mmap", 9, 222, callFileRead},
	{"write", 1, 64, callWrite}, {"writev", 20, 66, callWrite}, {"pwrite64", 18, 68, callWrite},
	{"sendto", 44, 206, callWrite},
	{"sendmsg", 46, 211, callWrite},
	{"recvfrom", 45, 207, callReceive}, {"recvmsg", 47, 212, callReceive}, {"recvmmsg", 299, 243, callReceive},
	// Receiving a tensor begins with a connection to the worker that holds it (multiprocessing/resource_sharer.py).
	{"connect", 42, 203, callReceive},
	{"open", 2, -1, callOpen}, {"openat", 257, 56, callOpen}, {"openat2", 437, 437, callOpen},
	{"close", 3, 57, callOpen},
	{"stat", 4, -1, callOpen}, {"fstat", 5, 80, callOpen}, {"lstat", 6, -1, callOpen}, {"newfstatat", 262, 79,
		callOpen},
	{"statx", 332, 291, callOpen}, {"access", 21, -1, callOpen}, {"faccessat", 269, 48, callOpen},
	{"faccessat2", 439, 439, callOpen},
	{"readlink", 89, -1, callOpen}, {"readlinkat", 267, 78, callOpen}, {"getdents", 78, -1, callOpen},
	{"getdents64", 217, 61, callOpen},
	{"statfs", 137, 43, callOpen}, {"fstatfs", 138, 44, callOpen}, {"lseek", 8, 62, callOpen},
	{"getxattr", 191, 8, callOpen},
	{"poll", 7, -1, callPoll}, {"ppoll", 271, 73, callPpoll}, {"epoll_wait", 232, -1, callPpoll},
	{"epoll_pwait", 281, 22, callPpoll},
	{"futex", 202, 98, callFutex},
	{"fcntl", 72, 25, callFcntl}, {"flock", 73, 32, callFlock},
	{"nanosleep", 35, 101, callSleep}, {"clock_nanosleep", 230, 115, callSleep},
	// Python's time.sleep was select without descriptors before 3.11 (Modules/timemodule.c, pysleep).
	{"select", 23, -1, callSelect}, {"pselect6", 270, 72, callSelect},
	{"ioctl", 16, 29, callIoctl},
	// A parent sleeps in state D in vfork until the child has begun its program (kernel/fork.c, wait_for_vfork_done).
	{"wait4", 61, 260, callWaitChild}, {"waitid", 247, 95, callWaitChild}, {"vfork", 58, -1, callWaitChild},
	{"clone", 56, 220, callWaitChild}, {"clone3", 435, 435, callWaitChild},
}

// newCallTable builds the table of an architecture in Go's words; nil where the numbers are not known.
func newCallTable(arch string) *callTable {
	number := func(c callNumber) int { return c.amd64 }
	switch arch {
	case "amd64":
	case "arm64":
		number = func(c callNumber) int { return c.arm64 }
	default:
		return nil
	}
	t := &callTable{}
	for _, c := range callNumbers {
		n := number(c)
		if n < 0 {
			continue
		}
		for len(t.groups) <= n {
			t.groups = append(t.groups, callOther)
		}
		t.groups[n] = c.group
		t.hasPoll = t.hasPoll || c.group == callPoll
	}
	return t
}

// nativeCalls is the table of the machine pipetune runs on, which is the job's.
func nativeCalls() *callTable { return newCallTable(runtime.GOARCH) }
