package storage

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// usualAhead is the kernel's own setting where nobody changed it (VM_READAHEAD_PAGES, include/linux/mm.h).
const usualAhead = 128 << 10

// readAhead is how much the kernel reads ahead of a file at most, in bytes.
func readAhead(f *os.File) int64 {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return usualAhead
	}
	return aheadOf("/sys", unix.Major(st.Dev), unix.Minor(st.Dev))
}

// aheadOf looks a device number's setting up, below sys: that of the device itself, of the disk that a partition is on
// or, where the number is none of a device's (overlayfs, btrfs), the largest of any disk, since one of them is below.
func aheadOf(sys string, major, minor uint32) int64 {
	for _, path := range []string{"/class/bdi/%d:%d/read_ahead_kb", "/dev/block/%d:%d/../queue/read_ahead_kb"} {
		if n, ok := kibIn(sys + fmt.Sprintf(path, major, minor)); ok {
			return n
		}
	}
	most := int64(usualAhead)
	if major != 0 {
		return most
	}
	disks, _ := filepath.Glob(sys + "/class/bdi/[1-9]*:*/read_ahead_kb") // those of major number 0 are file systems
	for _, path := range disks {
		if n, ok := kibIn(path); ok {
			most = max(most, n)
		}
	}
	return most
}

// kibIn reads a file that holds a number of KiB, and returns bytes.
func kibIn(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	kib, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || kib < 0 || kib > 1<<20 {
		return 0, false
	}
	return kib << 10, true
}
