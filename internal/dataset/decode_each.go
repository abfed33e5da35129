package dataset

import (
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/jpeg"
)

// Span is where a picture's file lies among the bytes of several.
type Span = jpeg.Span

// decodeEach is jpeg.Decoder's DecodeEach, which says what it promises.
type decodeEach func(d *Decoder, files []byte, at []Span, took []time.Duration, longest time.Duration) (done int,
	err error)

// DecodesEach reports whether pictures of a format, as PictureFormat names it, can be decoded by DecodeEach.
func DecodesEach(format string) bool { return codecs[format].each != nil }

// DecodeEach decodes pictures of one format, which lie in files one behind the other, and puts how long each took into
// took, which is as long as at. It stops after the picture with which they have lasted for longest together, the first
// at the soonest, and returns how many it decoded; or before the first that Decode refuses, with the same error. No
// picture is kept.
func (d *Decoder) DecodeEach(format string, files []byte, at []Span, took []time.Duration,
	longest time.Duration) (done int, library string, err error) {
	c := codecs[format]
	if c.each == nil {
		return 0, c.library, fmt.Errorf("%w: several of format %q are not decoded at once", ErrPicture, format)
	}
	if done, err = c.each(d, files, at, took, longest); err != nil {
		return done, c.library, damaged(format, err)
	}
	return done, c.library, nil
}

func (d *Decoder) eachJPEG(files []byte, at []Span, took []time.Duration, longest time.Duration) (int, error) {
	if err := d.startJPEG(); err != nil {
		return 0, err
	}
	return d.jpeg.DecodeEach(files, at, took, &d.buf, longest)
}

func (d *Decoder) startJPEG() (err error) {
	if d.jpeg == nil {
		d.jpeg, err = jpeg.NewDecoder()
	}
	return err
}
