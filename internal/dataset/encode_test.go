package dataset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPlain(t *testing.T) {
	for _, tc := range []struct {
		name           string
		channels, bits int
		in, want       []byte
	}{
		{"gray", 1, 8, []byte{1, 2}, []byte{1, 2}},
		{"RGB", 3, 8, []byte{1, 2, 3, 4, 5, 6}, []byte{1, 2, 3, 4, 5, 6}},
		{"gray and alpha", 2, 8, []byte{1, 255, 2, 0}, []byte{1, 2}},
		{"RGBA", 4, 8, []byte{1, 2, 3, 255, 4, 5, 6, 0}, []byte{1, 2, 3, 4, 5, 6}},
		{"16-bit gray, little-endian", 1, 16, []byte{0xcd, 0xab, 0x34, 0x12}, []byte{0xab, 0x12}},
	} {
		got := Pixels{Width: 2, Height: 1, Channels: tc.channels, Bits: tc.bits, Bytes: tc.in}.plain()
		if diff := cmp.Diff(tc.want, got.Bytes); diff != "" || got.Bits != 8 || got.Channels != len(tc.want)/2 {
			t.Errorf("%s: %d channels of %d bits: %s", tc.name, got.Channels, got.Bits, diff)
		}
	}
}

func TestShrink(t *testing.T) {
	for _, tc := range []struct{ width, height, channels, side, wantWidth, wantHeight int }{
		{8, 4, 3, 2, 4, 2},
		{4, 8, 1, 2, 2, 4},
		{500, 375, 3, 256, 341, 256},
		{4, 4, 3, 8, 4, 4},
		{1, 9, 3, 1, 1, 9},
	} {
		p := Pixels{Width: tc.width, Height: tc.height, Channels: tc.channels, Bits: 8,
			Bytes: make([]byte, tc.width*tc.height*tc.channels)}
		for i := range p.Bytes {
			p.Bytes[i] = byte(50 * (1 + i%tc.channels)) // each channel of one value, which scaling keeps
		}
		got := p.Shrink(tc.side)
		if got.Width != tc.wantWidth || got.Height != tc.wantHeight ||
			len(got.Bytes) != got.Width*got.Height*tc.channels {
			t.Errorf("%d x %d shrunk to %d: %d x %d, %d bytes", tc.width, tc.height, tc.side, got.Width, got.Height,
				len(got.Bytes))
		}
		for i, b := range got.Bytes {
			if b != byte(50*(1+i%tc.channels)) {
				t.Fatalf("%d x %d shrunk to %d: byte %d is %d", tc.width, tc.height, tc.side, i, b)
			}
		}
		if _, err := EncodeJPEG(got, 90); err != nil {
			t.Error(err)
		}
	}
}
