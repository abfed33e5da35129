package storage

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
)

// Residency is how much of some files lies in the page cache.
type Residency struct {
	Pages  int64  // of the files that could be looked at
	Cached int64  // of them in the page cache
	How    string // "cachestat" or "mincore"; "" where it cannot be determined
	Reason string // why it cannot be determined
	Remote bool   // one of them lies on another machine or behind another process, where fetching may not be counted
	Ahead  int64  // the most that the kernel reads ahead of one of them, in bytes
}

// Ratio is the share that is cached; nil where it cannot be determined.
func (r Residency) Ratio() *float64 {
	if r.How == "" || r.Pages == 0 {
		return nil
	}
	return new(float64(r.Cached) / float64(r.Pages))
}

// Resident looks at files of a sample, by their positions in it, and at what they draw on, dropping their pages first
// where asked. Files that cannot be opened are left out: reading them says why. One file that cannot be determined
// about makes the whole unknown.
func Resident(sample *dataset.Sample, files []int, drop bool) Residency {
	var all Residency
	for _, i := range files {
		if i < 0 || i >= len(sample.Files) {
			continue
		}
		file := sample.Files[i]
		for _, one := range append([]dataset.File{file}, file.Drawn...) {
			all.add(string(one.Path), drop)
		}
		if file.Unsure != "" && all.Reason == "" {
			all.Reason = Unsure(file.Unsure)
		}
	}
	switch {
	case all.Reason != "":
		all.How = ""
	case all.Pages == 0:
		all.How, all.Reason = "", "none of the files could be opened"
	}
	return all
}

// Unsure says why it is not known which files samples are read from: unsure, as dataset.File has it.
func Unsure(unsure string) string {
	return "not all files that the samples are read from are known: " + unsure
}

// add adds one file to what is known of all.
func (r *Residency) add(path string, drop bool) {
	f, size, err := dataset.OpenRegular(path, 0)
	if err != nil {
		return
	}
	one := fileResidency(f, size, drop)
	r.Ahead = max(r.Ahead, readAhead(f))
	_ = f.Close() // read-only
	r.Remote = r.Remote || one.Remote
	if one.How == "" && r.Reason == "" {
		r.Reason = one.Reason
	}
	r.Pages, r.Cached, r.How = r.Pages+one.Pages, r.Cached+one.Cached, one.How
}

// staysRatio is the share of a file's pages above which dropping them is tried again, dirty ones written first. A file
// that was just written has its pages dirty for some 30 s, and those are not dropped.
const staysRatio = 0.01

func fileResidency(f *os.File, size int64, drop bool) Residency {
	kind := fileSystem(f)
	if why := hidden(kind); why != "" {
		return Residency{Reason: why}
	}
	if drop {
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return Residency{Reason: "dropping pages: " + err.Error()}
		}
	}
	r := cachedPages(f, size, kind)
	if drop && r.How != "" && float64(r.Cached) > staysRatio*float64(r.Pages) {
		_ = unix.Fdatasync(int(f.Fd())) // where it fails the pages stay, which the next look tells
		_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
		r = cachedPages(f, size, kind)
	}
	return r
}

// stacked are the file systems whose files' pages may belong to a file of another one below: cachestat counts those of
// the upper file, where there are none (it looks at f_mapping, mm/filemap.c); mincore looks at what is mapped, and that
// is the lower file (fs/overlayfs/file.c, fs/fuse/passthrough.c).
var stacked = []int64{unix.OVERLAYFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC}

var errStacked = errors.New("of no use for files of another file system below")

// cachedPages asks cachestat(2) (Linux 6.5) and, where it is not there or not true, mincore(2). Both tell only the
// owner of a file and those who may write to it: cachestat refuses others, mincore reports every page resident to them
// (mm/mincore.c, can_do_mincore).
func cachedPages(f *os.File, size, kind int64) Residency {
	page := int64(os.Getpagesize())
	r := Residency{Pages: (size + page - 1) / page, Remote: distant(kind)}
	var whole unix.CachestatRange // length 0 means up to the end
	var stat unix.Cachestat_t
	err := errStacked
	if !slices.Contains(stacked, kind) {
		err = unix.Cachestat(uint(f.Fd()), &whole, &stat, 0)
	}
	switch {
	case err == nil:
		r.How, r.Cached = "cachestat", min(int64(stat.Cache), r.Pages)
	case errors.Is(err, unix.EPERM):
		r.Reason = "the page cache is shown to the files' owner and to who may write to them only"
	case !mayAsk(f):
		r.Reason = "cachestat does not work (" + err.Error() + "), and mincore answers the files' owner only"
	default:
		if r.Cached, err = mincore(f, size, page); err != nil {
			r.Reason = err.Error()
		} else {
			r.How = "mincore"
		}
	}
	return r
}

// mayAsk reports whether mincore tells the truth about a file: to its owner, and to who may write to it.
func mayAsk(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && (int(st.Uid) == unix.Geteuid() ||
		unix.Faccessat(unix.AT_FDCWD, fdPath(int(f.Fd())), unix.W_OK, unix.AT_EACCESS) == nil)
}

// mincoreWindow bounds the addresses that are mapped at a time.
const mincoreWindow = 1 << 30

// mincore counts resident pages. It never touches the mapping: of a file that shrinks that would be a SIGBUS.
func mincore(f *os.File, size, page int64) (int64, error) {
	var cached int64
	for at := int64(0); at < size; at += mincoreWindow {
		length := min(mincoreWindow, size-at)
		m, err := unix.Mmap(int(f.Fd()), at, int(length), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return 0, fmt.Errorf("mapping the file to see its pages: %w", err)
		}
		flags := make([]byte, (length+page-1)/page)
		if err := errors.Join(mincoreOf(m, flags), unix.Munmap(m)); err != nil {
			return 0, fmt.Errorf("looking at the file's pages: %w", err)
		}
		for _, flag := range flags {
			cached += int64(flag & 1)
		}
	}
	return cached, nil
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// mincoreOf calls mincore(2), which x/sys does not wrap: a byte for each page of m, its lowest bit says resident.
func mincoreOf(m, flags []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&m[0])), uintptr(len(m)),
		uintptr(unsafe.Pointer(&flags[0])))
	if errno != 0 {
		return errno
	}
	return nil
}
