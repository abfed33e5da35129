package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
)

// workDecode is the row of works that decodes pictures from memory.
const workDecode = "decode"

// decode asks a worker process to decode pictures, one after the other, and to count only that. Items are gone through round and round.
type decode struct {
	Items   []int   // positions in the sample's Items
	From    int     // where in Items to begin
	Seconds float64 // reading included; it ends after that long, at the end of Items at the latest
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
	began := time.Now()
	for range q.Items {
		item := q.Items[out.Next]
		out.Next = (out.Next + 1) % len(q.Items)
		if err := w.decodeOne(item, &out); err != nil && len(out.Failures) < mostFailures {
			out.Failures = append(out.Failures, failed(item, err, w.sample.Files[w.sample.Items[item].File].Path))
		}
		if time.Since(began).Seconds() >= q.Seconds || ctx.Err() != nil {
			break
		}
	}
	return out, nil
}

// decodeOne brings an item to memory and times decoding it.
func (w *state) decodeOne(item int, out *decoded) error {
	data, err := w.bytesOf(w.sample.Items[item])
	if err != nil {
		return err
	}
	format := dataset.PictureFormat(data)
	if format == "" && w.sample.Kind == dataset.Tar {
		out.Other = append(out.Other, item)
		return nil
	}
	began := time.Now()
	_, library, err := w.decoder.Decode(data)
	seconds := time.Since(began).Seconds()
	if err != nil {
		return err
	}
	for i := range out.Kinds {
		if k := &out.Kinds[i]; k.Format == format && k.Library == library {
			k.Items++
			k.Seconds += seconds
			return nil
		}
	}
	out.Kinds = append(out.Kinds, kindOfPicture{Format: format, Library: library, Items: 1, Seconds: seconds})
	return nil
}

// decode decodes an item as a job does after reading it. What an archive holds beside pictures stays as it is.
func (w *state) decode(data []byte) error {
	if w.sample.Kind == dataset.Tar && dataset.PictureFormat(data) == "" {
		return nil
	}
	_, _, err := w.decoder.Decode(data)
	return err
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
	if got, err = h.Read(ref, w.buf); err != nil {
		return nil, err
	}
	if cap(got) > cap(w.buf) {
		w.buf = got[:0]
	}
	return got, nil
}
