package probe

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// somePictures writes so many JPEG and PNG pictures and returns their sample.
func somePictures(t *testing.T, count int) dataset.Sample {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i := range count {
		paths = append(paths, writePicture(t, filepath.Join(dir, fmt.Sprintf("%d.jpg", i)), 64, 48),
			writePicture(t, filepath.Join(dir, fmt.Sprintf("%d.png", i)), 64, 48))
	}
	return sampleOf(t, dataset.Source{Kind: dataset.Image, Format: "jpeg"}, paths...)
}

// damage cuts the file of an item.
func damage(t *testing.T, sample dataset.Sample, item int, keep int) string {
	t.Helper()
	path := string(sample.Files[sample.Items[item].File].Path)
	content := must.Get(os.ReadFile(path))(t)
	must.Do(t, os.WriteFile(path, content[:keep], 0o644))
	return path
}

func TestDecodeByFormat(t *testing.T) {
	r := measured(t, somePictures(t, 8), Options{Budget: time.Second, Seed: 1}, report.ProbeDecode)
	jpeg := find(t, r, report.ProbeDecode, metric.DecodeTime, "decoder=libjpeg-turbo", "format=jpeg")
	png := find(t, r, report.ProbeDecode, metric.DecodeTime, "decoder=go/png", "format=png")
	if jpeg.Center <= 0 || png.Center <= 0 || jpeg.N < 1 || png.N < 1 {
		t.Errorf("jpeg %+v, png %+v", jpeg, png)
	}
	if len(r.Unread)+len(r.Warnings) > 0 {
		t.Errorf("unread %+v, warnings %q", r.Unread, r.Warnings)
	}
}

// A damaged picture and one too large to be decoded are both named, and the rest is measured.
func TestDecodeGoesOnWithoutBadPictures(t *testing.T) {
	sample := somePictures(t, 8)
	cut := damage(t, sample, 0, 300)
	path := string(sample.Files[2].Path)
	content := must.Get(os.ReadFile(path))(t)
	frame := bytes.Index(content, []byte{0xff, 0xc0}) // height and width are five bytes on
	copy(content[frame+5:], []byte{0xff, 0xdc, 0xff, 0xdc})
	must.Do(t, os.WriteFile(path, content, 0o644))
	r := measured(t, sample, Options{Budget: time.Second, Seed: 1}, report.ProbeDecode)
	find(t, r, report.ProbeDecode, metric.DecodeTime, "decoder=libjpeg-turbo", "format=jpeg")
	counts := map[string]int64{}
	for _, u := range r.Unread {
		counts[u.Example] += u.Count
	}
	if len(r.Unread) != 2 || counts[cut] != 1 || counts[path] != 1 {
		t.Errorf("unread %+v, want %s and %s", r.Unread, cut, path)
	}
	for _, u := range r.Unread {
		if u.Example == path && !strings.HasPrefix(u.Reason, string(dataset.Oversize)) {
			t.Errorf("%s is unread for %q", path, u.Reason)
		}
	}
}

func TestDecodeOfNothingReadable(t *testing.T) {
	sample := somePictures(t, 1)
	for i := range sample.Items {
		damage(t, sample, i, 40)
	}
	s := testSession(t, sample, Options{Budget: time.Second})
	if err := decodeItems(t.Context(), s); err == nil || len(s.result.Rows.Measurements()) > 0 {
		t.Errorf("decoded what is damaged: %v, %+v", err, s.result.Rows.Measurements())
	}
}

// A decoder that dies ends a worker process, and one file is to blame.
func TestDecodeSurvivesACrash(t *testing.T) {
	sample := somePictures(t, 4)
	path := filepath.Join(filepath.Dir(string(sample.Files[2].Path)), "crash.jpg")
	must.Do(t, os.Rename(string(sample.Files[2].Path), path))
	sample.Files[2].Path = []byte(path)
	r := measured(t, sample, Options{Budget: time.Second, Seed: 1}, report.ProbeDecode)
	find(t, r, report.ProbeDecode, metric.DecodeTime, "decoder=libjpeg-turbo", "format=jpeg")
	onlyUnread(t, r, path, string(dataset.Crashed))
}

// What an archive holds beside pictures is no fault of it.
func TestDecodeOfAnArchive(t *testing.T) {
	pics := somePictures(t, 2)
	var all []byte
	sample := dataset.Sample{Source: dataset.Source{Kind: dataset.Tar}}
	for i, f := range pics.Files {
		content := must.Get(os.ReadFile(string(f.Path)))(t)
		for _, member := range [][]byte{content, fmt.Appendf(nil, `{"label": %d}`, i)} {
			sample.Items = append(sample.Items, dataset.Ref{At: int64(len(all)), Bytes: int64(len(member))})
			all = append(all, member...)
		}
	}
	path := filepath.Join(t.TempDir(), "shard.tar")
	must.Do(t, os.WriteFile(path, all, 0o644))
	sample.Files = []dataset.File{{Path: []byte(path), Bytes: int64(len(all))}}
	r := measured(t, sample, Options{Budget: time.Second, Seed: 1}, report.ProbeDecode)
	find(t, r, report.ProbeDecode, metric.DecodeTime, "decoder=libjpeg-turbo", "format=jpeg")
	find(t, r, report.ProbeDecode, metric.DecodeTime, "decoder=go/png", "format=png")
	if len(r.Unread) > 0 {
		t.Errorf("unread %+v", r.Unread)
	}
}

// A format that came in the warm-up alone has a figure all the same, and the format of most pictures stands first.
func TestDecodeKeepsFormatsOfTheWarmUp(t *testing.T) {
	d := decoding{first: map[pictureKind]bool{}, rounds: map[pictureKind][]round{}}
	jpeg, png := pictureKind{"jpeg", "a"}, pictureKind{"png", "b"}
	d.keep([]kindOfPicture{{Format: "jpeg", Library: "a", Items: 9, Seconds: 9}})
	d.keep([]kindOfPicture{{Format: "png", Library: "b", Items: 1, Seconds: 5}})
	d.keep([]kindOfPicture{{Format: "png", Library: "b", Items: 1, Seconds: 7}})
	if j, p := d.counted(jpeg), d.counted(png); len(j) != 1 || len(p) != 2 || d.byItems(jpeg, png) >= 0 {
		t.Errorf("jpeg %v, png %v", j, p)
	}
	d.keep([]kindOfPicture{{Format: "jpeg", Library: "a", Items: 4, Seconds: 2}})
	if j := d.counted(jpeg); len(j) != 1 || j[0].Units != 4 {
		t.Errorf("the warm-up counts: %v", j)
	}
}
