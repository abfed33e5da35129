package rewrite

import (
	"bytes"
	"image"
	"path/filepath"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestRewriters holds what is written against what was read.
func TestRewriters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "train")
	pngs(t, dir, image.Pt(300, 280), image.Pt(300, 280), image.Pt(300, 280))
	sample, _ := surveyed(t, dir)
	for _, how := range []string{"copy", "tar", "npy", "jpeg", "resize"} {
		w := newWriter(t.Context(), sample, plan{Into: []byte(t.TempDir()), How: how, Items: []int{0, 1, 2},
			Bytes: 1 << 40, Decode: how != "copy" && how != "tar"})
		out, err := w.write()
		if err != nil || len(out.Items) != 3 || len(out.Sample.Items) != 3 || out.Stored == 0 {
			t.Errorf("%s: %+v, %v", how, out, err)
			continue
		}
		anew := newWriter(t.Context(), out.Sample, plan{})
		for i := range out.Items {
			got, was := must.Get(anew.Read(out.Sample.Items[i]))(t), must.Get(w.Read(sample.Items[i]))(t)
			pixels, _, err := w.decoder.Decode(was)
			must.Do(t, err)
			switch how {
			case "copy", "tar":
				if !bytes.Equal(got, was) {
					t.Errorf("%s: picture %d is not the original", how, i)
				}
			case "npy":
				if !bytes.Equal(got, pixels.Bytes) {
					t.Errorf("%s: picture %d has other pixels", how, i)
				}
			default:
				p, library, err := anew.decoder.Decode(got)
				wide := map[string]int{"jpeg": 300, "resize": 274}[how]
				if err != nil || library != "libjpeg-turbo" || p.Width != wide {
					t.Errorf("%s: picture %d: %d x %d by %s, %v", how, i, p.Width, p.Height, library, err)
				}
			}
		}
		anew.Forget()
	}
}
