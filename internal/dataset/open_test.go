package dataset

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// fileAt is a file of a dataset as a survey would have it.
func fileAt(t *testing.T, path string) File {
	t.Helper()
	info := must.Get(os.Stat(path))(t)
	return File{Path: []byte(path), Bytes: info.Size()}
}

func openItem(t *testing.T, s Source, f File) Handle {
	t.Helper()
	h := must.Get(s.Open(f))(t)
	t.Cleanup(func() { must.Do(t, h.Close()) })
	return h
}

func TestWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jpg")
	write(t, path, picture(t, "jpeg", 30, 20))
	link := path + ".link"
	must.Do(t, os.Symlink(path, link))
	want := load(t, path)
	for _, path := range []string{path, link} {
		h := openItem(t, Source{Kind: Image}, fileAt(t, path))
		buf := make([]byte, 0, len(want))
		got, err := h.Read(Ref{}, buf)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
		}
		if &got[0] != &buf[:1][0] {
			t.Error("the buffer was not used, though the file fits")
		}
		if got, err = h.Read(Ref{}, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("again, without a buffer: %d bytes of %d, %v", len(got), len(want), err)
		}
	}
	if !(Source{Kind: Image}).ItemIsFile() || (Source{Kind: Npy}).ItemIsFile() {
		t.Error("of pictures a file is an item, of arrays it is not")
	}
}

func TestBlocks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "raw")
	content := bytes.Repeat([]byte("0123456789"), 1000)
	write(t, path, content)
	h := openItem(t, Source{Kind: Other, BlockBytes: 4096}, fileAt(t, path))
	for index, want := range [][]byte{content[:4096], content[4096:8192], content[8192:]} {
		if got, err := h.Read(Ref{Index: int64(index)}, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("block %d: %d bytes, %v", index, len(got), err)
		}
	}
	for _, index := range []int64{3, -1, 1 << 62} {
		if got, err := h.Read(Ref{Index: index}, nil); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("block %d: %d bytes, %v", index, len(got), err)
		}
	}
	whole := openItem(t, Source{Kind: Other}, fileAt(t, path))
	if got, err := whole.Read(Ref{}, nil); err != nil || !bytes.Equal(got, content) {
		t.Errorf("by default: %d bytes, %v", len(got), err)
	}
}

// What is read is what NumPy reads: plain.npy holds 24 items of 4 by 6 bytes, in C order.
func TestArrayItems(t *testing.T) {
	dir := t.TempDir()
	python(t, "make_arrays.py", dir)
	for _, c := range []struct {
		file string
		item []int64
		ref  Ref
		want string // file that holds the bytes
	}{
		{"c.npy", nil, Ref{Index: 7}, "c_7"},
		{"c.npy", []int64{1, 5, 6, 3}, Ref{Corner: []int64{3, 0, 0, 0}}, "c_3"},
		{"c.npy", []int64{2, 5, 6, 3}, Ref{Corner: []int64{3, 0, 0, 0}}, "c_3_to_5"},
		{"c.npy", []int64{1, 2, 6, 3}, Ref{Corner: []int64{3, 1, 0, 0}}, "c_rows"},
		{"c.npy", []int64{2, 2, 3, 3}, Ref{Corner: []int64{3, 1, 2, 0}}, "c_patch"},
		{"c.npy", []int64{2, 2, 3, 1}, Ref{Corner: []int64{3, 1, 2, 1}}, "c_scattered"},
		{"fields.npy", nil, Ref{Index: 2}, "fields_2"},
		{"one_axis.npy", nil, Ref{Index: 4}, "one_axis_4"},
		{"one_axis_fortran.npy", nil, Ref{Index: 4}, "one_axis_4"},
		{"version_2.npy", nil, Ref{Index: 1}, "version_2_1"},
	} {
		h := openItem(t, Source{Kind: Npy, ItemShape: c.item}, fileAt(t, filepath.Join(dir, c.file)))
		want := load(t, filepath.Join(dir, c.want))
		if got, err := h.Read(c.ref, nil); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s, %v at %+v: %v, %v; want %v", c.file, c.item, c.ref, got, err, want)
		}
	}
}

func TestArrayRefusals(t *testing.T) {
	dir := t.TempDir()
	plain := load(t, filepath.Join(fixtures, "plain.npy"))
	write(t, filepath.Join(dir, "cut.npy"), plain[:len(plain)-1])
	write(t, filepath.Join(dir, "text.npy"), []byte("just text"))
	write(t, filepath.Join(dir, "empty.npy"), nil)
	for path, want := range map[string]error{
		filepath.Join(dir, "cut.npy"):               io.ErrUnexpectedEOF,
		filepath.Join(dir, "text.npy"):              errNoArray,
		filepath.Join(dir, "empty.npy"):             errNoArray,
		filepath.Join(fixtures, "fortran.npy"):      errColumns,
		filepath.Join(fixtures, "scalar.npy"):       errScalar,
		filepath.Join(fixtures, "objects.npy"):      errPickled,
		filepath.Join(fixtures, "missing.npy"):      fs.ErrNotExist,
		filepath.Join(fixtures, "layouts.h5"):       errNoArray,
		filepath.Join(fixtures, "make_datasets.py"): errNoArray,
	} {
		h, err := Source{Kind: Npy}.Open(File{Path: []byte(path)})
		if !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v; want %v", path, h, err, want)
		}
	}
	file := fileAt(t, filepath.Join(fixtures, "plain.npy"))
	for name, shape := range map[string][]int64{"other axes": {1, 4}, "too large": {1, 4, 7}, "nothing": {1, 0, 6}} {
		if _, err := (Source{Kind: Npy, ItemShape: shape}).Open(file); err == nil {
			t.Errorf("an item of %s: no error", name)
		}
	}
	h := openItem(t, Source{Kind: Npy}, file)
	for _, ref := range []Ref{{Index: 24}, {Index: -1}, {Corner: []int64{0, 0}}, {Corner: []int64{0, 1, 0}}} {
		if got, err := h.Read(ref, nil); err == nil {
			t.Errorf("%+v: %d bytes", ref, len(got))
		}
	}
}

