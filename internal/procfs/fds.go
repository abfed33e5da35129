package procfs

import (
	"bytes"
	"strconv"
)

// FD is one open descriptor of a process.
type FD struct {
	Num int
	// Target is what the link says: a path, perhaps with " (deleted)" after it,
	// or "pipe:[…]", "socket:[…]", "anon_inode:…". Unclean.
	Target string
}

// FDs returns the open descriptors with their link targets, the lowest numbers
// first and at most limit of them, and how many there are in all. Links are
// read, never followed. Each costs about 2.6 µs (19,000: 49 ms, Linux 6.18), so
// a caller with a time budget keeps limit small.
func (p *Process) FDs(limit int) (fds []FD, total int, err error) {
	links := p.Links()
	defer links.Close()
	total, err = links.Each(limit, func(num int, target []byte) {
		fds = append(fds, FD{Num: num, Target: string(target)})
	})
	return fds, total, err
}

// sharedMemory is where following a link is safe: a memory file system cannot
// hang, unlike a mount the job may have its data on.
const sharedMemory = "/dev/shm/"

// chrootTensor is how a tensor in the shared memory of a job in a chroot looks from outside: below the chroot's folder.
const chrootTensor = "/dev/shm/torch_"

// inSharedMemory says whether a link's target lies in a /dev/shm, ours or a chroot's.
func inSharedMemory(target []byte) bool {
	return bytes.HasPrefix(target, []byte(sharedMemory)) || bytes.Contains(target, []byte(chrootTensor))
}

// FDFlags returns the flags of open(2) that a descriptor has, from /proc/PID/fdinfo/N (proc_pid_fdinfo(5)).
func (p *Process) FDFlags(num int) (uint64, error) {
	b, err := p.readCold("fdinfo/" + strconv.Itoa(num))
	if err != nil {
		return 0, err
	}
	return ParseFDFlags(b)
}

// ParseFDFlags parses the flags line of fdinfo, which must be there; they are octal.
func ParseFDFlags(b []byte) (flags uint64, err error) {
	have := false
	err = eachKeyed(b, "fdinfo", func(key, value []byte) bool {
		if string(key) == "flags" {
			field, _ := nextField(value)
			flags, err = strconv.ParseUint(string(field), 8, 64)
			have = err == nil
		}
		return true
	})
	if err == nil && !have {
		err = malformed("fdinfo", "no flags")
	}
	return flags, err
}
