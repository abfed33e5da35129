package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

func TestSurveyImageTree(t *testing.T) {
	dir := t.TempDir()
	jpeg := picture(t, "jpeg", 40, 30)
	for class := range 10 {
		for i := range 30 {
			write(t, filepath.Join(dir, fmt.Sprintf("class_%02d", class), fmt.Sprintf("%03d.JPG", i)), jpeg)
		}
	}
	write(t, filepath.Join(dir, "class_00", "empty.jpg"), nil)
	write(t, filepath.Join(dir, "class_01", "text.jpg"), []byte("no picture"))
	write(t, filepath.Join(dir, "class_02", "annotations.json"), []byte("{}"))
	must.Do(t, os.Symlink("class_00", filepath.Join(dir, "again")))
	got := must.Get(surveyed(t, dir, SurveyOptions{}))(t)
	check(t, got)
	if got.Kind != Image || got.Format != "jpeg" || got.Files != 302 || !got.FilesExact || got.Others != 1 ||
		got.Folders != 10 || got.Links != 1 {
		t.Errorf("%+v", got)
	}
	if want := int64(300*len(jpeg) + len("no picture")); got.Bytes != want {
		t.Errorf("%d bytes, want %d", got.Bytes, want)
	}
	if got.Items == nil || *got.Items != 302 || got.ItemBytes != nil {
		t.Errorf("%v items of %v bytes", got.Items, got.ItemBytes)
	}
	if got.LargestDir != 31 {
		t.Errorf("the fullest folder has %d files", got.LargestDir)
	}
	reasons := map[string]string{}
	for _, u := range got.Unread {
		reasons[u.Reason] = filepath.Base(string(u.Example))
	}
	// Up to 256 of the files drawn are held against their first bytes: the text may not be among them.
	delete(reasons, "its first bytes are not those of the kind image")
	if diff := cmp.Diff(map[string]string{reasonEmpty: "empty.jpg"}, reasons); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
	few, err := surveyed(t, dir, SurveyOptions{MaxFiles: 20, Seed: 5})
	if err != nil || len(few.Sample.Files) > 20 || len(few.Sample.Files) < 18 || few.Files != 302 {
		t.Fatalf("%d files, %v", len(few.Sample.Files), err)
	}
	check(t, few)
	same, _ := surveyed(t, dir, SurveyOptions{MaxFiles: 20, Seed: 5})
	other, _ := surveyed(t, dir, SurveyOptions{MaxFiles: 20, Seed: 6})
	if !cmp.Equal(few.Sample, same.Sample) || cmp.Equal(few.Sample, other.Sample) {
		t.Error("the seed alone should decide the sample")
	}
}

// A name is a promise; the first bytes keep it or not.
func TestSurveyTrustsBytes(t *testing.T) {
	dir := t.TempDir()
	for i := range 20 {
		write(t, filepath.Join(dir, "hashed", fmt.Sprintf("%040d", i)), picture(t, "png", 8, 8)) // no ending at all
		write(t, filepath.Join(dir, "renamed", fmt.Sprintf("%d.jpg", i)), picture(t, "png", 8, 8))
		write(t, filepath.Join(dir, "text", fmt.Sprintf("%d.jpg", i)), []byte("no picture"))
	}
	for name, want := range map[string]struct {
		kind   Kind
		format string
	}{"hashed": {Image, "png"}, "renamed": {Image, "png"}, "text": {Other, ""}} {
		got, err := surveyed(t, filepath.Join(dir, name), SurveyOptions{})
		if err != nil || got.Kind != want.kind || got.Format != want.format || len(got.Sample.Items) != 20 {
			t.Errorf("%s: %s %q, %d items, %v", name, got.Kind, got.Format, len(got.Sample.Items), err)
		}
		check(t, got)
	}
}

func TestSurveyChoosesAKind(t *testing.T) {
	dir := t.TempDir()
	for i := range 10 {
		write(t, filepath.Join(dir, "captions", fmt.Sprintf("%d.png", i)), picture(t, "png", 200, 200))
		write(t, filepath.Join(dir, "captions", fmt.Sprintf("%d.txt", i)), []byte("a dog"))
		write(t, filepath.Join(dir, "captions", fmt.Sprintf("%d.json", i)), []byte("{}"))
		write(t, filepath.Join(dir, "logs", fmt.Sprintf("%d.log", i)), []byte("a line"))
		write(t, filepath.Join(dir, "previews", fmt.Sprintf("%d.pt", i)), make([]byte, 10_000))
	}
	copyOf(t, "layouts.h5", filepath.Join(dir, "logs", "data.h5"))
	write(t, filepath.Join(dir, "previews", "one.png"), picture(t, "png", 8, 8))
	copyOf(t, "layouts.h5", filepath.Join(dir, "shown", "data.h5"))
	write(t, filepath.Join(dir, "shown", "one.png"), picture(t, "png", 8, 8))
	write(t, filepath.Join(dir, "shown", "two.png"), picture(t, "png", 8, 8))
	for name, want := range map[string]struct {
		kind          Kind
		files, others int64
	}{"captions": {Image, 10, 20}, "logs": {HDF5, 1, 10}, "previews": {Other, 10, 1}, "shown": {HDF5, 1, 2}} {
		got, err := surveyed(t, filepath.Join(dir, name), SurveyOptions{})
		if err != nil || got.Kind != want.kind || got.Files != want.files || got.Others != want.others {
			t.Errorf("%s: %d files of kind %s, %d others, %v; want %+v", name, got.Files, got.Kind, got.Others, err,
				want)
		}
	}
}

// The survey says whether each item's file must be opened for it.
func TestSurveySaysWhatOpensEach(t *testing.T) {
	for blocks, want := range map[int]bool{1: true, 3: false} {
		dir := t.TempDir()
		for _, name := range []string{"a.bin", "b.bin"} {
			must.Do(t, os.WriteFile(filepath.Join(dir, name), make([]byte, blocks*4096), 0o600))
		}
		if r := must.Get(Survey(dir, SurveyOptions{BlockBytes: 4096}))(t); r.Sample.OpensEach != want {
			t.Errorf("%d blocks in a file: opens each %v", blocks, r.Sample.OpensEach)
		}
	}
}

func TestSurveyRawBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tfrecord")
	write(t, path, make([]byte, 1000))
	got, err := surveyed(t, path, SurveyOptions{BlockBytes: 300})
	if err != nil || got.Kind != Other || got.Format != "tfrecord" || *got.Items != 4 || *got.ItemBytes != 300 ||
		got.Part == nil || got.Part.Noun != "block" || got.Sample.BlockBytes != 300 {
		t.Errorf("%+v, %v", got, err)
	}
	check(t, got)
}

func TestSurveyStopsInTime(t *testing.T) {
	dir := t.TempDir()
	for _, folder := range []string{"a", "b", "c"} {
		many(t, filepath.Join(dir, folder), 1000, string(picture(t, "png", 1, 1)), ".png")
	}
	var at time.Duration // each look at the clock takes a second
	s := &surveyor{path: dir, o: SurveyOptions{Limit: 10 * time.Second}.withDefaults(),
		now: func() time.Time { at += time.Second; return time.Unix(0, 0).Add(at) }}
	got, err := s.run()
	if err != nil || got.FilesExact || got.Items != nil || got.Files < 100 || got.Files >= 3000 ||
		len(got.Sample.Items) == 0 {
		t.Errorf("%d files, exact %v, %v items, %d drawn, %v", got.Files, got.FilesExact, got.Items,
			len(got.Sample.Items), err)
	}
}
