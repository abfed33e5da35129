package hdf5

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strings"

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
	return w.file, nil
}

// prepare sets libhdf5 up for this thread and for the files it opens next.
func prepare() error {
	if err := awake(); err != nil {
		return fmt.Errorf("starting libhdf5: %w", err)
	}
	// libhdf5 reads this variable once, when it first has to do with a file, and believes it more than what a file is
	// opened with.
	if err := os.Unsetenv("HDF5_USE_FILE_LOCKING"); err != nil {
		return fmt.Errorf("choosing HDF5's file locks: %w", err)
	}
	if err := noPlugins(); err != nil {
		return fmt.Errorf("switching off HDF5's plugins: %w", err)
	}
	if err := boundFilters(); err != nil {
		return fmt.Errorf("bounding HDF5's filters: %w", err)
	}
	return nil
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
	here := b.group
	total := here.linked()
	links, longer, more, err := here.links(w.limits.Links, w.limits.NameBytes)
	w.file.Passed.Names += longer
	if more {
		w.file.Passed.Links += max(1, total-int64(len(links)+longer))
	}
	if err != nil {
		w.broken(b.path+"/", err)
	}
	slices.SortFunc(links, func(a, b rawLink) int { return cmp.Compare(a.name, b.name) })
	for _, l := range links {
		w.follow(b, here, l)
	}
}

func (w *walk) follow(b branch, here handle, l rawLink) {
	path := b.path + "/" + l.name
	if l.kind != "" {
		w.outside(here, l, path)
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
	kind, err := here.kind(l.name)
	switch {
	case err != nil:
		w.broken(path, err)
	case kind == kindGroup:
		w.plan(b, l.name, path)
	case kind == kindDataset:
		w.file.Datasets = append(w.file.Datasets, w.dataset(b.group, l.name, path))
	}
}

// plan puts a group into the queue.
func (w *walk) plan(b branch, name, path string) {
	if w.groups >= w.limits.Groups || b.depth >= w.limits.Depth {
		w.file.Passed.Groups++
		return
	}
	group, err := b.group.open(name)
	if err != nil {
		w.broken(path, err)
		return
	}
	w.groups++
	w.queue = append(w.queue, branch{group: group, path: path, depth: b.depth + 1})
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

// dataset describes one dataset. What cannot be read is left out, and Problem says why.
func (w *walk) dataset(group handle, name, path string) Dataset {
	out := Dataset{Path: untrusted.String(path), Storage: Unknown}
	d, err := group.dataset(name, chunkCache{}, "")
	if err != nil {
		out.Problem = untrusted.Cut(fmt.Sprintf("opening it: %v", err), 300)
		return out
	}
	defer d.close()
	if err := w.describe(d, &out); err != nil {
		out.Problem = untrusted.Cut(err.Error(), 300)
	}
	return out
}

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
	if out.Storage == Virtual {
		out.Shape, err = w.describeVirtual(plist, out)
	} else {
		out.Shape, err = here.extent()
	}
	if err != nil {
		return fmt.Errorf("reading its shape: %w", err)
	}
	if len(out.Shape) > 0 && !element.varying {
		out.ItemBytes = Product(element.bytes, out.Shape[1:])
	}
	return w.describeStorage(here, plist, element, out)
}

// describeVirtual fills in what a virtual dataset draws on, and returns its shape.
func (w *walk) describeVirtual(plist creation, out *Dataset) ([]int64, error) {
	sources, total, err := plist.virtual(w.limits.Outside)
	out.Outside, out.Sources = outsideOf(sources), total
	if err != nil || total == 0 {
		return nil, err
	}
	return plist.virtualShape()
}

// describeStorage fills in what depends on the layout.
func (w *walk) describeStorage(here handle, plist creation, element elementType, out *Dataset) error {
	switch out.Storage {
	case External:
		sources, total := plist.external(w.limits.Outside)
		out.Outside, out.Sources = outsideOf(sources), total
	case Contiguous, Compact:
		out.StoredBytes = new(here.stored())
	case Chunked:
		chunk, err := plist.chunk()
		if err != nil {
			return fmt.Errorf("reading its chunks: %w", err)
		}
		out.Chunk = chunk
		if !element.varying {
			out.ChunkBytes = Product(element.bytes, chunk)
		}
		if n := chunks(out.Shape, chunk); n != nil && *n <= int64(w.limits.Chunks) {
			out.StoredBytes = new(here.stored())
		}
	}
	return nil
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

// chunks counts the chunks that cover a shape. It is nil when that cannot be determined.
func chunks(shape, chunk []int64) *int64 {
	if len(shape) != len(chunk) {
		return nil
	}
	counts := make([]int64, len(shape))
	for i := range shape {
		if chunk[i] < 1 {
			return nil
		}
		counts[i] = (shape[i]-1)/chunk[i] + 1
		if shape[i] == 0 {
			counts[i] = 0
		}
	}
	return Product(1, counts)
}

// String names the dataset in one line: /images uint8 [4000 64 128] chunked [1 64 128] gzip.
func (d Dataset) String() string {
	parts := []string{d.Path.String(), d.Type, fmt.Sprint(d.Shape), string(d.Storage)}
	if len(d.Chunk) > 0 {
		parts = append(parts, fmt.Sprint(d.Chunk))
	}
	for _, f := range d.Filters {
		parts = append(parts, f.Name.String())
	}
	return strings.Join(parts, " ")
}
