package hdf5

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"slices"

	"github.com/pipetune/pipetune/internal/untrusted"
	"golang.org/x/sys/unix"
)

// Layout describes the HDF5 file at path. It opens the file without waiting (a FIFO is refused, not waited for) and
// hands libhdf5 that very file, so nothing can be put in its place in between.
//
// Its errors are ErrNotHDF5, ErrTruncated, ErrNewer, ErrBeingWritten and ErrUnreadable, each with a reason, and those
// of opening the file. An object inside that cannot be read is no error: it is listed in Problems, or its Dataset
// has a Problem.
//
// It takes HDF5_USE_FILE_LOCKING out of this process's environment: see the package comment on where to call it.
func Layout(path string, limits Limits) (File, error) {
	f, info, err := openRegular(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	if err := ReadSuperblock(f, info.Size()); err != nil {
		return File{}, err
	}
	return walkFile(nameOf(f, info, path), File{Bytes: info.Size()}, limits)
}

// nameOf returns the name by which libhdf5 gets at the open file. libhdf5 resolves a name that is a link
// (H5F__build_actual_name calls realpath), and the link to a file of a container names a path that does not exist here;
// such a file keeps the name it came with.
func nameOf(f *os.File, info os.FileInfo, path string) string {
	name := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	target, err := os.Readlink(name)
	if err != nil {
		return path
	}
	if there, err := os.Stat(target); err != nil || !os.SameFile(info, there) {
		return path
	}
	return name
}

// walkFile opens the file with libhdf5 and fills in what it holds.
func walkFile(path string, into File, limits Limits) (File, error) {
	// Debian's libhdf5 keeps its error stack, and whether it prints it, per thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := prepare(); err != nil {
		return File{}, err
	}
	into.Library = version()
	file, err := openName(path, false) // a read lock would make the job's own opening for writing fail
	if err != nil {
		return File{}, fmt.Errorf("%w (version %s): %w", ErrUnreadable, into.Library, err)
	}
	defer file.closeFile()
	root, err := file.open("/")
	if err != nil {
		return File{}, fmt.Errorf("%w (version %s): its root group: %w", ErrUnreadable, into.Library, err)
	}
	w := walk{limits: limits, file: into, seen: make(map[uint64]bool), groups: 1}
	w.queue = []branch{{group: root}}
	for len(w.queue) > 0 {
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.enter(next)
		next.group.close()
	}
	w.shareHeap()
	return w.file, nil
}

// branch is a group to look at.
type branch struct {
	group handle
	path  string // without the slash at its end; "" for the root
	depth int
}

// walk goes through the groups, nearest to the root first.
type walk struct {
	limits Limits
	file   File
	queue  []branch
	groups int             // entered or in the queue
	seen   map[uint64]bool // addresses of objects: a group may be linked below itself
}

func (w *walk) enter(b branch) {
	total := b.group.linked()
	links, longer, more, err := b.group.links(w.limits.Links, w.limits.NameBytes)
	w.file.Passed.Names += longer
	if more {
		w.file.Passed.Links += max(1, total-int64(len(links)+longer))
	}
	if err != nil {
		w.broken(b.path+"/", err)
	}
	slices.SortFunc(links, func(a, b rawLink) int { return cmp.Compare(a.name, b.name) })
	for _, l := range links {
		w.follow(b, l)
	}
}

func (w *walk) follow(b branch, l rawLink) {
	path := b.path + "/" + l.name
	if l.kind != "" {
		w.outside(b.group, l, path)
		return
	}
	if w.seen[l.address] {
		return
	}
	w.seen[l.address] = true
	if len(w.file.Datasets) >= w.limits.Datasets {
		w.file.Passed.Links++ // to tell a group from a dataset it would have to be opened, a read from the disk each
		return
	}
	object, err := b.group.open(l.name)
	if err != nil {
		w.broken(path, err)
		return
	}
	switch object.kind() {
	case kindGroup:
		if w.groups < w.limits.Groups && b.depth < w.limits.Depth {
			w.groups++
			w.queue = append(w.queue, branch{group: object, path: path, depth: b.depth + 1})
			return // open until it is entered
		}
		w.file.Passed.Groups++
	case kindDataset:
		out := Dataset{Path: untrusted.String(path), Storage: Unknown}
		if err := w.describe(object, &out); err != nil {
			out.Problem = untrusted.Cut(err.Error(), 300)
		}
		w.file.Datasets = append(w.file.Datasets, out)
	}
	object.close()
}

