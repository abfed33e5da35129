package dataset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/must"
)

const fixtures = "../../testdata/datasets"

// describe asks through the handler and JSON, as a child process would be asked.
func describe(t *testing.T, path string) Description {
	t.Helper()
	body := must.Get(json.Marshal(Request{Path: []byte(path)}))(t)
	value := must.Get(Handler(context.Background(), body))(t)
	raw := must.Get(json.Marshal(value))(t)
	var got Description
	must.Do(t, json.Unmarshal(raw, &got))
	return got
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, content, 0o600))
}

func picture(t *testing.T, format string, width, height int) []byte {
	t.Helper()
	var out bytes.Buffer
	frame := image.NewGray(image.Rect(0, 0, width, height))
	if format == "png" {
		must.Do(t, png.Encode(&out, frame))
	} else {
		must.Do(t, jpeg.Encode(&out, frame, nil))
	}
	return out.Bytes()
}

func TestDescribeFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), picture(t, "jpeg", 30, 20))
	write(t, filepath.Join(dir, "b.jpg"), picture(t, "png", 7, 9))
	write(t, filepath.Join(dir, "cut.png"), picture(t, "png", 7, 9)[:12])
	write(t, filepath.Join(dir, "empty.h5"), nil)
	write(t, filepath.Join(dir, "text.h5"), []byte("just text"))
	write(t, filepath.Join(dir, "x.tar"), append(make([]byte, 257), "ustar\x0000"...))
	for name, want := range map[string]Description{
		"a":        {Kind: Image},
		"b.jpg":    {Kind: Image}, // the bytes count, not the name
		"cut.png":  {Kind: Image},
		"empty.h5": {Kind: Other},
		"text.h5":  {Kind: Other},
		"x.tar":    {Kind: Tar},
	} {
		got := describe(t, filepath.Join(dir, name))
		info := must.Get(os.Stat(filepath.Join(dir, name)))(t)
		want.Files, want.Bytes = 1, info.Size()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestDescribeHDF5(t *testing.T) {
	for _, name := range []string{"layouts.h5", "userblock.h5"} {
		got := describe(t, filepath.Join(fixtures, name))
		if got.Kind != HDF5 || got.HDF5 == nil || len(got.HDF5.Datasets) == 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "layouts.h5")))(t)
	path := filepath.Join(t.TempDir(), "cut.h5")
	write(t, path, raw[:len(raw)/2])
	if got := describe(t, path); got.Kind != HDF5 || got.HDF5 != nil ||
		!strings.HasPrefix(got.Refused.String(), hdf5.ErrTruncated.Error()) {
		t.Errorf("a cut file: %+v", got)
	}
}

func TestDescribeFolder(t *testing.T) {
	dir := t.TempDir()
	for class := range 12 {
		for i := range 20 {
			write(t, filepath.Join(dir, fmt.Sprintf("class_%02d", class), fmt.Sprintf("%03d.JPG", i)),
				picture(t, "jpeg", 40, 30))
		}
	}
	write(t, filepath.Join(dir, "README.txt"), []byte("hello"))
	must.Do(t, os.Symlink("/dev/zero", filepath.Join(dir, "zero.jpg")))
	must.Do(t, unix.Mkfifo(filepath.Join(dir, "fifo.jpg"), 0o600))
	got := describe(t, dir)
	if got.Kind != Image || got.Files != 8*20+1 {
		t.Errorf("%+v: want 8 of 12 folders of 20 images each", got)
	}
	f := got.Folder
	if f == nil || !f.More || f.Folders != 12 {
		t.Fatalf("%+v: want 12 folders, and more than was seen", f)
	}
	if f.Extension.String() != ".jpg" {
		t.Errorf("%v: want .jpg", f.Extension)
	}
	if f.Sizes == nil || f.Sizes.Count != 161 || got.Bytes != 160*f.Sizes.Median+5 {
		t.Errorf("%+v of %d bytes", f.Sizes, got.Bytes)
	}
}

func TestDescribeFolderStopsAtItsLimits(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		files, seen, sized int
		more               bool
	}{{300, 300, mostSizes, false}, {mostEntries + 1, mostEntries, mostSizes, true}} {
		for i := range c.files {
			write(t, filepath.Join(dir, fmt.Sprintf("%04d.npy", i)), []byte("x"))
		}
		got := describe(t, dir)
		if got.Kind != Npy || got.Files != int64(c.seen) || got.Folder.More != c.more ||
			got.Folder.Sizes.Count != c.sized {
			t.Errorf("of %d files: %+v %+v, want %+v", c.files, got, got.Folder, c)
		}
	}
	if got := describe(t, t.TempDir()); got.Kind != Other || got.Files != 0 || got.Folder.Sizes != nil {
		t.Errorf("an empty folder: %+v", got)
	}
}

func TestDescribeRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for path, want := range map[string]error{fifo: ErrNoData, "/dev/zero": ErrNoData,
		filepath.Join(dir, "no"): os.ErrNotExist} {
		if got, err := Describe(path); !errors.Is(err, want) {
			t.Errorf("%s: %+v, %v; want %v", path, got, err, want)
		}
	}
}

// A name is anybody's choice: it may hold escapes for the terminal.
func TestDescribeSanitizesNames(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.\x1b[31mjpg"), nil)
	got := describe(t, dir)
	if name := got.Folder.Extension.String(); strings.ContainsRune(name, 0x1b) {
		t.Errorf("an escape came through: %q", name)
	}
}
