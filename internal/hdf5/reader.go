package hdf5

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/pipetune/pipetune/internal/untrusted"
)

var (
	// ErrPointers says that elements are no plain bytes: they point to data of varying length, or to other objects.
	ErrPointers = errors.New("the elements are not stored in place")
	// ErrFilter says that the data went through a filter that this libhdf5 does not have.
	ErrFilter = errors.New("a filter is missing")
	// ErrTooLarge says that something is larger than is read at once, or than the file can hold.
	ErrTooLarge = errors.New("too large")
	// ErrRange says that something was asked for that lies outside of the dataset's shape.
	ErrRange = errors.New("outside of the dataset")
	// ErrNoChunk says that nothing is stored there: never written, or not stored in chunks.
	ErrNoChunk = errors.New("no chunk is stored there")
)

// MaxReadBytes is the most that one read delivers where libhdf5 holds nothing beside it. It is far above any sample of
// a training set and less than half of what h5py can be made to allocate for one element of a hostile file of 1 MB.
const MaxReadBytes = MaxHeldBytes

const (
	// alwaysBytes may be asked for whatever the size of the file: a dataset that was never written reads as its fill
	// value.
	alwaysBytes = 64 << 20
	// inflation is how much larger data can be than its compressed form: deflate's bound is 1032 (zlib's technical
	// details).
	inflation = 1100
)

// ReaderOptions say how a dataset is opened. The zero value of a field has the meaning given with it.
type ReaderOptions struct {
	Dataset string // its path in the file; soft links inside of the file are followed
	Follow  bool   // follow external links, external storage and virtual datasets, into regular files only
	Locked  bool   // with the library's file lock, as h5py opens by default; false: without
	// ChunkCacheBytes is the size of the cache of decoded chunks: nil for the library's default of 1 MiB, 0 for none.
	// The number of its slots is chosen to suit, where h5py's rdcc_nbytes alone leaves it at 521.
	ChunkCacheBytes *int64
}

// Reader reads one dataset, in the type it has in the file: byte for byte what h5py's dset[i].tobytes() gives. It is
// used by one goroutine at a time. What it returns lies in the buffer it was given where that is large enough.
type Reader struct {
	view    view
	found   finder
	dataset Dataset
	empty   bool  // it holds no elements and never will
	gaps    bool  // libhdf5 may leave parts of a buffer as they were
	most    int64 // bytes that may be asked for at once
	item    int64 // bytes at one index of the first axis
	spread  int64 // chunks that these lie in
	held    holding
	sorted  []int64
	scratch []byte
	noChunk string // libhdf5's words for a chunk that is not stored; "" until they are known
	walks   int    // how often a whole chunk index was walked through
}

// OpenReader opens a dataset. It is to be called in a child process that may die. Its errors wrap those of Layout,
// ErrNoDataset, ErrOutside, ErrPointers, ErrFilter, ErrTooLarge and those of the file system.
func OpenReader(path string, o ReaderOptions) (*Reader, error) {
	runtime.LockOSThread() // libhdf5's reasons are kept per thread
	defer runtime.UnlockOSThread()
	if err := prepare(); err != nil {
		return nil, err
	}
	r := &Reader{found: finder{follow: o.Follow, locked: o.Locked}}
	err := r.found.open(path)
	if err == nil {
		err = r.open(o)
	}
	if err != nil {
		r.found.close()
		return nil, fmt.Errorf("opening dataset %s of %s: %w", untrusted.Cut(o.Dataset, 255), untrusted.String(path),
			err)
	}
	return r, nil
}

// open opens the dataset in the file that is open.
func (r *Reader) open(o ReaderOptions) error {
	if err := r.found.find(o.Dataset); err != nil {
		return err
	}
	id, err := r.found.group.dataset(r.found.name, chunkCache{}, "")
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoDataset, err)
	}
	r.dataset = Dataset{Path: untrusted.String(o.Dataset), Storage: Unknown}
	prefix, err := r.inspect(id)
	if err != nil {
		id.close()
		return err
	}
	if o.ChunkCacheBytes != nil || prefix != "" {
		id.close() // the cache is made when a dataset is opened first
		var cache chunkCache
		if o.ChunkCacheBytes != nil {
			cache.bytes = max(0, *o.ChunkCacheBytes)
			cache.slots = slots(cache.bytes, r.dataset.ChunkBytes)
		}
		if id, err = r.found.group.dataset(r.found.name, cache, prefix); err != nil {
			return fmt.Errorf("%w: %w", ErrNoDataset, err)
		}
	}
	if r.view, r.empty, err = newView(id); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := r.measure(o.ChunkCacheBytes); err != nil {
		r.view.close()
		return err
	}
	return nil
}

