// Package jpeg decodes and encodes JPEG by libjpeg-turbo, with the settings and the limits that Pillow uses, so that
// what it takes and what it delivers are what a training job that opens pictures with Pillow gets.
//
// It promises to look at the header before it makes a buffer. It refuses pictures of more than MaxPixels, files that
// end too early, and progressive files of more than 500 scans, which take minutes. A file made for it may still crash
// libjpeg-turbo: enter this package in a child process only.
package jpeg

/*
#cgo LDFLAGS: -lturbojpeg
#include "turbo.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// MaxPixels is the most a picture may have: Pillow refuses more than twice its Image.MAX_IMAGE_PIXELS, 89,478,485.
const MaxPixels = 178_956_970

var (
	// ErrTooLarge says that a picture has more than MaxPixels.
	ErrTooLarge = errors.New("more pixels than Pillow opens")
	// ErrTruncated says that a file ends before its picture does.
	ErrTruncated = errors.New("the file ends before the picture does")
)

// Color is how a file stores colors.
type Color int

// The color spaces of JPEG, numbered as TurboJPEG does.
const (
	RGB Color = iota
	YCbCr
	Gray
	CMYK
	YCCK
)

// Channels is how many bytes a decoded pixel has: 1 for gray, else 3.
func (c Color) Channels() int {
	if c == Gray {
		return 1
	}
	return 3
}

// Info is what a header says.
type Info struct {
	Width, Height int // pixels
	Color         Color
}

// Decoder decodes pictures one after the other. It is used by one goroutine. Its memory in libjpeg-turbo is given back
// when it is collected.
type Decoder struct {
	turbo    *turbo
	out      C.struct_outcome // here, so that a call need not allocate it
	pictures []C.struct_picture
}

// turbo is TurboJPEG's own state.
type turbo struct{ handle C.tjhandle }

func (t *turbo) destroy() {
	if t.handle != nil {
		C.tjDestroy(t.handle)
	}
}

// renew is for after a failure: in 2.1, a header that cannot be read leaves a state in which the next cannot be read
// either.
func (t *turbo) renew() error {
	t.destroy()
	if t.handle = C.tjInitDecompress(); t.handle == nil {
		return errors.New("starting libjpeg-turbo: out of memory")
	}
	return nil
}

// NewDecoder fails only when there is no memory.
func NewDecoder() (*Decoder, error) {
	d := &Decoder{turbo: new(turbo)}
	if err := d.turbo.renew(); err != nil {
		return nil, err
	}
	runtime.AddCleanup(d, (*turbo).destroy, d.turbo)
	return d, nil
}

// Header reads a file's header. It needs all that stands before the first scan. The error is ErrTooLarge for pictures
// of more than MaxPixels.
func (d *Decoder) Header(data []byte) (Info, error) {
	if len(data) == 0 {
		return Info{}, errors.New("reading a JPEG header: the file is empty")
	}
	C.header(d.turbo.handle, (*C.uchar)(unsafe.SliceData(data)), C.ulong(len(data)), &d.out)
	info := Info{Width: int(d.out.width), Height: int(d.out.height), Color: Color(d.out.colorspace)}
	// An unusual subsampling of color is an error to TurboJPEG's header call alone.
	usable := info.Width > 0 && info.Height > 0 && info.Color >= RGB && info.Color <= YCCK
	if !usable {
		reason := d.reason()
		return Info{}, fmt.Errorf("reading a JPEG header: %w", errors.Join(reason, d.turbo.renew()))
	}
	if int64(info.Width)*int64(info.Height) > MaxPixels {
		return Info{}, fmt.Errorf("%d by %d: %w", info.Width, info.Height, ErrTooLarge)
	}
	return info, nil
}

// reason is libjpeg-turbo's message.
func (d *Decoder) reason() error {
	message := C.GoString(&d.out.message[0])
	if message == "" {
		message = "unknown reason"
	}
	return errors.New(untrusted.Cut(message, 200).String())
}

// Encode makes a JPEG file of pixels as Decode delivers them, with Pillow's choices: 4:2:0 and the accurate transform.
// Quality is 1 to 100; Pillow's own default is 75.
func Encode(pixels []byte, width, height, channels, quality int) ([]byte, error) {
	format, subsampling := C.int(C.TJPF_RGB), C.int(C.TJSAMP_420)
	if channels == 1 {
		format, subsampling = C.TJPF_GRAY, C.TJSAMP_GRAY
	}
	switch {
	case channels != 1 && channels != 3:
		return nil, fmt.Errorf("encoding JPEG: %d channels; 1 or 3 are possible", channels)
	case quality < 1 || quality > 100:
		return nil, fmt.Errorf("encoding JPEG: a quality of %d; 1 to 100 are possible", quality)
	case width < 1 || height < 1 || width > 65500 || height > 65500: // JPEG_MAX_DIMENSION of jmorecfg.h
		return nil, fmt.Errorf("encoding JPEG: %d by %d pixels; 1 to 65500 are possible", width, height)
	case len(pixels) != width*height*channels:
		return nil, fmt.Errorf("encoding JPEG: %d bytes for %d by %d pixels of %d", len(pixels), width, height,
			channels)
	}
	handle := C.tjInitCompress()
	if handle == nil {
		return nil, errors.New("starting libjpeg-turbo: out of memory")
	}
	defer C.tjDestroy(handle)
	file := make([]byte, C.tjBufSize(C.int(width), C.int(height), subsampling))
	d := Decoder{}
	n := C.encode(handle, (*C.uchar)(unsafe.SliceData(pixels)), C.int(width), C.int(height), format,
		(*C.uchar)(unsafe.SliceData(file)), C.ulong(len(file)), subsampling, C.int(quality), &d.out)
	if d.out.failed != 0 {
		return nil, fmt.Errorf("encoding JPEG: %w", d.reason())
	}
	return file[:n], nil
}
