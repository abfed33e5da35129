// Package jpeg decodes and encodes JPEG by libjpeg-turbo, with the settings and the limits that Pillow uses, so that what it takes and
// what it delivers are what a training job that opens pictures with Pillow gets.
//
// It promises to look at the header before it makes a buffer. It refuses pictures of more than MaxPixels, files that end too early, and
// progressive files of more than 500 scans, which take minutes. A file made for it may still crash libjpeg-turbo: enter this package in a
// child process only.
package jpeg

/*
#cgo LDFLAGS: -lturbojpeg
#include <stdio.h>
#include <turbojpeg.h>

// What one call left behind. TurboJPEG keeps messages for each thread, and a goroutine may go on in another one after the call: so the
// message is copied in the call that caused it.
struct outcome {
	int width, height, subsampling, colorspace;
	int failed;
	char message[200]; // JMSG_LENGTH_MAX of jpeglib.h
};

static void explain(tjhandle handle, int status, struct outcome *out) {
	out->failed = status != 0;
	out->message[0] = 0;
	if (status) snprintf(out->message, sizeof out->message, "%s", tjGetErrorStr2(handle));
}

static void header(tjhandle handle, const unsigned char *data, unsigned long size, struct outcome *out) {
	out->width = out->height = 0;
	out->subsampling = out->colorspace = -1;
	explain(handle, tjDecompressHeader3(handle, data, size, &out->width, &out->height, &out->subsampling, &out->colorspace), out);
}

static void decode(tjhandle handle, const unsigned char *data, unsigned long size, unsigned char *into, int width, int height, int format,
		struct outcome *out) {
	explain(handle, tjDecompress2(handle, data, size, into, width, 0, height, format, TJFLAG_LIMITSCANS), out);
}

// Below quality 96 TurboJPEG would take the fast transform; libjpeg, and Pillow by it, takes the accurate one.
static unsigned long encode(tjhandle handle, const unsigned char *pixels, int width, int height, int format, unsigned char *into,
		unsigned long size, int subsampling, int quality, struct outcome *out) {
	int flags = TJFLAG_NOREALLOC | TJFLAG_ACCURATEDCT;
	explain(handle, tjCompress2(handle, pixels, width, 0, height, format, &into, &size, subsampling, quality, flags), out);
	return size;
}
*/
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
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

// Subsampling is how much coarser than brightness a file stores color. The zero value is 4:4:4.
type Subsampling int

// The usual subsamplings, numbered as TurboJPEG does. Unusual is any other; libjpeg-turbo decodes it all the same.
const (
	Unusual Subsampling = iota - 1
	S444
	S422
	S420
	SGray
	S440
	S411
)

// Info is what a header says.
type Info struct {
	Width, Height int // pixels
	Color         Color
	Subsampling   Subsampling
}

// Decoder decodes pictures one after the other. It is used by one goroutine. Its memory in libjpeg-turbo is given back when it is collected.
type Decoder struct {
	turbo *turbo
	out   C.struct_outcome // here, so that a call need not allocate it
}

// turbo is TurboJPEG's own state.
type turbo struct{ handle C.tjhandle }

func (t *turbo) destroy() {
	if t.handle != nil {
		C.tjDestroy(t.handle)
	}
}

// renew is for after a failure: in 2.1, a header that cannot be read leaves a state in which the next cannot be read either.
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

