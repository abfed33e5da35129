package procfs

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// FD is one open descriptor of a process.
type FD struct {
	Num int
	// Target is what the link says: a path, perhaps with " (deleted)" after it,
	// or "pipe:[…]", "socket:[…]", "anon_inode:…". Unclean.
	Target string
}

// FDCount returns how many descriptors the process has open. Since Linux 6.2
// the size of /proc/PID/fd is the count and costs one stat (5 µs with 20,000
// open); before, the folder is listed up to maxCountedFDs, and beyond that the
// count is absent rather than wrong.
func (p *Process) FDCount() (Optional[int], error) {
	var st unix.Stat_t
	if err := unix.Fstatat(p.dirfd, "fd", &st, 0); err != nil {
		return Optional[int]{}, p.missing(classify(p.path+"/fd", err))
	}
	if p.onProc && st.Size > 0 {
		return Some(int(st.Size)), nil
	}
	fd, err := unix.Openat(p.dirfd, "fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Optional[int]{}, p.missing(classify(p.path+"/fd", err))
	}
	defer unix.Close(fd)
	_, total, err := numericNames(fd, nil, p.buf, 0, false)
	if err != nil {
		return Optional[int]{}, p.missing(classify(p.path+"/fd", err))
	}
	return Some(total), nil
}

// FDs returns the open descriptors with their link targets, the lowest numbers
// first and at most limit of them, and how many there are in all. Links are
// read, never followed. Each costs about 2.6 µs (19,000: 49 ms, Linux 6.18), so
// a caller with a time budget keeps limit small.
func (p *Process) FDs(limit int) (fds []FD, total int, err error) {
	dir, err := unix.Openat(p.dirfd, "fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, p.missing(classify(p.path+"/fd", err))
	}
	defer unix.Close(dir)
	nums, total, err := p.fdNumbers(dir, nil, limit)
	if err != nil {
		return nil, 0, p.missing(classify(p.path+"/fd", err))
	}
	fds = make([]FD, 0, len(nums))
	var link [4096]byte
	for _, num := range nums {
		if n, ok := readlinkNumber(dir, num, link[:]); ok { // else closed between the listing and now
			fds = append(fds, FD{Num: num, Target: string(link[:n])})
		}
	}
	return fds, total, nil
}

// fdNumbers lists an open fd folder up to limit and says how many there are in
// all. Listing makes the kernel look up each descriptor (19,000: 28 ms), so it
// stops at the limit where the folder's size is the count, and goes on counting
// only before Linux 6.2.
func (p *Process) fdNumbers(dir int, dst []int, limit int) (nums []int, total int, err error) {
	var st unix.Stat_t
	counted := p.onProc && fstat(dir, &st) && st.Size > 0
	nums, total, err = numericNames(dir, dst, p.buf, limit, counted)
	if counted && len(nums) >= limit {
		total = max(int(st.Size), total)
	}
	return nums, total, err
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

// SharedMemoryBytes returns the size of an open file below /dev/shm, by a stat
// through its link. It refuses any other target, because a stat on a hung mount
// cannot be interrupted.
func (p *Process) SharedMemoryBytes(fd FD) (int64, error) {
	name := "fd/" + strconv.Itoa(fd.Num)
	target, err := p.readlink(name)
	if err != nil {
		return 0, err
	}
	if target != fd.Target || !inSharedMemory([]byte(target)) {
		return 0, &readError{p.path + "/" + name, ErrNoData, unix.EXDEV}
	}
	var st unix.Stat_t
	if err := unix.Fstatat(p.dirfd, name, &st, 0); err != nil {
		return 0, p.missing(classify(p.path+"/"+name, err))
	}
	return st.Size, nil
}

// FDInfo is the position and flags of an open descriptor.
type FDInfo struct {
	Position int64
	// Flags are those of open(2), octal in the file.
	Flags uint64
}

// FDInfo reads /proc/PID/fdinfo/N (proc_pid_fdinfo(5)).
func (p *Process) FDInfo(num int) (FDInfo, error) {
	b, err := p.readCold("fdinfo/" + strconv.Itoa(num))
	if err != nil {
		return FDInfo{}, err
	}
	return ParseFDInfo(b)
}

// ParseFDInfo parses the pos and flags lines; both must be there.
func ParseFDInfo(b []byte) (FDInfo, error) {
	var info FDInfo
	var havePos, haveFlags bool
	for len(b) > 0 {
		line, rest, whole := nextLine(b)
		if !whole {
			return FDInfo{}, malformed("fdinfo", "cut")
		}
		b = rest
		key, value, _ := bytes.Cut(line, []byte{':'})
		field, _ := nextField(value)
		switch string(key) {
		case "pos":
			info.Position, havePos = parseCount(field)
		case "flags":
			n, err := strconv.ParseUint(string(field), 8, 64)
			info.Flags, haveFlags = n, err == nil
		}
	}
	if !havePos || !haveFlags {
		return FDInfo{}, malformed("fdinfo", "no position or flags")
	}
	return info, nil
}
