package dataset

import (
	"time"

	"github.com/pipetune/pipetune/internal/jpeg"
)

// Span is where a picture's file lies among the bytes of several.
type Span = jpeg.Span

// EachFormat is the format of the pictures that DecodeEach decodes, as PictureFormat names it.
const EachFormat = "jpeg"

// DecodeEach decodes pictures of EachFormat, which lie in files one behind the other, and puts how long each took into
// took, which is as long as at. It stops after the picture with which they have lasted for longest together, the first
// at the soonest, and returns how many it decoded; or before the first that Decode refuses, with the same error. No
// picture is kept.
func (d *Decoder) DecodeEach(files []byte, at []Span, took []time.Duration, longest time.Duration) (done int,
	library string, err error) {
	if err = d.startJPEG(); err == nil {
		done, err = d.jpeg.DecodeEach(files, at, took, &d.buf, longest)
	}
	if err != nil {
		err = damaged(EachFormat, err)
	}
	return done, codecs[EachFormat].library, err
}

func (d *Decoder) startJPEG() (err error) {
	if d.jpeg == nil {
		d.jpeg, err = jpeg.NewDecoder()
	}
	return err
}