// Header reads a file's header. It needs all that stands before the first scan. The error is ErrTooLarge for pictures of more than MaxPixels.
func (d *Decoder) Header(data []byte) (Info, error) {
	if len(data) == 0 {
		return Info{}, errors.New("reading a JPEG header: the file is empty")
	}
	C.header(d.turbo.handle, (*C.uchar)(unsafe.SliceData(data)), C.ulong(len(data)), &d.out)
	info := Info{Width: int(d.out.width), Height: int(d.out.height), Color: Color(d.out.colorspace), Subsampling: Subsampling(d.out.subsampling)}
	// An unusual subsampling is an error to TurboJPEG's header call alone.
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

// Decode delivers a picture's pixels, row by row without gaps, in *into, which it makes longer where need be: one byte a pixel for gray, else
// three, red first. CMYK becomes RGB as by Pillow's convert("RGB"), the inks taken as inverted, as Adobe stores them. An orientation in the
// file's EXIF is not applied, as Pillow does not either. Damage that does not end the file early is passed over, as Pillow does.
func (d *Decoder) Decode(data []byte, into *[]byte) (width, height, channels int, err error) {
	info, err := d.Header(data)
	if err != nil {
		return 0, 0, 0, err
	}
	channels = info.Color.Channels()
	format, stored := C.int(C.TJPF_RGB), channels
	switch info.Color {
	case Gray:
		format = C.TJPF_GRAY
	case CMYK, YCCK:
		format, stored = C.TJPF_CMYK, 4
	}
	size := info.Width * info.Height * stored
	*into = slices.Grow((*into)[:0], size)[:size]
	if err := d.decode(data, *into, info, format); err != nil {
		return 0, 0, 0, err
	}
	if stored == 4 {
		*into = (*into)[:fromCMYK(*into)]
	}
	return info.Width, info.Height, channels, nil
}

func (d *Decoder) decode(data, into []byte, info Info, format C.int) error {
	C.decode(d.turbo.handle, (*C.uchar)(unsafe.SliceData(data)), C.ulong(len(data)), (*C.uchar)(unsafe.SliceData(into)), C.int(info.Width), C.int(info.Height),
		format, &d.out)
	if d.out.failed == 0 {
		return nil
	}
	message := C.GoString(&d.out.message[0])
	switch {
	case !isWarning(message):
		reason := d.reason()
		return fmt.Errorf("decoding JPEG: %w", errors.Join(reason, d.turbo.renew()))
	case endsEarly(data, message):
		return fmt.Errorf("decoding JPEG: %w", ErrTruncated)
	}
	return nil
}

// How libjpeg's warnings begin (JWRN_… of jerror.h).
const (
	noMoreData = "Premature end of JPEG file"
	markerHit  = "Corrupt JPEG data: premature end of data segment"
)

var warnings = []string{"Corrupt JPEG data: ", noMoreData, "Inconsistent progression sequence", "Invalid SOS parameters", "Unknown Adobe color transform",
	"Warning: "}

// isWarning tells whether a message says that the picture was decoded all the same. TurboJPEG's error code does not: it is that of a warning
// after any warning, though an error ended the decoding later.
func isWarning(message string) bool {
	return slices.ContainsFunc(warnings, func(w string) bool { return strings.HasPrefix(message, w) })
}

// endsEarly tells whether a file that was decoded with a warning is one that Pillow calls truncated: its decoder asked for more data than there
// is. TurboJPEG tells the first warning only. Once a marker was hit inside of a scan no more of it is read, so that a missing end goes
// unnoticed. After other damage the mark of the end decides: it cannot stand inside of a scan's data, and a thumbnail's stands before the last
// scan. Pillow lets a file without it pass where the damage happens to leave its decoder with data to spare; here it is truncated.
func endsEarly(data []byte, warning string) bool {
	switch warning {
	case noMoreData:
		return true
	case markerHit:
		return false
	}
	scan := max(0, bytes.LastIndex(data, []byte{0xff, 0xda}))
	return !bytes.Contains(data[scan:], []byte{0xff, 0xd9})
}

// reason is libjpeg-turbo's message.
func (d *Decoder) reason() error {
	message := C.GoString(&d.out.message[0])
	if message == "" {
		message = "unknown reason"
	}
	return errors.New(untrusted.Cut(message, 200).String())
}

// fromCMYK turns inverted CMYK into RGB where it lies and returns the new length. It rounds as Pillow's cmyk2rgb does.
func fromCMYK(pixels []byte) int {
	to := 0
	for from := 0; from+4 <= len(pixels); from += 4 {
		white := int(pixels[from+3])
		for i := range 3 {
			ink := 255 - int(pixels[from+i])
			product := ink*white + 128
			pixels[to+i] = byte(max(0, white-(product>>8+product)>>8))
		}
		to += 3
	}
	return to
}

// Encode makes a JPEG file of pixels as Decode delivers them, with Pillow's choices: 4:2:0 and the accurate transform. Quality is 1 to 100;
// Pillow's own default is 75.
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
		return nil, fmt.Errorf("encoding JPEG: %d bytes for %d by %d pixels of %d", len(pixels), width, height, channels)
	}
	handle := C.tjInitCompress()
	if handle == nil {
		return nil, errors.New("starting libjpeg-turbo: out of memory")
	}
	defer C.tjDestroy(handle)
	file := make([]byte, C.tjBufSize(C.int(width), C.int(height), subsampling))
	d := Decoder{}
	n := C.encode(handle, (*C.uchar)(unsafe.SliceData(pixels)), C.int(width), C.int(height), format, (*C.uchar)(unsafe.SliceData(file)),
		C.ulong(len(file)), subsampling, C.int(quality), &d.out)
	if d.out.failed != 0 {
		return nil, fmt.Errorf("encoding JPEG: %w", d.reason())
	}
	return file[:n], nil
}
