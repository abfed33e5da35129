package dataset

import (
	"image"
	"math"

	"golang.org/x/image/draw"

	"github.com/pipetune/pipetune/internal/jpeg"
)

// EncodeJPEG makes a gray or RGB JPEG as Pillow does at this quality, 1 to 100; of 16 bits it takes the upper 8.
func EncodeJPEG(p Pixels, quality int) ([]byte, error) {
	p = p.plain()
	return jpeg.Encode(p.Bytes, p.Width, p.Height, p.Channels, quality)
}

// plain is the picture in 8-bit gray or RGB, as JPEG has them: alpha is dropped, of 16 bits the upper 8 are kept.
func (p Pixels) plain() Pixels {
	channels, step := 1, p.Channels*p.Bits/8
	if p.Channels >= 3 {
		channels = 3
	}
	if p.Bits == 8 && channels == p.Channels {
		return p
	}
	out := Pixels{Width: p.Width, Height: p.Height, Channels: channels, Bits: 8,
		Bytes: make([]byte, p.Width*p.Height*channels)}
	for i := range p.Width * p.Height {
		for c := range channels {
			out.Bytes[i*channels+c] = p.Bytes[i*step+c*p.Bits/8+p.Bits/8-1] // little-endian: the last byte is the upper
		}
	}
	return out
}

// Shrink scales the picture, bilinear and without gaps, so that its shorter side has so many pixels; a smaller one
// stays as large as it is. What comes out is 8-bit gray or RGB.
func (p Pixels) Shrink(side int) Pixels {
	p = p.plain()
	scale := float64(side) / float64(min(p.Width, p.Height))
	if scale >= 1 {
		return p
	}
	width, height := int(math.Round(scale*float64(p.Width))), int(math.Round(scale*float64(p.Height)))
	from := image.NewRGBA(image.Rect(0, 0, p.Width, p.Height))
	for i := range p.Width * p.Height {
		for c := range 3 {
			from.Pix[i*4+c] = p.Bytes[i*p.Channels+min(c, p.Channels-1)]
		}
		from.Pix[i*4+3] = 255
	}
	to := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.BiLinear.Scale(to, to.Bounds(), from, from.Bounds(), draw.Src, nil)
	out := Pixels{Width: width, Height: height, Channels: p.Channels, Bits: 8,
		Bytes: make([]byte, width*height*p.Channels)}
	for i := range width * height {
		copy(out.Bytes[i*p.Channels:(i+1)*p.Channels], to.Pix[i*4:])
	}
	return out
}
