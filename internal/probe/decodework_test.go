package probe

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// decodeHere does the work in this process.
func decodeHere(t *testing.T, ctx context.Context, w *state, q decode) decoded {
	t.Helper()
	return must.Get(decodePictures(ctx, w, q))(t)
}

// mixedPictures is Pillow's gray, color and inks as JPEG, one of them cut, with a PNG among them.
func mixedPictures(t *testing.T) (w *state, cut int) {
	t.Helper()
	dir := t.TempDir()
	must.Python(t, "../../testdata/datasets/make_pictures.py", dir)
	var paths []string
	for _, name := range []string{"photo_420.jpg", "gray.jpg", "rgb.png", "photo_444.jpg", "cmyk.jpg", "gray.jpg"} {
		paths = append(paths, filepath.Join(dir, name))
	}
	s := sampleOf(t, dataset.Source{Kind: dataset.Image, Format: "jpeg"}, paths...)
	cut = 3
	half := s.Items[cut].Bytes / 2
	damage(t, s, cut, int(half))
	s.Items[cut].Bytes, s.Files[cut].Bytes = half, half
	return newState(s, dataset.Source.Open), cut
}

// Decoded together or one a call: the same pictures are counted and the same one is named, once, for the same reason.
func TestDecodeTogetherAsAlone(t *testing.T) {
	w, cut := mixedPictures(t)
	path := w.Sample.Files[cut].Path
	content := must.Get(os.ReadFile(string(path)))(t)
	_, library, err := w.decoder.Decode(content)
	want := dataset.Failed(cut, err, path)
	for name, most := range map[string]float64{"one": 1, "all": mostPiled, "not known": 0} {
		w.pile.most = most
		out := decodeHere(t, t.Context(), w, decode{Items: []int{0, 1, 2, 3, 4, 5},
			Seconds: (10 * time.Minute).Seconds()})
		if len(out.Failures) != 1 || out.Failures[0] != want {
			t.Errorf("%s: %+v, want %+v", name, out.Failures, want)
		}
		counts := map[string]int{}
		for _, k := range out.Kinds {
			counts[k.Format+" by "+k.Library] += k.Items
			if k.Seconds <= 0 {
				t.Errorf("%s: %+v", name, k)
			}
		}
		jpegs, pngs := counts["jpeg by "+library], counts["png by go/png"]
		if len(counts) != 2 || pngs < 1 || jpegs != 4*pngs {
			t.Errorf("%s: %v", name, counts)
		}
		if out.Next != 0 || len(w.pile.at) > 0 {
			t.Errorf("%s: next is %d, %d left", name, out.Next, len(w.pile.at))
		}
	}
}

// When the time is over or the work cancelled, one call is still made; the next round begins with what is left.
func TestDecodeEndsWithOneCall(t *testing.T) {
	w, _ := mixedPictures(t)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		seconds float64
	}{"no time": {t.Context(), 0}, "cancelled": {ended, 60}} {
		out := decodeHere(t, c.ctx, w, decode{Items: []int{0, 1, 2}, From: 1, Seconds: c.seconds})
		if len(out.Kinds) != 1 || out.Kinds[0].Items != 1 || out.Next != 2 {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestPileKeepsWhatIsLeft(t *testing.T) {
	var p pile
	files := [][]byte{[]byte("one"), []byte("three"), []byte("seven")}
	for i, f := range files {
		p.add(f, i)
	}
	p.drop(1)
	p.add(files[0], 3)
	for i, want := range [][]byte{files[1], files[2], files[0]} {
		if got := p.files[p.spans[i].From:p.spans[i].To]; !bytes.Equal(got, want) || p.at[i] != 1+i {
			t.Errorf("%d: %q at %d, want %q", i, got, p.at[i], want)
		}
	}
	if p.drop(3); len(p.files)+len(p.spans)+len(p.at) > 0 {
		t.Errorf("%+v", p)
	}
}