// inspect describes the dataset and refuses what cannot be read. beside is where its external storage was found.
func (r *Reader) inspect(id handle) (beside string, err error) {
	// no chunk index is walked: opening has to cost what it costs a job
	w := walk{limits: Limits{Chunks: -1, Outside: 1}}
	if err := w.describe(id, &r.dataset); err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	for _, f := range r.dataset.Filters {
		if !f.Available {
			return "", fmt.Errorf("%w: %s (number %d) is not part of this libhdf5, and no plugin is loaded", ErrFilter,
				f.Name, f.ID)
		}
	}
	plist, err := id.creation()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	defer plist.close()
	r.gaps = plist.leavesGaps()
	if r.dataset.Storage != External && r.dataset.Storage != Virtual {
		return "", nil
	}
	if !r.found.follow {
		return "", fmt.Errorf("%w: %s", ErrOutside, draws(r.dataset))
	}
	return r.found.drawsOn(plist, r.dataset.Storage)
}

// draws says on which files a dataset draws.
func draws(d Dataset) string {
	kind := "it is stored externally"
	if d.Storage == Virtual {
		kind = "it is a virtual dataset"
	}
	if len(d.Outside) == 0 {
		return kind
	}
	text := kind + ", in " + d.Outside[0].File.String()
	if d.Sources > 1 {
		text += fmt.Sprintf(" and %d more", d.Sources-1)
	}
	return text
}

// measure takes the sizes from the open dataset and bounds what may be asked for.
func (r *Reader) measure(cache *int64) error {
	if err := r.view.plain(); err != nil {
		return err
	}
	shape, err := r.view.shape()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	r.dataset.Shape = shape
	r.most = r.bound()
	item := &r.dataset.ElementBytes
	r.dataset.ItemBytes = nil // of a scalar
	if len(shape) > 0 {
		item = Product(r.dataset.ElementBytes, shape[1:])
		r.dataset.ItemBytes = item
	}
	if item == nil {
		return fmt.Errorf("%w: an item of shape %v has more bytes than can be counted", ErrTooLarge, shape[1:])
	}
	r.item = *item
	r.held = r.dataset.chunks(cache, r.found.file().bytes)
	if err := r.refuseChunk(); err != nil {
		return err
	}
	r.view.bound(decodedMost(r.dataset.ChunkBytes))
	if len(shape) > 0 {
		one := slices.Clone(shape)
		one[0] = min(1, one[0])
		r.spread = Chunks(r.dataset.Chunk, one)
	}
	return nil
}

// bound is how many bytes one read may ask for: no more than MaxReadBytes, and no more than the file could hold, so
// that a few false bytes in a header make nobody allocate.
func (r *Reader) bound() int64 {
	if r.dataset.Storage == External || r.dataset.Storage == Virtual {
		return MaxReadBytes // they lie elsewhere
	}
	stored := r.found.file().bytes
	if len(r.dataset.Filters) > 0 {
		stored = min(stored, MaxReadBytes) * inflation
	}
	return min(MaxReadBytes, max(alwaysBytes, stored))
}

// Close closes the dataset and its file. A reader that is closed reads no more.
func (r *Reader) Close() error {
	if r.view.c == nil {
		return nil
	}
	r.view.close()
	r.view = view{}
	r.found.close()
	return nil
}

// Dataset describes what is read. Its StoredBytes are nil for chunked data: counting them walks the chunk index.
func (r *Reader) Dataset() Dataset { return r.dataset }

// Shape is the shape of the dataset; it is empty for a scalar.
func (r *Reader) Shape() []int64 { return slices.Clone(r.dataset.Shape) }

// ItemBytes is the size of one index of the first axis, of a scalar that of its element.
func (r *Reader) ItemBytes() int64 { return r.item }

var errClosed = errors.New("the reader is closed")

// ready checks what every read needs that delivers n bytes which lie in so many chunks.
func (r *Reader) ready(n, chunks int64) error {
	switch {
	case r.view.c == nil:
		return errClosed
	case r.empty:
		return fmt.Errorf("%w: it has no elements", ErrRange)
	case n > r.most:
		return fmt.Errorf("%w: %d bytes, where at most %d can be read at once", ErrTooLarge, n, r.most)
	}
	return r.bearable(n, chunks)
}

// room makes a buffer of n bytes out of buf if it can.
func (r *Reader) room(buf []byte, n int64) []byte {
	if int64(cap(buf)) < n {
		return makeRoom(n)
	}
	buf = buf[:n]
	if r.gaps {
		clear(buf) // what was never written must not show the item before
	}
	return buf
}

// Item reads one index of the first axis. Its errors wrap ErrRange, ErrTooLarge and libhdf5's own words.
func (r *Reader) Item(index int64, buf []byte) ([]byte, error) {
	if err := r.checkItem(index); err != nil {
		return nil, err
	}
	buf = r.room(buf, r.item)
	if r.item == 0 {
		return buf, nil
	}
	if err := r.view.item(index, buf); err != nil {
		return nil, r.failed("item", index, err)
	}
	return buf, nil
}