// A file may shrink or vanish between the survey and the reading of it, and while it is read.
func TestFilesThatChange(t *testing.T) {
	dir := t.TempDir()
	content := bytes.Repeat([]byte{7}, 10000)
	for kind, refs := range map[Kind][2]Ref{ // an item at the beginning, one at the end
		Image: {{}, {}},
		Tar:   {{At: 0, Bytes: 100}, {At: 9000, Bytes: 1000}},
		Other: {{Index: 0}, {Index: 9}},
	} {
		path := filepath.Join(dir, string(kind))
		write(t, path, content)
		source, file := Source{Kind: kind, BlockBytes: 1000}, fileAt(t, path)
		before := openItem(t, source, file)
		if _, err := before.Read(refs[1], nil); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		must.Do(t, os.Truncate(path, 5000))
		for when, h := range map[string]Handle{"open": before, "opened after": openItem(t, source, file)} {
			if got, err := h.Read(refs[1], nil); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(),
				path) {
				t.Errorf("%s, %s: %d bytes, %v", kind, when, len(got), err)
			}
			if _, err := h.Read(refs[0], nil); err != nil && kind != Image {
				t.Errorf("%s, %s: what is left of it: %v", kind, when, err)
			}
		}
		must.Do(t, os.Remove(path))
		if _, err := source.Open(file); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s, gone: %v", kind, err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for _, kind := range []Kind{Image, Npy, Tar, Other} {
		for _, path := range []string{fifo, dir, "/dev/null"} {
			if _, err := (Source{Kind: kind}).Open(File{Path: []byte(path)}); !errors.Is(err, errNotRegular) {
				t.Errorf("%s as %s: %v", path, kind, err)
			}
		}
	}
	if _, err := (Source{Kind: "none"}).Open(File{Path: []byte(fifo)}); err == nil {
		t.Error("a kind that is not known was opened")
	}
}

// Sizes come from files made to break their reader: none may decide how much memory is taken.
func TestSizesAreCheckedBeforeBuffersAreMade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sparse")
	write(t, path, nil)
	must.Do(t, os.Truncate(path, 1<<40))
	for name, c := range map[string]struct {
		source Source
		ref    Ref
	}{
		"a picture":       {Source{Kind: Image}, Ref{}},
		"a member":        {Source{Kind: Tar}, Ref{Bytes: 1 << 39}},
		"less than none":  {Source{Kind: Tar}, Ref{Bytes: -1}},
		"before the file": {Source{Kind: Tar}, Ref{At: -1, Bytes: 5}},
		"a block":         {Source{Kind: Other, BlockBytes: 1 << 40}, Ref{}},
	} {
		if got, err := openItem(t, c.source, fileAt(t, path)).Read(c.ref, nil); err == nil {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

func TestReadingDoesNotAllocate(t *testing.T) {
	patch := Source{Kind: Npy, ItemShape: []int64{2, 2, 3}}
	for name, c := range map[string]struct {
		source Source
		file   string
		ref    Ref
	}{
		"a file":  {Source{Kind: Image}, "plain.npy", Ref{}},
		"a block": {Source{Kind: Other, BlockBytes: 64}, "plain.npy", Ref{Index: 2}},
		"an item": {Source{Kind: Npy}, "plain.npy", Ref{Index: 3}},
		"a patch": {patch, "plain.npy", Ref{Corner: []int64{3, 1, 2}}},
	} {
		h := openItem(t, c.source, fileAt(t, filepath.Join(fixtures, c.file)))
		buf := make([]byte, 4096)
		if n := testing.AllocsPerRun(100, func() { must.Get(h.Read(c.ref, buf))(t) }); n != 0 {
			t.Errorf("%s: %g allocations", name, n)
		}
	}
}

// The header of a NumPy file decides where items lie: none may be read from outside of the file.
func FuzzArrayItems(f *testing.F) {
	for _, name := range []string{"plain.npy", "fortran.npy", "fields.npy", "text.npy", "scalar.npy", "objects.npy"} {
		f.Add(load(f, filepath.Join(fixtures, name)), int64(1))
	}
	path := filepath.Join(f.TempDir(), "x.npy")
	f.Fuzz(func(t *testing.T, data []byte, index int64) {
		must.Do(t, os.WriteFile(path, data, 0o600))
		h, err := Source{Kind: Npy}.Open(File{Path: []byte(path), Bytes: int64(len(data))})
		if err != nil {
			return
		}
		defer h.Close()
		if got, err := h.Read(Ref{Index: index}, nil); err == nil && (index < 0 || len(got) > len(data)) {
			t.Fatalf("item %d has %d bytes in a file of %d", index, len(got), len(data))
		}
	})
}

func TestWhatIsNoFileIsNotOpened(t *testing.T) {
	fifo := t.TempDir() + "/fifo"
	must.Do(t, unix.Mkfifo(fifo, 0o600))
	for _, path := range []string{fifo, "/dev/null", t.TempDir(), fifo + "-not-there"} {
		if f, _, err := OpenRegular(path, 0); err == nil {
			_ = f.Close()
			t.Errorf("%s is opened", path)
		}
	}
}
