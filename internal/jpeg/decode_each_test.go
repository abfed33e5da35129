package jpeg

import (
	"bytes"
	"errors"
	"testing"
	"time"
)

// pack lays files one behind the other.
func pack(files ...[]byte) (all []byte, at []Span) {
	for _, f := range files {
		at = append(at, Span{len(all), len(all) + len(f)})
		all = append(all, f...)
	}
	return all, at
}

// Of every picture that Pillow made or damaged, as the last of several of other sizes and colors: the same pixels, the
// same error.
func TestDecodeEachAsDecode(t *testing.T) {
	dir, pictures := pillow(t)
	before := [][]byte{read(t, dir, "photo_420.jpg"), read(t, dir, "cmyk.jpg"), read(t, dir, "gray.jpg")}
	single, several := decoder(t), decoder(t)
	var want, got []byte
	for _, p := range pictures {
		data := read(t, dir, p.File)
		width, height, channels, wantErr := single.Decode(data, &want)
		files, at := pack(append(before[:len(before):len(before)], data)...)
		took := make([]time.Duration, len(at))
		done, err := several.DecodeEach(files, at, took, &got, time.Hour)
		switch {
		case wantErr != nil && (done != len(before) || err == nil || err.Error() != wantErr.Error()):
			t.Errorf("%s: %v after %d; alone %v", p.File, err, done, wantErr)
		case wantErr == nil && (done != len(at) || err != nil):
			t.Errorf("%s: %v after %d; it decodes alone", p.File, err, done)
		case wantErr == nil && !bytes.Equal(got[:width*height*channels], want):
			t.Errorf("%s: other pixels than alone", p.File)
		}
		for i, d := range took {
			if decoded := i < done; decoded != (d > 0) {
				t.Errorf("%s: picture %d of %d that were decoded took %v", p.File, i, done, d)
			}
		}
	}
}

// Damage in the middle, among gray, color and inks: each of them stops the decoding where it is, and the rest can be
// decoded after it.
func TestDecodeEachStopsAtDamage(t *testing.T) {
	dir, _ := pillow(t)
	color, inks, plain := read(t, dir, "photo_444.jpg"), read(t, dir, "cmyk.jpg"), read(t, dir, "gray.jpg")
	for name, c := range map[string]struct {
		bad []byte
		is  error // nil: any
	}{
		"no picture":     {[]byte("not a picture"), nil},
		"nothing":        {nil, nil},
		"cut":            {color[:len(color)/2], ErrTruncated},
		"too large":      {sized(color, 65500, 65500), ErrTooLarge},
		"a header alone": {color[:bytes.Index(color, []byte{0xff, 0xda})], nil},
	} {
		files, at := pack(plain, color, inks, c.bad, inks, plain)
		d, into, took := decoder(t), []byte(nil), make([]time.Duration, len(at))
		done, err := d.DecodeEach(files, at, took, &into, time.Hour)
		if done != 3 || err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v after %d", name, err, done)
		}
		if largest := 117 * 83 * 4; cap(into) > 2*largest {
			t.Errorf("%s: a buffer of %d bytes, where %d are needed", name, cap(into), largest)
		}
		if done, err := d.DecodeEach(files, at[4:], took, &into, time.Hour); done != 2 || err != nil ||
			!bytes.Equal(into[:117*83], read(t, dir, "gray.jpg.raw")) {
			t.Errorf("%s: after it %d, %v", name, done, err)
		}
	}
}

// Damage that is passed over ends a call of C, not the decoding.
func TestDecodeEachPassesOver(t *testing.T) {
	dir, pictures := pillow(t)
	d, into, odd := decoder(t), []byte(nil), 0
	plain := read(t, dir, "gray.jpg")
	for _, p := range pictures {
		data := read(t, dir, p.File)
		if _, _, _, err := d.Decode(data, &into); err != nil || d.out.failed == 0 {
			continue
		}
		odd++
		files, at := pack(plain, data, data, plain)
		if done, err := d.DecodeEach(files, at, make([]time.Duration, 4), &into, time.Hour); done != 4 || err != nil {
			t.Errorf("%s: %d, %v", p.File, done, err)
		}
	}
	if odd == 0 {
		t.Error("no picture was decoded with a warning")
	}
}

func TestDecodeEachEndsInTime(t *testing.T) {
	files, at := pack(gray(t), gray(t), gray(t), []byte("not a picture"))
	d, into, took := decoder(t), []byte(nil), make([]time.Duration, len(at))
	for _, c := range []struct {
		longest time.Duration
		done    int
	}{{0, 1}, {1, 1}, {time.Hour, 3}} {
		done, err := d.DecodeEach(files, at, took, &into, c.longest)
		if early := c.done < 3; done != c.done || early != (err == nil) {
			t.Errorf("within %v: %d, %v", c.longest, done, err)
		}
	}
	if done, err := d.DecodeEach(nil, nil, nil, &into, time.Hour); done != 0 || err != nil {
		t.Errorf("of nothing: %d, %v", done, err)
	}
}

func TestDecodingSeveralDoesNotAllocate(t *testing.T) {
	files, at := pack(gray(t), gray(t), gray(t))
	d, into, took := decoder(t), make([]byte, 64), make([]time.Duration, len(at))
	allocations := testing.AllocsPerRun(100, func() {
		if done, err := d.DecodeEach(files, at, took, &into, time.Hour); done != 3 || err != nil {
			t.Fatal(done, err)
		}
	})
	if allocations != 0 {
		t.Errorf("%g allocations a call", allocations)
	}
}
