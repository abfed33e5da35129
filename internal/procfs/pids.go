package procfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// numericNames appends the names in a folder that are numbers, at most limit of
// them, and returns how many there were. With stop it ends soon after the limit
// is reached, and has counted only what it has seen.
func (h *hotFile) numericNames(dst []int, buf *Buffer, limit int, stop bool) ([]int, int, error) {
	if len(buf.b) < firstBuffer {
		buf.b = make([]byte, firstBuffer)
	}
	total := 0
	for !stop || len(dst) < limit {
		n, err := getdents(h.fd, buf.b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return dst, total, classify(h.path, err)
		}
		if n == 0 {
			break
		}
		for b := buf.b[:n]; len(b) > 0; {
			name, rest, ok := nextDirent(b)
			if !ok {
				break
			}
			b = rest
			v, ok := parseCount(name)
			if !ok || v > 1<<31 {
				continue
			}
			if total++; len(dst) < limit {
				dst = append(dst, int(v))
			}
		}
	}
	return dst, total, nil
}

// direntName is where the name starts in struct linux_dirent64 (getdents64(2)):
// after inode, offset, record length and type.
const direntName = int(unsafe.Offsetof(unix.Dirent{}.Name))

// nextDirent returns the first entry's name and what follows the entry.
func nextDirent(b []byte) (name, rest []byte, ok bool) {
	if len(b) <= direntName {
		return nil, nil, false
	}
	length := int(binary.NativeEndian.Uint16(b[unsafe.Offsetof(unix.Dirent{}.Reclen):]))
	if length <= direntName || length > len(b) {
		return nil, nil, false
	}
	name, _, _ = bytes.Cut(b[direntName:length], []byte{0})
	return name, b[length:], true
}

// ProcessTable is one full look at all processes, in ascending order of the
// number: who they are and whose children they are.
type ProcessTable []ProcessEntry

// ProcessEntry is one row of a ProcessTable.
type ProcessEntry struct {
	ID
	PPID  int
	State byte
}

// Table reads the stat of every process and passes over those that cannot be read. Measured with 5,000 processes: 64 ms
// on Linux 6.18, so at most once per 5 s.
func (f FS) Table() (ProcessTable, error) {
	h, err := openHot(f.Path("proc"), false)
	if err != nil {
		return nil, err
	}
	defer h.close()
	var buf Buffer
	pids, _, err := h.numericNames(nil, &buf, maxPID, false)
	if err != nil {
		return nil, err
	}
	slices.Sort(pids)
	table := make(ProcessTable, 0, len(pids))
	for _, pid := range pids {
		if entry, err := f.entry(pid, &buf); err == nil {
			table = append(table, entry)
		}
	}
	return table, nil
}

func (f FS) entry(pid int, buf *Buffer) (ProcessEntry, error) {
	h, err := openHot(f.Path("proc", strconv.Itoa(pid), "stat"), true)
	if err != nil {
		return ProcessEntry{}, goneFrom(err)
	}
	defer h.close()
	b, err := h.read(buf)
	if err != nil {
		return ProcessEntry{}, err
	}
	var s Stat
	if err := ParseStat(b, &s); err != nil {
		return ProcessEntry{}, err
	}
	return ProcessEntry{ID: ID{PID: pid, Start: s.StartTicks}, PPID: s.PPID, State: s.State}, nil
}

// Descendants returns the processes below root in the table, parents before
// their children; root itself is not among them.
func (t ProcessTable) Descendants(root int) []ProcessEntry {
	children := make(map[int][]int)
	for i, e := range t {
		children[e.PPID] = append(children[e.PPID], i)
	}
	var out []ProcessEntry
	seen := map[int]bool{root: true}
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		for _, i := range children[queue[0]] {
			e := t[i]
			if seen[e.PID] {
				continue
			}
			seen[e.PID] = true
			out = append(out, e)
			queue = append(queue, e.PID)
		}
	}
	return out
}
