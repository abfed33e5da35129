package jpeg

// #include "turbo.h"
import "C"

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"
	"unsafe"
)

// Decode delivers a picture's pixels, row by row without gaps, in *into, which it makes longer where need be: one byte
// a pixel for gray, else three, red first. CMYK becomes RGB as by Pillow's convert("RGB"), the inks taken as inverted,
// as Adobe stores them. An orientation in the file's EXIF is not applied, as Pillow does not either. Damage that does
// not end the file early is passed over, as Pillow does.
func (d *Decoder) Decode(data []byte, into *[]byte) (width, height, channels int, err error) {
	info, err := d.Header(data)
	if err != nil {
		return 0, 0, 0, err
	}
	d.pictures = d.pictures[:0]
	makeRoom(into, d.queue(Span{0, len(data)}, info), info.Width*info.Height)
	if _, err := d.decode(data, *into, 0); err != nil {
		return 0, 0, 0, err
	}
	channels = info.Color.Channels()
	*into = (*into)[:info.Width*info.Height*channels]
	return info.Width, info.Height, channels, nil
}

// Span is where a file lies among the bytes of several: from From up to To.
type Span struct{ From, To int }

// DecodeEach decodes several pictures one after the other as Decode does, each over the one before, and keeps the last
// in *into, which may be longer than it. How long each took is put into took, which is as long as at: it is counted in
// C, without the look at the header.
//
// It stops after the picture with which they have lasted for longest together, the first at the soonest: then done is
// less than len(at) and the error nil. Or it stops before the first that Decode has an error for, which it returns. As
// many as it may are decoded in one call of C, because every such call of more than 20 µs has Go's runtime give the
// processor to others and keep a thread awake for it (sysmon in proc.go).
func (d *Decoder) DecodeEach(files []byte, at []Span, took []time.Duration, into *[]byte,
	longest time.Duration) (done int, err error) {
	d.pictures = d.pictures[:0]
	size, pixels, refused := 0, 0, error(nil)
	for _, s := range at {
		info, err := d.Header(files[s.From:s.To])
		if err != nil {
			refused = err
			break
		}
		size, pixels = max(size, d.queue(s, info)), max(pixels, info.Width*info.Height)
	}
	makeRoom(into, size, pixels)
	done, err = d.decode(files, *into, longest)
	for i := range done {
		took[i] = time.Duration(d.pictures[i].nanoseconds)
	}
	if err == nil && done == len(d.pictures) {
		err = refused
	}
	return done, err
}

// HugePixels is from how many pixels on a picture is not decoded beside what earlier ones left in memory: a third of
// what is decoded at all.
const HugePixels = 64 << 20

// makeRoom makes *into as long as a picture of so many pixels needs it. Before a huge one, what is held is given back
// to the system first: its buffer where it is too short, and what the collector has not come to yet.
func makeRoom(into *[]byte, size, pixels int) {
	short := cap(*into) < size
	if short {
		*into = nil
	}
	if pixels > HugePixels {
		debug.FreeOSMemory()
	}
	if short {
		*into = make([]byte, size)
	}
	*into = (*into)[:size]
}

// queue appends a picture to those to decode and returns the bytes that decoding it takes.
func (d *Decoder) queue(s Span, info Info) (size int) {
	format, stored := C.int(C.TJPF_RGB), info.Color.Channels()
	switch info.Color {
	case Gray:
		format = C.TJPF_GRAY
	case CMYK, YCCK:
		format, stored = C.TJPF_CMYK, 4
	}
	d.pictures = append(d.pictures, C.struct_picture{at: C.ulong(s.From), size: C.ulong(s.To - s.From),
		width: C.int(info.Width), height: C.int(info.Height), format: format})
	return info.Width * info.Height * stored
}

// decode decodes what is queued, and goes on after warnings that count for nothing.
func (d *Decoder) decode(files, into []byte, longest time.Duration) (done int, err error) {
	for left := C.longlong(longest); done < len(d.pictures) && (done == 0 || left > 0); {
		rest := d.pictures[done:]
		n := C.decode(d.turbo.handle, (*C.uchar)(unsafe.SliceData(files)), unsafe.SliceData(rest), C.long(len(rest)),
			(*C.uchar)(unsafe.SliceData(into)), left, &d.out)
		for _, p := range rest[:n] {
			left -= p.nanoseconds
		}
		done += int(n)
		last := rest[n-1]
		if err := d.verdict(files[last.at:][:last.size]); err != nil {
			return done - 1, err
		}
	}
	return done, nil
}

// verdict is what the last message means for the picture it is about.
func (d *Decoder) verdict(data []byte) error {
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
