package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/png"
	"io"
	"runtime/debug"
	"time"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"
	"golang.org/x/image/webp"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/jpeg"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Pixels is a decoded picture, row by row without gaps, in the mode that Pillow opens it in, with these exceptions: one
// bit becomes 8-bit gray, a palette RGB or, with transparency, RGBA; CMYK becomes RGB; 16-bit gray keeps its 16 bits.
// What is wholly transparent in a GIF is black.
type Pixels struct {
	Width, Height int
	Channels      int    // 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA; alpha is never multiplied in
	Bits          int    // of a sample: 8, or 16, little-endian, of gray
	Bytes         []byte // good until the next call of Decode
}

// ErrTooLarge is what errors.Is finds when a picture has more pixels than are decoded, 178,956,970 as with Pillow.
var ErrTooLarge = jpeg.ErrTooLarge

// ErrPicture is in every error that is the picture's fault: damaged, cut, of an unsupported kind, too large.
var ErrPicture = errors.New("the picture cannot be decoded")

// Decoder decodes pictures one after the other. Its zero value is ready. It is used by one goroutine.
type Decoder struct {
	jpeg *jpeg.Decoder
	buf  []byte
}

type codec struct {
	library string                                  // as a report names it
	header  func(data []byte) (image.Config, error) // nil: decode looks at the header itself
	decode  func(d *Decoder, data []byte) (Pixels, error)
}

// codecs is by the names of formats. Of Go's decoders, these are the fastest that Go's own project keeps up.
var codecs = map[string]codec{
	"jpeg": {"libjpeg-turbo", nil, (*Decoder).decodeJPEG},
	"png":  {"go/png", configOf(png.DecodeConfig), decoded(png.Decode, (*Decoder).layPNG)},
	"webp": {"x/image/webp", configOf(webp.DecodeConfig), decoded(webp.Decode, (*Decoder).layWebP)},
	"tiff": {"x/image/tiff", configOf(tiff.DecodeConfig), decoded(tiff.Decode, (*Decoder).layTIFF)},
	"bmp":  {"x/image/bmp", configOf(bmp.DecodeConfig), decoded(bmp.Decode, (*Decoder).layBMP)},
	"gif":  {"go/gif", configOf(gif.DecodeConfig), decoded(gif.Decode, (*Decoder).layGIF)},
}

func configOf(read func(io.Reader) (image.Config, error)) func([]byte) (image.Config, error) {
	return func(data []byte) (image.Config, error) { return read(bytes.NewReader(data)) }
}

// decoded has a library of Go's decode a file, and its pixels laid out.
func decoded(read func(io.Reader) (image.Image, error),
	layOut func(*Decoder, image.Image, []byte) (Pixels, error)) func(*Decoder, []byte) (Pixels, error) {
	return func(d *Decoder, data []byte) (Pixels, error) {
		picture, err := read(bytes.NewReader(data))
		if err != nil {
			return Pixels{}, err
		}
		return layOut(d, picture, data)
	}
}

// Decode decodes a picture by what its first bytes say it is, and names the library that did: libjpeg-turbo, go/png, …
// Of several frames it is the first. An orientation in EXIF is not applied, as Pillow does not; that of a TIFF is not
// either, which Pillow applies. The header is looked at first: more than jpeg.MaxPixels pixels are refused before a
// buffer is made. The library is named with an error too, where there is one for the format.
func (d *Decoder) Decode(data []byte) (p Pixels, library string, err error) {
	name := format.OfBytes(data).Name
	c, ok := codecs[name]
	if !ok {
		return Pixels{}, "", fmt.Errorf("%w: its first bytes are of no picture format that is known", ErrPicture)
	}
	defer func() {
		if broken := recover(); broken != nil { // an index out of range in a library, on damaged data
			p, library, err = Pixels{}, c.library, damaged(name, fmt.Errorf("its decoder failed: %v", broken))
		}
	}()
	if c.header != nil {
		config, err := c.header(data)
		if err := checkSize(config, err); err != nil {
			return Pixels{}, c.library, damaged(name, err)
		}
		if config.Width*config.Height > jpeg.HugePixels { // as jpeg.Decoder does by itself
			d.buf = nil
			debug.FreeOSMemory()
		}
	}
	if p, err = c.decode(d, data); err != nil {
		return Pixels{}, c.library, damaged(name, err)
	}
	return p, c.library, nil
}

