package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
)

var gatherWork = work[gather, gathered]{"gather", gatherBatches}

// gather asks a worker process to gather batches, one after the other, round and round.
type gather struct {
	Items     []int   // positions in the sample's Items, in the order a sampler names them
	From      int     // where in Items to begin
	Size      int     // items of a batch
	Seconds   float64 // it ends after that long, one batch made at least
	Selection bool    // one call for all items of a file, where its handle can; else one for each
	Decode    bool
}

type gathered struct {
	Batches  int               // gathered whole
	Seconds  float64           // wall time they took
	Failures []dataset.Failure `json:",omitempty"` // their batches are not counted
	Next     int               // where in Items the work stopped
}

// gatherBatches is the work. Its error says that nothing could be tried; an item that cannot be read is a Failure.
func gatherBatches(ctx context.Context, w *state, q gather) (gathered, error) {
	if err := w.Sample.Has(q.Items); err != nil {
		return gathered{}, err
	}
	if q.Size < 1 || q.Size > len(q.Items) {
		return gathered{}, fmt.Errorf("batches of %d of %d items", q.Size, len(q.Items))
	}
	out := gathered{Next: max(0, q.From) % len(q.Items)}
	g := gathering{state: w, decode: q.Decode, byFile: map[int][]int{}}
	for began := time.Now(); ; {
		batch := make([]int, q.Size)
		for i := range batch {
			batch[i] = q.Items[(out.Next+i)%len(q.Items)]
		}
		out.Next = (out.Next + q.Size) % len(q.Items)
		start := time.Now()
		bad, err := g.batch(batch, q.Selection)
		switch {
		case errors.Is(err, errOneByOne):
			return out, nil
		case err != nil && bad < 0:
			return gathered{}, err
		case err != nil:
			path := w.Sample.Files[w.Sample.Items[bad].File].Path
			out.Failures = append(out.Failures, dataset.Failed(bad, err, path))
			if len(out.Failures) >= dataset.MaxFailures {
				return out, nil
			}
		default:
			out.Batches++
			out.Seconds += time.Since(start).Seconds()
		}
		if time.Since(began).Seconds() >= q.Seconds || ctx.Err() != nil {
			return out, nil
		}
	}
}

var errOneByOne = errors.New("this kind of file is read one item at a time")

type gathering struct {
	*state
	decode   bool
	together []byte
	files    []int // of the batch, in the order they were met
	byFile   map[int][]int
	refs     []dataset.Ref
}

// batch gathers one batch, and names the item that is to blame for an error; -1 where none can be named.
func (g *gathering) batch(batch []int, selection bool) (bad int, err error) {
	if selection {
		return g.selected(batch)
	}
	g.together = g.together[:0]
	for _, item := range batch {
		data, err := g.state.Read(g.Sample.Items[item])
		if err == nil && g.decode {
			err = g.state.decode(data)
		}
		if err != nil {
			return item, err
		}
		if !g.decode { // arrays are put together; pictures differ in size until they are cropped
			g.together = append(g.together, data...)
		}
	}
	return -1, nil
}

// selected reads the items of each file with one call.
func (g *gathering) selected(batch []int) (bad int, err error) {
	g.files = g.files[:0]
	clear(g.byFile)
	for _, item := range batch {
		file := g.Sample.Items[item].File
		if len(g.byFile[file]) == 0 {
			g.files = append(g.files, file)
		}
		g.byFile[file] = append(g.byFile[file], item)
	}
	for _, file := range g.files {
		h, err := g.HandleOf(file)
		if err != nil {
			return g.byFile[file][0], err
		}
		reader, ok := h.(dataset.BatchReader)
		if !ok {
			return -1, errOneByOne
		}
		g.refs = g.refs[:0]
		for _, item := range g.byFile[file] {
			g.refs = append(g.refs, g.Sample.Items[item])
		}
		got, err := reader.ReadBatch(g.refs, g.Buf)
		if err != nil {
			return g.failingItem(h, g.byFile[file], err)
		}
		if cap(got) > cap(g.Buf) {
			g.Buf = got[:0]
		}
	}
	return -1, nil
}

// failingItem reads items one by one to find the one that a call for all of them failed at.
func (g *gathering) failingItem(h dataset.Handle, items []int, all error) (bad int, err error) {
	for _, item := range items {
		if _, err := h.Read(g.Sample.Items[item], nil); err != nil {
			return item, err
		}
	}
	return -1, all
}
