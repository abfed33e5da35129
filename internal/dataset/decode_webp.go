package dataset

import (
	"fmt"
	"image"
)

// layWebP makes what libwebp's own decoder makes of the file, bit by bit: x/image/webp leaves a lossy picture as
// VP8 has it, and turning that into RGB is done here as libwebp does, which is not what Go's color.YCbCr does.
func (d *Decoder) layWebP(picture image.Image, data []byte) (Pixels, error) {
	switch p := picture.(type) {
	case *image.NRGBA: // lossless
		if webpAlpha(data) {
			return d.pack(p, 4)
		}
		return d.pack(p, 3)
	case *image.YCbCr:
		out := d.room(p.Rect, 3, 8)
		fromVP8(out, p)
		return out, nil
	case *image.NYCbCrA:
		out := d.room(p.Rect, 4, 8)
		fromVP8(out, &p.YCbCr)
		for y := range out.Height {
			row := out.Bytes[y*out.Width*4:]
			for x, alpha := range p.A[y*p.AStride:][:out.Width] {
				row[x*4+3] = alpha
			}
		}
		return out, nil
	}
	return Pixels{}, fmt.Errorf("pixels of type %T are not laid out", picture)
}

// webpAlpha reports whether a lossless picture has alpha (WebP Container Specification; WebP Lossless Bitstream
// Specification, section 3). It was decoded before, so that its header is whole.
func webpAlpha(data []byte) bool {
	switch string(data[12:16]) {
	case "VP8X":
		return data[20]&0x10 != 0
	case "VP8L":
		return data[24]&0x10 != 0
	}
	return false
}

// fromVP8 turns a picture with its color at half the resolution into RGB, in pixels of three or four channels.
func fromVP8(out Pixels, p *image.YCbCr) {
	rows := (out.Height + 1) / 2
	for y := range out.Height {
		near := y / 2
		far := min(max(near-1+2*(y%2), 0), rows-1) // the row of colors on the other side
		vp8Row(out.Bytes[y*out.Width*out.Channels:], out.Channels, p.Y[y*p.YStride:][:out.Width],
			p.Cb[near*p.CStride:], p.Cr[near*p.CStride:], p.Cb[far*p.CStride:], p.Cr[far*p.CStride:])
	}
}

// vp8Row brings a row's colors to full resolution: the nearest of four weighs 9/16, its neighbours 3/16 each, the last
// 1/16, rounded in the steps of libwebp's upsampling (src/dsp/upsampling.c).
func vp8Row(to []byte, channels int, light, nearU, nearV, farU, farV []byte) {
	u, v := int(nearU[0]), int(nearV[0])
	otherU, otherV := int(farU[0]), int(farV[0])
	vp8Pixel(to, light[0], (3*u+otherU+2)>>2, (3*v+otherV+2)>>2)
	last := len(light) - 1
	for x := 1; x <= last/2; x++ {
		nextU, nextV := int(nearU[x]), int(nearV[x])
		acrossU, acrossV := int(farU[x]), int(farV[x])
		at := (2*x - 1) * channels
		vp8Pixel(to[at:], light[2*x-1], (u+(u+3*nextU+3*otherU+acrossU+8)>>3)>>1,
			(v+(v+3*nextV+3*otherV+acrossV+8)>>3)>>1)
		vp8Pixel(to[at+channels:], light[2*x], (nextU+(nextU+3*u+3*acrossU+otherU+8)>>3)>>1,
			(nextV+(nextV+3*v+3*acrossV+otherV+8)>>3)>>1)
		u, v, otherU, otherV = nextU, nextV, acrossU, acrossV
	}
	if last%2 == 1 {
		vp8Pixel(to[last*channels:], light[last], (3*u+otherU+2)>>2, (3*v+otherV+2)>>2)
	}
}

// vp8Pixel is libwebp's conversion (src/dsp/yuv.h): ITU-R BT.601 with brightness from 16 to 235.
func vp8Pixel(to []byte, light byte, u, v int) {
	y := int(light) * 19077 >> 8
	to[0] = vp8Clip(y + v*26149>>8 - 14234)
	to[1] = vp8Clip(y - u*6419>>8 - v*13320>>8 + 8708)
	to[2] = vp8Clip(y + u*33050>>8 - 17685)
}

// vp8Clip takes the six bits of fraction off.
func vp8Clip(x int) byte { return byte(min(max(x>>6, 0), 255)) }
