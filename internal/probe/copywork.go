package probe

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
)

// workRewrite is the row of works that writes a part of the sample anew into a scratch folder.
const workRewrite = "rewrite"

// rewrite asks a worker process that may write to do so. It writes below Into and nowhere else.
type rewrite struct {
	Into    []byte
	How     string  // a row of rewriters
	Items   []int   // positions in the sample's Items; not of HDF5
	Bytes   int64   // no more items are taken when those taken have so many, decoded where How decodes
	Seconds float64 // nor after that long; 0: all are taken
	Decode  bool    // what cannot be decoded is left out, and counts with what it has decoded

	// Of HDF5: a run of items of one file.
	File     int
	Relayout dataset.Relayout
	Seed     uint64 // of the places of patches
}

// rewritten is what came of it: a sample that is read like any other.
type rewritten struct {
	Sample   dataset.Sample
	Items    []int     // those taken, in the sample's order
	Stored   int64     // bytes of the new files
	Lossless int       // pictures whose format loses nothing
	Large    int       // pictures whose shorter side has more than shortSide pixels
	Failures []failure `json:",omitempty"`
}

// rewriters is the table of the ways to write a sample anew.
var rewriters = map[string]func(context.Context, *state, rewrite) (rewritten, error){
	"copy":   copyItems,
	"hdf5":   rewriteRun,
	"jpeg":   pictureFiles(encodeLossless),
	"resize": pictureFiles(encodeSmaller),
	"npy":    packArray,
	"tar":    packTar,
}

func rewriteSample(ctx context.Context, w *state, body json.RawMessage) (any, error) {
	var q rewrite
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("decoding what to write: %w", err)
	}
	do := rewriters[q.How]
	if do == nil {
		return nil, fmt.Errorf("no such way to write a sample: %q", q.How)
	}
	if info, err := os.Lstat(string(q.Into)); err != nil || !info.IsDir() || !filepath.IsAbs(string(q.Into)) {
		return nil, errors.Join(errors.New("the scratch folder is gone"), err)
	}
	for _, i := range q.Items {
		if i < 0 || i >= len(w.sample.Items) {
			return nil, fmt.Errorf("no item %d in a sample of %d", i, len(w.sample.Items))
		}
	}
	return do(ctx, w, q)
}

// taking goes through the items that are to be written.
type taking struct {
	*state
	rewrite
	out   rewritten
	taken int64 // bytes
	began time.Time
	ctx   context.Context
}

func (w *state) take(ctx context.Context, q rewrite) *taking {
	return &taking{state: w, rewrite: q, began: time.Now(), ctx: ctx}
}

// each calls write for each item until there are enough. One that cannot be read or decoded is a failure; the error of write ends it all.
func (t *taking) each(write func(item dataset.Ref, data []byte, p dataset.Pixels) error) error {
	for _, i := range t.rewrite.Items {
		ref := t.sample.Items[i]
		data, err := t.bytesOf(ref)
		size := int64(len(data))
		var p dataset.Pixels
		if err == nil && t.Decode {
			p, _, err = t.decoder.Decode(data)
			size = int64(len(p.Bytes))
		}
		if err != nil {
			if len(t.out.Failures) < mostFailures {
				t.out.Failures = append(t.out.Failures, failed(i, err, t.sample.Files[ref.File].Path))
			}
			continue
		}
		if len(t.out.Items) > 0 && t.taken+size > t.rewrite.Bytes {
			break
		}
		t.taken += size
		if err := write(ref, data, p); err != nil {
			return err
		}
		t.out.Items = append(t.out.Items, i)
		if t.Decode {
			t.judge(data, p)
		}
		if t.ctx.Err() != nil || t.Seconds > 0 && time.Since(t.began).Seconds() >= t.Seconds {
			break
		}
	}
	if len(t.out.Items) == 0 {
		return errNoneReadable
	}
	return t.ctx.Err()
}

// path names the n-th new file.
func (t *taking) path(n int, suffix string) string {
	return filepath.Join(string(t.Into), fmt.Sprintf("%06d%s", n, suffix))
}

// settledFiles is up to how many files are brought to the disk when they are written, so that their pages can be dropped. Of more, writing them out
// is only begun: a commit of the journal for each of thousands of files would take longer than writing them.
const settledFiles = 4

// file ends writing a file and takes it into the new sample.
func (t *taking) file(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
	case len(t.out.Sample.Files) < settledFiles:
		err = unix.Fdatasync(int(f.Fd()))
	default:
		_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE) // where it is not done now, dropping the pages does it
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", f.Name(), err)
	}
	t.out.Sample.Files = append(t.out.Sample.Files, dataset.File{Path: []byte(f.Name()), Bytes: info.Size()})
	t.out.Stored += info.Size()
	return nil
}

// create makes a new file.
func create(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
}

