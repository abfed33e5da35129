package rewrite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
)

// plan says what to write anew, below Into and nowhere else.
type plan struct {
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
	Items    []int             // those taken, in the sample's order
	Stored   int64             // bytes of the new files
	Lossless int               // pictures whose format loses nothing
	Large    int               // pictures whose shorter side has more than shortSide pixels
	Failures []dataset.Failure `json:",omitempty"`
}

// inHDF5 is the way to write a run of items of an HDF5 file.
const inHDF5 = "hdf5"

// rewriters is the table of the ways to write a sample anew.
var rewriters = map[string]func(*writer) error{
	"copy":   copyItems,
	inHDF5:   rewriteRun,
	"jpeg":   pictureFiles(encodeLossless),
	"resize": pictureFiles(encodeSmaller),
	"npy":    packArray,
	"tar":    packTar,
}

type writer struct {
	dataset.Opened
	plan
	decoder dataset.Decoder
	out     rewritten
	taken   int64 // bytes
	began   time.Time
	ctx     context.Context
}

func newWriter(ctx context.Context, sample dataset.Sample, q plan) *writer {
	return &writer{Opened: dataset.NewOpened(sample, dataset.Source.Open), plan: q, began: time.Now(), ctx: ctx,
		out: rewritten{Sample: dataset.Sample{Source: sample.Source}}}
}

func (t *writer) write() (rewritten, error) {
	do := rewriters[t.How]
	if do == nil {
		return rewritten{}, fmt.Errorf("no such way to write a sample: %q", t.How)
	}
	if info, err := os.Lstat(string(t.Into)); err != nil || !info.IsDir() || !filepath.IsAbs(string(t.Into)) {
		return rewritten{}, errors.Join(errors.New("the scratch folder is gone"), err)
	}
	if err := t.Sample.Has(t.plan.Items); err != nil && t.How != inHDF5 {
		return rewritten{}, err
	}
	err := do(t)
	return t.out, err
}

// each calls write for each item until there are enough. An unreadable one is a failure; write's error ends it all.
func (t *writer) each(write func(item dataset.Ref, data []byte, p dataset.Pixels) error) error {
	for _, i := range t.plan.Items {
		ref := t.Sample.Items[i]
		data, err := t.Read(ref)
		size := int64(len(data))
		var p dataset.Pixels
		if err == nil && t.Decode {
			p, _, err = t.decoder.Decode(data)
			size = int64(len(p.Bytes))
		}
		if err != nil {
			if len(t.out.Failures) < dataset.MaxFailures {
				t.out.Failures = append(t.out.Failures, dataset.Failed(i, err, t.Sample.Files[ref.File].Path))
			}
			continue
		}
		if len(t.out.Items) > 0 && t.taken+size > t.plan.Bytes {
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
func (t *writer) path(n int, suffix string) string {
	return filepath.Join(string(t.Into), fmt.Sprintf("%06d%s", n, suffix))
}

// settledFiles is up to how many files are brought to the disk when they are written, so that their pages can be
// dropped. Of more, writing them out is only begun: a commit of the journal for each of thousands of files would take
// longer than writing them.
const settledFiles = 4

// file ends writing a file and takes it into the new sample.
func (t *writer) file(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
	case len(t.out.Sample.Files) < settledFiles:
		err = unix.Fdatasync(int(f.Fd()))
	default:
		// where it is not done now, dropping the pages does it
		_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
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

// copyItems copies items to where they lie in files of the same size; what is not copied of these stays a hole. So a
// part of a file of any size is read like the whole.
func copyItems(t *writer) error {
	if t.Sample.ItemIsFile() {
		return t.each(func(_ dataset.Ref, data []byte, _ dataset.Pixels) error { return t.itemFile(data) })
	}
	files := map[int]int{} // of the sample, to their place among the new
	var open []*os.File
	defer func() {
		for _, f := range open {
			_ = f.Close() // a second time where all went well
		}
	}()
	err := t.each(func(item dataset.Ref, data []byte, _ dataset.Pixels) error {
		from, err := t.placed(item.File)
		if err != nil {
			return err
		}
		at, err := from.At(item)
		if err != nil {
			return err
		}
		place, known := files[item.File]
		if !known {
			f, err := t.preallocate(from, len(open))
			if err != nil {
				return err
			}
			place, files[item.File] = len(open), len(open)
			open = append(open, f)
		}
		if _, err := open[place].WriteAt(data, at); err != nil {
			return err
		}
		t.out.Stored += int64(len(data))
		item.File = place
		t.out.Sample.Items = append(t.out.Sample.Items, item)
		return nil
	})
	stored := t.out.Stored // holes take no room
	for _, f := range open {
		if err == nil {
			err = t.file(f)
		}
	}
	t.out.Stored = stored
	return err
}

// placed is an open file of the sample whose items lie in one piece each.
func (t *writer) placed(file int) (dataset.Placed, error) {
	h, err := t.HandleOf(file)
	if err != nil {
		return nil, err
	}
	p, ok := h.(dataset.Placed)
	if !ok {
		return nil, fmt.Errorf("items of %s cannot be copied one by one", t.Sample.Kind)
	}
	return p, nil
}

// preallocate makes a file as long as one of the sample's, with nothing in it but what goes before its items.
func (t *writer) preallocate(from dataset.Placed, n int) (*os.File, error) {
	if n >= dataset.MaxOpen {
		return nil, fmt.Errorf("copying items of more than %d files", dataset.MaxOpen)
	}
	size, head, err := from.Frame()
	if err != nil {
		return nil, err
	}
	f, err := create(t.path(n, ""))
	if err != nil {
		return nil, err
	}
	if err = f.Truncate(size); err == nil {
		_, err = f.WriteAt(head, 0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// itemFile writes a file that is one item.
func (t *writer) itemFile(data []byte) error {
	f, err := create(t.path(len(t.out.Items), ""))
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	t.out.Sample.Items = append(t.out.Sample.Items, dataset.Ref{File: len(t.out.Sample.Files)})
	return t.file(f)
}

// mostRunItems bounds the items of a run that are read: their list goes through a pipe.
const mostRunItems = 20_000

// rewriteRun stores a run of items of an HDF5 file in another layout, or the same.
func rewriteRun(t *writer) error {
	if err := t.Sample.HasFiles([]int{t.plan.File}); err != nil {
		return err
	}
	path := filepath.Join(string(t.Into), "run.h5")
	n, size, err := t.Sample.Rewrite(t.Sample.Files[t.plan.File], path, t.Relayout)
	t.out.Stored, t.out.Sample.Files = size, []dataset.File{{Path: []byte(path), Bytes: size}}
	t.out.Sample.Items = runItems(t.Sample, t.plan, n)
	return err
}

// runItems lists the items of a run of n indices, evenly drawn over all of it where there are too many: every index,
// or, of patches, a place drawn among the corners of the sample's own for each index that a patch may begin at.
func runItems(sample dataset.Sample, q plan, n int64) []dataset.Ref {
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
