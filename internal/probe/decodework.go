package probe

import (
	"context"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
)

var decodeWork = work[decode, decoded]{"decode", decodePictures}

// decode asks a worker process to decode pictures, round and round, and to count only that.
type decode struct {
	Items []int // positions in the sample's Items
	From  int   // where in Items to begin
	// reading included; it ends after that long, or at the end of Items where some were found to be left out
	Seconds float64
}

type decoded struct {
	Kinds    []kindOfPicture
	Failures []dataset.Failure `json:",omitempty"` // each item once
	Other    []int             `json:",omitempty"` // items that are no pictures: labels in an archive
	Next     int               // where in Items the work stopped
}

type kindOfPicture struct {
	Format  string // as dataset.PictureFormat says
	Library string // that decoded them
	Items   int
	Seconds float64 // wall time
}

// decodePictures fails where nothing could be tried; a picture that cannot be decoded is a Failure.
func decodePictures(ctx context.Context, w *state, q decode) (decoded, error) {
	if err := w.Sample.Has(q.Items); err != nil {
		return decoded{}, err
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
			w.decodePile(q.Items, &out)
		}
	}
	for last := false; len(w.pile.at) > 0 && !last; {
		last = over()
		w.decodePile(q.Items, &out)
	}
	if left := w.pile.at; len(left) > 0 {
		out.Next = left[0]
	}
	return out, nil
}

// decodeNext brings an item to memory and times decoding it, or puts it on the pile of those that are decoded together.
func (w *state) decodeNext(items []int, out *decoded) {
	at := out.Next
	item := items[at]
	out.Next = (at + 1) % len(items)
	data, err := w.Read(w.Sample.Items[item])
	if err != nil {
		w.fail(out, item, err)
		return
	}
	format := dataset.PictureFormat(data)
	switch {
	case format == "" && w.Sample.Kind == dataset.Tar:
		out.Other = append(out.Other, item)
		return
	case format == dataset.EachFormat:
		w.pile.add(data, at)
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

// fail takes down that an item cannot be decoded, once.
func (w *state) fail(out *decoded, item int, err error) {
	known := slices.ContainsFunc(out.Failures, func(f dataset.Failure) bool { return f.Item == item })
	if !known && len(out.Failures) < dataset.MaxFailures {
		out.Failures = append(out.Failures, dataset.Failed(item, err, w.Sample.Files[w.Sample.Items[item].File].Path))
	}
}

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
	if w.Sample.Kind == dataset.Tar && dataset.PictureFormat(data) == "" {
		return nil
	}
	_, _, err := w.decoder.Decode(data)
	return err
}