// copyItems copies items to where they lie in files of the same size; what is not copied of these stays a hole. So a part of a file of any
// size is read like the whole.
func copyItems(ctx context.Context, w *state, q rewrite) (rewritten, error) {
	t := w.take(ctx, q)
	t.out.Sample.Source = w.sample.Source
	files := map[int]int{} // of the sample, to their place among the new
	var open []*os.File
	defer func() {
		for _, f := range open {
			_ = f.Close() // a second time where all went well
		}
	}()
	err := t.each(func(item dataset.Ref, data []byte, _ dataset.Pixels) error {
		if t.sample.ItemIsFile() {
			f, err := create(t.path(len(t.out.Items), ""))
			if err != nil {
				return err
			}
			if _, err := f.Write(data); err != nil {
				return errors.Join(err, f.Close())
			}
			item.File = len(t.out.Sample.Files)
			t.out.Sample.Items = append(t.out.Sample.Items, item)
			return t.file(f)
		}
		place, known := files[item.File]
		if !known {
			f, err := t.hollow(item.File, len(open))
			if err != nil {
				return err
			}
			place, files[item.File] = len(open), len(open)
			open = append(open, f)
		}
		at, err := t.offset(open[place], item, int64(len(data)))
		if err != nil {
			return err
		}
		if _, err := open[place].WriteAt(data, at); err != nil {
			return err
		}
		t.out.Stored += int64(len(data))
		item.File = place
		t.out.Sample.Items = append(t.out.Sample.Items, item)
		return nil
	})
	if err != nil {
		return rewritten{}, err
	}
	stored := t.out.Stored
	for _, f := range open {
		if err := t.file(f); err != nil {
			return rewritten{}, err
		}
	}
	if len(open) > 0 {
		t.out.Stored = stored // holes take no room
	}
	return t.out, nil
}

// arrayHead is more than the header of a NumPy array has: 64 KiB in version 1 of the format.
const arrayHead = 64 << 10

// hollow makes a file as long as one of the sample's, with nothing in it but, of a NumPy array, the header.
func (t *taking) hollow(file, n int) (*os.File, error) {
	if n >= mostHandles {
		return nil, fmt.Errorf("copying items of more than %d files", mostHandles)
	}
	from, size, err := openRegular(string(t.sample.Files[file].Path))
	if err != nil {
		return nil, err
	}
	defer from.Close()
	f, err := create(t.path(n, ""))
	if err != nil {
		return nil, err
	}
	err = f.Truncate(size)
	if err == nil && t.sample.Kind == dataset.Npy {
		head := make([]byte, min(size, arrayHead))
		if _, err = from.ReadAt(head, 0); err == nil {
			_, err = f.WriteAt(head, 0)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// offset is where an item lies in its file.
func (t *taking) offset(f *os.File, item dataset.Ref, size int64) (int64, error) {
	switch {
	case item.Corner != nil:
		return 0, errors.New("a patch lies in many places of its file")
	case t.sample.Kind == dataset.Tar:
		return item.At, nil
	case t.sample.Kind == dataset.Other:
		block := t.sample.BlockBytes
		if block == 0 {
			block = dataset.DefaultBlockBytes
		}
		return item.Index * block, nil
	case t.sample.Kind == dataset.Npy:
		var head [12]byte
		if _, err := f.ReadAt(head[:], 0); err != nil {
			return 0, fmt.Errorf("reading the header of the array: %w", err)
		}
		start := 10 + int64(binary.LittleEndian.Uint16(head[8:]))
		if head[6] > 1 { // versions 2 and 3 have four bytes for the length
			start = 12 + int64(binary.LittleEndian.Uint32(head[8:]))
		}
		return start + item.Index*size, nil
	}
	return 0, fmt.Errorf("items of %s cannot be copied one by one", t.sample.Kind)
}

// mostRunItems bounds the items of a run that are read: their list goes through a pipe.
const mostRunItems = 20_000

// rewriteRun stores a run of items of an HDF5 file in another layout, or the same.
func rewriteRun(_ context.Context, w *state, q rewrite) (rewritten, error) {
	if q.File < 0 || q.File >= len(w.sample.Files) {
		return rewritten{}, fmt.Errorf("no file %d in a sample of %d", q.File, len(w.sample.Files))
	}
	path := filepath.Join(string(q.Into), "run.h5")
	n, size, err := w.sample.Rewrite(w.sample.Files[q.File], path, q.Relayout)
	if err != nil {
		return rewritten{}, err
	}
	out := rewritten{Stored: size, Sample: dataset.Sample{Source: w.sample.Source, Files: []dataset.File{{Path: []byte(path), Bytes: size}}}}
	out.Sample.Items = runItems(w.sample, q, n)
	return out, nil
}

// runItems lists the items of a run of n indices, evenly drawn over all of it where there are too many: every index, or, of patches, a place drawn among the corners of the sample's own for each
// index that a patch may begin at.
func runItems(sample dataset.Sample, q rewrite, n int64) []dataset.Ref {
	var items []dataset.Ref
	if len(sample.ItemShape) == 0 {
		most := min(n, mostRunItems)
		for i := range most {
			items = append(items, dataset.Ref{Index: i * n / most})
		}
		return items
	}
	var corners [][]int64
	for _, item := range sample.Items {
		if len(item.Corner) == len(sample.ItemShape) {
			corners = append(corners, item.Corner)
		}
	}
	rng := rand.New(rand.NewPCG(q.Seed, 1))
	each := sample.ItemShape[0]
	places := n / each
	most := min(places, mostRunItems)
	for k := int64(0); k < most && len(corners) > 0; k++ {
		i := k * places / most * each
		corner := append([]int64{i}, corners[rng.IntN(len(corners))][1:]...)
		items = append(items, dataset.Ref{Index: i, Corner: corner})
	}
	return items
}