// checkItem refuses what is no item, or one that is too large.
func (r *Reader) checkItem(index int64) error {
	if err := r.ready(r.item, r.spread); err != nil {
		return r.failed("item", index, err)
	}
	return r.within(index)
}

// within refuses what is no index of the first axis.
func (r *Reader) within(index int64) error {
	if len(r.dataset.Shape) == 0 || index < 0 || index >= r.dataset.Shape[0] {
		return r.failed("item", index, fmt.Errorf("%w, of shape %v", ErrRange, r.dataset.Shape))
	}
	return nil
}

func (r *Reader) failed(what string, which any, err error) error {
	return fmt.Errorf("reading %s %v of dataset %s: %w", what, which, r.dataset.Path, err)
}

// Block reads a hyperslab: count elements along each axis from start on. Of a scalar, both are empty. Its errors are
// those of Item.
func (r *Reader) Block(start, count []int64, buf []byte) ([]byte, error) {
	n, err := r.checkBlock(start, count)
	if err != nil {
		return nil, err
	}
	buf = r.room(buf, n)
	if n == 0 {
		return buf, nil
	}
	if err := r.view.block(start, count, buf); err != nil {
		return nil, r.failed("the block at", start, err)
	}
	return buf, nil
}

// checkBlock refuses what is no block of the dataset, or one that is too large, and returns the size of others.
func (r *Reader) checkBlock(start, count []int64) (int64, error) {
	n, err := r.blockBytes(start, count)
	if err == nil {
		err = r.ready(n, touched(r.dataset.Chunk, start, count))
	}
	if err != nil {
		return 0, r.failed("the block at", start, err)
	}
	return n, nil
}

// blockBytes is the size of a block that lies within the shape.
func (r *Reader) blockBytes(start, count []int64) (int64, error) {
	shape := r.dataset.Shape
	if len(start) != len(shape) || len(count) != len(shape) {
		return 0, fmt.Errorf("%w: %d and %d axes, of shape %v", ErrRange, len(start), len(count), shape)
	}
	for i := range shape {
		if start[i] < 0 || count[i] < 0 || start[i] > shape[i] || count[i] > shape[i]-start[i] {
			return 0, fmt.Errorf("%w: %v elements, of shape %v", ErrRange, count, shape)
		}
	}
	n := Product(r.dataset.ElementBytes, count)
	if n == nil {
		return 0, ErrTooLarge
	}
	return *n, nil
}

// Items reads several indices of the first axis with one H5Dread and delivers them one after the other, in the order
// they were asked for. libhdf5 takes a selection in rising order only: where the order is another, or an index comes
// twice, they are read in rising order, each once, and copied apart. libhdf5 1.10 takes time quadratic in the number of
// indices that are not neighbours to put the selection together, as h5py's indexing with a list does. Its errors are
// those of Item.
func (r *Reader) Items(indices []int64, buf []byte) ([]byte, error) {
	if err := r.ready(r.item, r.spread); err != nil {
		return nil, r.failed("items", len(indices), err)
	}
	total := Product(r.item, []int64{int64(len(indices))})
	if total == nil || *total > r.most {
		return nil, r.failed("items", len(indices), fmt.Errorf("%w: at most %d bytes can be read at once", ErrTooLarge,
			r.most))
	}
	rises := true
	for i, index := range indices {
		if err := r.within(index); err != nil {
			return nil, err
		}
		rises = rises && (i == 0 || index > indices[i-1])
	}
	hold := *total
	if !rises {
		hold *= 2 // read in rising order, and copied
	}
	if err := r.bearable(hold,
		min(r.spread, MaxHeldBytes/int64(max(1, len(indices))))*int64(len(indices))); err != nil {
		return nil, r.failed("items", len(indices), err)
	}
	buf = r.room(buf, *total)
	if *total == 0 {
		return buf, nil
	}
	if rises {
		if err := r.view.items(indices, buf); err != nil {
			return nil, r.failed("items", indices, err)
		}
		return buf, nil
	}
	r.sorted = append(r.sorted[:0], indices...)
	slices.Sort(r.sorted)
	r.sorted = slices.Compact(r.sorted)
	r.scratch = r.room(r.scratch, int64(len(r.sorted))*r.item)
	if err := r.view.items(r.sorted, r.scratch); err != nil {
		return nil, r.failed("items", indices, err)
	}
	for i, index := range indices {
		from, _ := slices.BinarySearch(r.sorted, index)
		copy(buf[int64(i)*r.item:][:r.item], r.scratch[int64(from)*r.item:])
	}
	return buf, nil
}