// broken notes an object that could not be read.
func (w *walk) broken(path string, err error) {
	if len(w.file.Problems) >= w.limits.Outside {
		w.file.Passed.Broken++
		return
	}
	w.file.Problems = append(w.file.Problems, Problem{Path: untrusted.String(path), Reason: untrusted.Cut(err.Error(),
		300)})
}

// outside notes a link that is not followed.
func (w *walk) outside(here handle, l rawLink, path string) {
	if len(w.file.Links) >= w.limits.Outside {
		w.file.Passed.Outside++
		return
	}
	link := Link{Path: untrusted.String(path), Kind: l.kind}
	if l.kind != LinkOther {
		file, object, err := here.target(l)
		if err != nil {
			w.broken(path, err)
		}
		link.File, link.Target = untrusted.String(file), untrusted.String(object)
	}
	w.file.Links = append(w.file.Links, link)
}

// describe fills in what one dataset is, up to what cannot be read.
func (w *walk) describe(here handle, out *Dataset) error {
	element, err := here.elementType()
	if err != nil {
		return fmt.Errorf("reading its type: %w", err)
	}
	out.Type, out.ElementBytes = element.name, element.bytes
	plist, err := here.creation()
	if err != nil {
		return fmt.Errorf("reading how it is stored: %w", err)
	}
	defer plist.close()
	out.Storage = plist.storage()
	if out.Filters, err = plist.filters(); err != nil {
		return fmt.Errorf("reading its filters: %w", err)
	}
	var drawnOn []source
	if out.Storage == External {
		drawnOn, out.Sources = plist.external(w.limits.Outside)
	}
	if out.Storage != Virtual {
		out.Shape, err = here.extent()
	} else if drawnOn, out.Sources, err = plist.virtual(w.limits.Outside); out.Sources > 0 {
		out.Shape, err = plist.virtualShape()
	}
	for _, s := range drawnOn {
		out.Outside = append(out.Outside, Outside{untrusted.String(s.file), untrusted.String(s.dataset)})
	}
	if err != nil {
		return fmt.Errorf("reading its shape: %w", err)
	}
	if len(out.Shape) > 0 && !element.varying {
		out.ItemBytes = Product(element.bytes, out.Shape[1:])
	}
	switch out.Storage {
	case Contiguous, Compact:
		out.StoredBytes = new(here.stored())
	case Chunked:
		if out.Chunk, err = plist.chunk(); err != nil {
			return fmt.Errorf("reading its chunks: %w", err)
		}
		if !element.varying {
			out.ChunkBytes = Product(element.bytes, out.Chunk)
		}
		if Chunks(out.Chunk, out.Shape) <= int64(w.limits.Chunks) {
			out.StoredBytes = new(here.stored())
		}
	}
	return nil
}

// What describes an object and a chunk takes at most, in bytes: 22 datasets of testdata/layouts.h5, most in chunks,
// take 1,900 each, 4,000 of one row each 370 (h5py 3.16).
const (
	describesObject = 4096
	describesChunk  = 128
)

// shareHeap adds to datasets of elements of varying length, which hold references, what these are to: the file beside
// all other data, as nothing tells which references are to what. Sequences have it; only without any, strings.
func (w *walk) shareHeap() {
	if w.file.Passed != (Passed{}) || len(w.file.Problems) > 0 {
		return // more may lie there
	}
	rest := w.file.Bytes - describesObject*int64(len(w.file.Datasets)+w.groups)
	refer, holding := map[int]float64{}, map[bool]float64{} // what references take, of a dataset and of a kind
	for i, d := range w.file.Datasets {
		if d.StoredBytes == nil {
			return
		}
		rest -= *d.StoredBytes
		if len(d.Chunk) == len(d.Shape) && len(d.Chunk) > 0 {
			rest -= describesChunk * Chunks(d.Chunk, d.Shape)
		}
		whole := Product(d.ElementBytes, d.Shape)
		if len(d.Shape) > 0 && d.ItemBytes == nil && whole != nil && *d.StoredBytes > 0 {
			refer[i] = float64(*whole)
			holding[d.Type == varyingString] += refer[i]
		}
	}
	strings := holding[false] == 0
	for i, bytes := range refer {
		if d := &w.file.Datasets[i]; (d.Type == varyingString) == strings {
			*d.StoredBytes += int64(float64(max(rest, 0)) * bytes / holding[strings])
		}
	}
}

// Product multiplies element by every one of dims. It is nil when that is more than an int64 holds.
func Product(element int64, dims []int64) *int64 {
	total := uint64(max(element, 0))
	for _, d := range dims {
		hi, lo := bits.Mul64(total, uint64(max(d, 0)))
		if hi != 0 || lo > math.MaxInt64 {
			return nil
		}
		total = lo
	}
	return new(int64(total))
}