// PictureFormat names a picture's format by its first bytes: "jpeg", "png", …; "" for what is none known.
func PictureFormat(data []byte) string {
	if f := format.OfBytes(data); f.Kind == Image {
		return f.Name
	}
	return ""
}

// damaged keeps the decoder's words alone: an early end inside of a picture is not a file that shrank.
func damaged(format string, err error) error {
	if errors.Is(err, jpeg.ErrTooLarge) {
		return fmt.Errorf("%w (%s): %w", ErrPicture, format, err)
	}
	return fmt.Errorf("%w (%s): %s", ErrPicture, format, untrusted.Cut(err.Error(), 200))
}

func checkSize(config image.Config, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("reading its header: %w", err)
	case config.Width < 1 || config.Height < 1:
		return fmt.Errorf("its header says %d by %d pixels", config.Width, config.Height)
	case config.Width > jpeg.MaxPixels/config.Height:
		return fmt.Errorf("%d by %d: %w", config.Width, config.Height, jpeg.ErrTooLarge)
	}
	return nil
}

func (d *Decoder) decodeJPEG(data []byte) (Pixels, error) {
	if err := d.startJPEG(); err != nil {
		return Pixels{}, err
	}
	width, height, channels, err := d.jpeg.Decode(data, &d.buf)
	if err != nil {
		return Pixels{}, err
	}
	return Pixels{Width: width, Height: height, Channels: channels, Bits: 8, Bytes: d.buf}, nil
}

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

// pngChannels is how many channels Pillow makes of PNG's color types; palettes are not among them.
var pngChannels = map[byte]int{0: 1, 2: 3, 4: 2, 6: 4}

func (d *Decoder) layPNG(picture image.Image, data []byte) (Pixels, error) {
	// The header is the first chunk; its depth and color type are bytes 24 and 25 of the file. A color that stands for
	// transparency makes Go add a channel and Pillow not.
	depth, colors := data[24], data[25]
	switch {
	case depth == 16 && colors == 0:
		return d.wide(picture)
	case depth == 16 && colors == 4: // Pillow has no mode of two channels for it
		return d.pack(picture, 4)
	}
	return d.pack(picture, pngChannels[colors])
}

func (d *Decoder) layTIFF(picture image.Image, _ []byte) (Pixels, error) {
	switch p := picture.(type) {
	case *image.Gray16:
		return d.wide(p)
	case *image.RGBA, *image.RGBA64: // no alpha, or one that is multiplied in
		if o, ok := p.(interface{ Opaque() bool }); ok && o.Opaque() {
			return d.pack(picture, 3)
		}
		return d.pack(picture, 4)
	}
	return d.pack(picture, 0)
}

func (d *Decoder) layBMP(picture image.Image, data []byte) (Pixels, error) {
	channels := 3
	switch p := picture.(type) {
	case *image.Paletted:
		step := 1
		if len(p.Palette) == 2 {
			step = 255
		}
		if grayRamp(p.Palette, step) {
			channels = 1
		}
	case *image.NRGBA:
		const bitFields = 3 // the fourth byte is alpha only where a header says so; bytes 30 to 33 are the compression
		if data[30] == bitFields {
			channels = 4
		}
	}
	return d.pack(picture, channels)
}

func (d *Decoder) layGIF(picture image.Image, data []byte) (Pixels, error) {
	config, err := gif.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return Pixels{}, err
	}
	if canvas := image.Rect(0, 0, config.Width, config.Height); picture.Bounds() != canvas {
		return Pixels{}, errors.New("its first frame does not fill the picture")
	}
	if p, ok := picture.(*image.Paletted); ok && grayRamp(p.Palette, 1) {
		return d.pack(picture, 1)
	}
	return d.pack(picture, 0)
}
