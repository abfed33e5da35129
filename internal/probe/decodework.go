package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
)

// workDecode is the row of works that decodes pictures from memory.
const workDecode = "decode"

// decode asks a worker process to decode pictures, one after the other, and to count only that. Items are gone through round and round.
type decode struct {
	Items   []int   // positions in the sample's Items
	From    int     // where in Items to begin
	Seconds float64 // reading included; it ends after that long, or at the end of Items where some were found to be left out
}

// decoded is what came of it.
type decoded struct {
	Kinds    []kindOfPicture
	Failures []failure `json:",omitempty"` // each item once
	Other    []int     `json:",omitempty"` // items that are no pictures: labels in an archive
	Next     int       // where in Items the work stopped
}

// kindOfPicture is what decoding the pictures of one format took.
type kindOfPicture struct {
	Format  string // as dataset.PictureFormat says
	Library string // that decoded them
	Items   int
	Seconds float64 // wall time
}

// decodePictures is the work. Its error says that nothing could be tried; a picture that cannot be decoded is a Failure.
func decodePictures(ctx context.Context, w *state, body json.RawMessage) (any, error) {
	var q decode
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, fmt.Errorf("decoding what to decode: %w", err)
	}
	if len(q.Items) == 0 {
		return nil, errors.New("no items to decode")
	}
	for _, i := range q.Items {
		if i < 0 || i >= len(w.sample.Items) {
			return nil, fmt.Errorf("no item %d in a sample of %d", i, len(w.sample.Items))
		}
	}
	out := decoded{Next: max(0, q.From) % len(q.Items)}
	w.pile.clear()
	ends := time.Now().Add(time.Duration(q.Seconds * float64(time.Second)))
	over := func() bool { return ctx.Err() != nil || !time.Now().Before(ends) }
	for tried := 0; tried == 0 || !over(); tried++ {
		if tried%len(q.Items) == 0 && len(out.Failures)+len(out.Other) > 0 {
			break
		}
		w.decodeNext(q.Items, &out)
		for w.pile.enough() && !over() {
			w.decodePile(&out)
		}
	}
	for last := false; len(w.pile.entries) > 0 && !last; {
		last = over()
		w.decodePile(&out)
	}
	if left := w.pile.entries; len(left) > 0 {
		out.Next = left[0].at
	}
	return out, nil
}

// decodeNext brings an item to memory and times decoding it, or puts it on the pile of those that are decoded together.
func (w *state) decodeNext(items []int, out *decoded) {
	at := out.Next
	item := items[at]
	out.Next = (at + 1) % len(items)
	data, err := w.bytesOf(w.sample.Items[item])
	if err != nil {
		w.fail(out, item, err)
		return
	}
	format := dataset.PictureFormat(data)
	switch {
	case format == "" && w.sample.Kind == dataset.Tar:
		out.Other = append(out.Other, item)
		return
	case dataset.DecodesEach(format):
		for len(w.pile.entries) > 0 && w.pile.format != format {
			w.decodePile(out)
		}
		w.pile.add(format, data, entry{item, at})
		return
	}
	began := time.Now()
	_, library, err := w.decoder.Decode(data)
	took := time.Since(began)
	if err != nil {
		w.fail(out, item, err)
		return
	}
	out.add(format, library, 1, took)
}

// fail takes down that an item cannot be decoded.
func (w *state) fail(out *decoded, item int, err error) {
	if len(out.Failures) < mostFailures && !slices.ContainsFunc(out.Failures, func(f failure) bool { return f.Item == item }) {
		out.Failures = append(out.Failures, failed(item, err, w.sample.Files[w.sample.Items[item].File].Path))
	}
}

// add counts pictures of a format.
func (d *decoded) add(format, library string, items int, took time.Duration) {
	i := slices.IndexFunc(d.Kinds, func(k kindOfPicture) bool { return k.Format == format && k.Library == library })
	if i < 0 {
		i, d.Kinds = len(d.Kinds), append(d.Kinds, kindOfPicture{Format: format, Library: library})
	}
	d.Kinds[i].Items += items
	d.Kinds[i].Seconds += took.Seconds()
}

// decode decodes an item as a job does after reading it. What an archive holds beside pictures stays as it is.
func (w *state) decode(data []byte) error {
	if w.sample.Kind == dataset.Tar && dataset.PictureFormat(data) == "" {
		return nil
	}
	_, _, err := w.decoder.Decode(data)
	return err
}

// item reads an item into the process's buffer, which is given away meanwhile: where a longer one has to take its place, the two must not be held
// together.
func (w *state) item(h dataset.Handle, ref dataset.Ref) ([]byte, error) {
	buf := w.buf
	w.buf = nil
	got, err := h.Read(ref, buf)
	if err != nil {
		return nil, err
	}
	w.buf = got[:0]
	return got, nil
}

// bytesOf reads an item into the process's buffer. Files of many items stay open, a file that is one item is closed again.
func (w *state) bytesOf(ref dataset.Ref) (got []byte, err error) {
	var h dataset.Handle
	if w.sample.ItemIsFile() {
		if h, err = w.open(w.sample.Source, w.sample.Files[ref.File]); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, h.Close()) }()
	} else if h, err = w.handle(ref.File); err != nil {
		return nil, err
	}
	return w.item(h, ref)
}
