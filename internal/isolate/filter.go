package isolate

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a child may not ask the kernel for, whatever runs in it: a file that takes libhdf5 over has the child's rights.
// The list says what is refused, not what is allowed: libc, Go's runtime and NVIDIA's library change what they use.

// forbidden are refused with EPERM. Those of one architecture only are in forbiddenHere.
var forbidden = []uintptr{
	// to run another program, or to look into one
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_BPF, unix.SYS_USERFAULTFD,
	// to reach another process; kill, tgkill and clone have rules of their own
	unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD,
	unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_SETPGID, unix.SYS_SETSID, unix.SYS_SETPRIORITY,
	// to reach another machine; socket has a rule of its own
	unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT, unix.SYS_ACCEPT4,
	// to get past this filter
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_PERSONALITY,
	// to be somebody else
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETREUID, unix.SYS_SETREGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID,
	unix.SYS_SETGROUPS, unix.SYS_SETFSUID, unix.SYS_SETFSGID, unix.SYS_CAPSET, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_SETRLIMIT,
	// to change a file without writing it, which Landlock does not forbid
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_SETXATTR,
	unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_MKNODAT, unix.SYS_FCHMODAT2, unix.SYS_SETXATTRAT,
	unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_FANOTIFY_INIT,
	// to change the machine
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_FSOPEN, unix.SYS_FSMOUNT,
	unix.SYS_FSCONFIG, unix.SYS_FSPICK, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR,
	unix.SYS_MOUNT_SETATTR, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME,
	unix.SYS_SETDOMAINNAME, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_ACCT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL,
	unix.SYS_LOOKUP_DCOOKIE,
}

// errNoFilter says that this kernel has no filter for system calls.
var errNoFilter = errors.New("the kernel has no filter for system calls")

// forbidCalls puts the filter on all threads of this process, for good. It needs no_new_privs, which the start has set.
func forbidCalls(unixSockets bool) error {
	program := filter(os.Getpid(), unixSockets)
	fprog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// SPEC_ALLOW: kernels before 5.16 slow down every process with a filter otherwise, and some of them are to measure.
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags,
		uintptr(unsafe.Pointer(&fprog)))
	switch {
	case errno == unix.ENOSYS || errno == unix.EINVAL:
		return errNoFilter
	case errno != 0:
		return fmt.Errorf("filtering system calls: %w", errno)
	case thread != 0:
		return fmt.Errorf("filtering system calls: thread %d cannot have the filter", thread)
	}
	return nil
}

// Where struct seccomp_data (linux/seccomp.h) has its fields. Both architectures are little-endian: the lower half of
// an argument comes first.
const (
	dataNumber   = 0
	dataArch     = 4
	dataArgument = 16
)

// filter is the program, in the language of linux/filter.h.
func filter(pid int, unixSockets bool) []unix.SockFilter {
	var p assembler
	p.load(dataArch)
	p.unless(auditArch, unix.SECCOMP_RET_KILL_PROCESS) // no call of another architecture: its numbers mean other things
	p.load(dataNumber)
	p.above(highestNumber, unix.SECCOMP_RET_KILL_PROCESS)

	// Signals to itself only, as Go's runtime and abort send them; whether another process is there may be asked.
	p.when(unix.SYS_TGKILL, func() { p.load(dataArgument); p.unless(uint32(pid), refuse) })
	p.when(unix.SYS_KILL, func() {
		p.load(dataArgument + 8)
		p.skipIf(0, 3)
		p.load(dataArgument)
		p.unless(uint32(pid), refuse)
	})
	// Threads, but no processes. The flags of clone3 lie in memory; whoever hears that there is none takes clone.
	p.when(unix.SYS_CLONE, func() { p.load(dataArgument); p.unlessBits(unix.CLONE_THREAD, refuse) })
	p.is(unix.SYS_CLONE3, unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS))
	// Limits may be read.
	p.when(unix.SYS_PRLIMIT64, func() {
		p.load(dataArgument + 16)
		p.unless(0, refuse)
		p.load(dataArgument + 20)
		p.unless(0, refuse)
	})
	if unixSockets {
		p.when(unix.SYS_SOCKET, func() { p.load(dataArgument); p.unless(unix.AF_UNIX, refuse) })
	} else {
		for _, number := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT} {
			p.is(number, refuse)
		}
	}
	for _, number := range append(append([]uintptr{}, forbidden...), forbiddenHere...) {
		p.is(uint32(number), refuse)
	}
	p.give(unix.SECCOMP_RET_ALLOW)
	return p
}

const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// assembler appends instructions; jumps are counted from the instruction after the one that jumps.
type assembler []unix.SockFilter

func (p *assembler) add(code uint16, yes, no uint8, k uint32) {
	*p = append(*p, unix.SockFilter{Code: code, Jt: yes, Jf: no, K: k})
}

func (p *assembler) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }

func (p *assembler) give(verdict uint32) { p.add(unix.BPF_RET|unix.BPF_K, 0, 0, verdict) }

// decide gives the verdict, or skips it: by yes where the comparison of the loaded word with k holds, else by no.
func (p *assembler) decide(comparison uint16, yes, no uint8, k, verdict uint32) {
	p.add(unix.BPF_JMP|comparison|unix.BPF_K, yes, no, k)
	p.give(verdict)
}

// is gives the verdict when the loaded word is the value, unless when it is not.
func (p *assembler) is(value, verdict uint32) { p.decide(unix.BPF_JEQ, 0, 1, value, verdict) }

func (p *assembler) unless(value, verdict uint32) { p.decide(unix.BPF_JEQ, 1, 0, value, verdict) }

func (p *assembler) above(value, verdict uint32) { p.decide(unix.BPF_JGT, 0, 1, value, verdict) }

func (p *assembler) unlessBits(bits, verdict uint32) { p.decide(unix.BPF_JSET, 1, 0, bits, verdict) }

// skipIf leaves the next n instructions out when the loaded word is the value.
func (p *assembler) skipIf(value uint32, n uint8) {
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, n, 0, value)
}

// when does something for one call only, and allows what that has not refused.
func (p *assembler) when(number uint32, inside func()) {
	at := len(*p)
	p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 0, number)
	inside()
	p.give(unix.SECCOMP_RET_ALLOW)
	(*p)[at].Jf = uint8(len(*p) - at - 1)
}
