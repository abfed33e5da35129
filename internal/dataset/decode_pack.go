package dataset

import (
	"fmt"
	"image"
	"image/color"
)

// room is a buffer for pixels of a picture.
func (d *Decoder) room(bounds image.Rectangle, channels, bits int) Pixels {
	p := Pixels{Width: bounds.Dx(), Height: bounds.Dy(), Channels: channels, Bits: bits}
	size := p.Width * p.Height * channels * bits / 8
	if cap(d.buf) < size {
		d.buf = make([]byte, size)
	}
	p.Bytes = d.buf[:size]
	return p
}

// pack lays a picture of Go's out without gaps, in as many channels as asked for; 0 is as many as the picture's type
// has. What is alike already is not copied.
func (d *Decoder) pack(picture image.Image, channels int) (Pixels, error) {
	switch p := picture.(type) {
	case *image.Gray:
		return d.keep(p.Pix, p.Stride, p.Rect, 1), nil
	case *image.NRGBA:
		if channels == 0 || channels == 4 {
			return d.keep(p.Pix, p.Stride, p.Rect, 4), nil
		}
		return d.pick(p.Pix, p.Stride, p.Rect, 1, channels), nil
	case *image.RGBA:
		if channels == 4 {
			return d.divide(p.Pix, p.Stride, p.Rect, 1), nil
		}
		return d.pick(p.Pix, p.Stride, p.Rect, 1, 3), nil
	case *image.NRGBA64:
		if channels == 0 {
			channels = 4
		}
		return d.pick(p.Pix, p.Stride, p.Rect, 2, channels), nil
	case *image.RGBA64:
		if channels == 4 {
			return d.divide(p.Pix, p.Stride, p.Rect, 2), nil
		}
		return d.pick(p.Pix, p.Stride, p.Rect, 2, 3), nil
	case *image.Paletted:
		return d.applyPalette(p, channels), nil
	}
	return Pixels{}, fmt.Errorf("pixels of type %T are not laid out", picture)
}

// keep takes pixels over as they are, or closes the gaps between their rows.
func (d *Decoder) keep(pix []byte, stride int, bounds image.Rectangle, channels int) Pixels {
	if row := bounds.Dx() * channels; stride == row {
		return Pixels{Width: bounds.Dx(), Height: bounds.Dy(), Channels: channels, Bits: 8,
			Bytes: pix[:row*bounds.Dy()]}
	}
	out := d.room(bounds, channels, 8)
	for y := range out.Height {
		copy(out.Bytes[y*out.Width*channels:][:out.Width*channels], pix[y*stride:])
	}
	return out
}

// picks is which of red, green, blue and alpha the channels are.
var picks = [5][]int{1: {0}, 2: {0, 3}, 3: {0, 1, 2}, 4: {0, 1, 2, 3}}

// pick takes some of four samples of every pixel, of wide ones the high byte, as Pillow does.
func (d *Decoder) pick(pix []byte, stride int, bounds image.Rectangle, sampleBytes, channels int) Pixels {
	out := d.room(bounds, channels, 8)
	to := out.Bytes
	for y := range out.Height {
		row := pix[y*stride:][:out.Width*4*sampleBytes]
		if channels == 3 && sampleBytes == 1 { // most pictures
			for ; len(row) >= 4 && len(to) >= 3; row, to = row[4:], to[3:] {
				to[0], to[1], to[2] = row[0], row[1], row[2]
			}
			continue
		}
		for ; len(row) > 0; row = row[4*sampleBytes:] {
			for i, from := range picks[channels] {
				to[i] = row[from*sampleBytes]
			}
			to = to[channels:]
		}
	}
	return out
}

// divide takes multiplied alpha out as Pillow does, rounding down, of wide samples from their high bytes.
func (d *Decoder) divide(pix []byte, stride int, bounds image.Rectangle, sampleBytes int) Pixels {
	out := d.pick(pix, stride, bounds, sampleBytes, 4)
	for to := out.Bytes; len(to) > 0; to = to[4:] {
		if alpha := int(to[3]); alpha != 0 && alpha != 255 {
			for i := range 3 {
				to[i] = byte(min(255, 255*int(to[i])/alpha))
			}
		}
	}
	return out
}

// applyPalette looks a palette's colors up. 0 channels are four where a color is transparent, else three. An index that
// the palette lacks is black; Pillow has the gray of that number.
func (d *Decoder) applyPalette(p *image.Paletted, channels int) Pixels {
	var colors [256][4]byte // alpha not multiplied in
	transparent := false
	for i := range colors {
		c := color.NRGBA{A: 255}
		if i < len(p.Palette) {
			c = color.NRGBAModel.Convert(p.Palette[i]).(color.NRGBA)
		}
		colors[i] = [4]byte{c.R, c.G, c.B, c.A}
		transparent = transparent || c.A != 255
	}
	if channels == 0 {
		channels = 3
		if transparent {
			channels = 4
		}
	}
	out := d.room(p.Rect, channels, 8)
	to := out.Bytes
	for y := range out.Height {
		for _, index := range p.Pix[y*p.Stride:][:out.Width] {
			copy(to[:channels], colors[index][:])
			to = to[channels:]
		}
	}
	return out
}

// grayRamp reports whether a palette is grays rising in steps from black, as in formats without gray.
func grayRamp(p color.Palette, step int) bool {
	for i, c := range p {
		want := uint32(i * step)
		if r, g, b, _ := c.RGBA(); r>>8 != want || g>>8 != want || b>>8 != want {
			return false
		}
	}
	return true
}

// wide delivers 16-bit gray, from Go's big-endian samples.
func (d *Decoder) wide(picture image.Image) (Pixels, error) {
	pix, stride, step := []byte(nil), 0, 2
	switch p := picture.(type) {
	case *image.Gray16:
		pix, stride = p.Pix, p.Stride
	case *image.NRGBA64: // with a gray that stands for transparency
		pix, stride, step = p.Pix, p.Stride, 8
	default:
		return Pixels{}, fmt.Errorf("16-bit gray of type %T is not laid out", picture)
	}
	out := d.room(picture.Bounds(), 1, 16)
	to := out.Bytes
	for y := range out.Height {
		for row := pix[y*stride:][:out.Width*step]; len(row) > 0; row = row[step:] {
			to[0], to[1] = row[1], row[0]
			to = to[2:]
		}
	}
	return out, nil
}
