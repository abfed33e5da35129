package dataset

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/jpeg"
)

// The same library, and the same error for the same picture, as by Decode.
func TestDecodeEach(t *testing.T) {
	dir, _ := pillow(t)
	good, large := load(t, filepath.Join(dir, "photo_420.jpg")), load(t, filepath.Join(dir, "gray.jpg"))
	for i := range large {
		if large[i] == 0xff && large[i+1] == 0xc0 {
			copy(large[i+5:], []byte{0xff, 0xdc, 0xff, 0xdc})
			break
		}
	}
	for name, bad := range map[string][]byte{"too large": large, "cut": good[:len(good)/2]} {
		var d, single Decoder
		files := append(append(append([]byte(nil), good...), bad...), good...)
		middle := len(good) + len(bad)
		at := []Span{{From: 0, To: len(good)}, {From: len(good), To: middle}, {From: middle, To: len(files)}}
		took := make([]time.Duration, len(at))
		_, wantLibrary, want := single.Decode(bad)
		done, library, err := d.DecodeEach(files, at, took, time.Hour)
		if done != 1 || took[0] <= 0 || library != wantLibrary || err == nil || err.Error() != want.Error() ||
			errors.Is(err, jpeg.ErrTooLarge) != errors.Is(want, jpeg.ErrTooLarge) {
			t.Errorf("%s: %d by %s, %v; alone by %s, %v", name, done, library, err, wantLibrary, want)
		}
		if done, _, err := d.DecodeEach(files, at[2:], took, time.Hour); done != 1 || err != nil {
			t.Errorf("after %s: %d, %v", name, done, err)
		}
	}
}
