package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/must"
)

// openedDuring returns the names of the files in a folder that are opened while a function runs.
func openedDuring(t *testing.T, dir string, run func()) map[string]bool {
	t.Helper()
	fd := must.Get(unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC))(t)
	defer unix.Close(fd)
	must.Get(unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_ACCESS))(t)
	run()
	names, buffer := map[string]bool{}, make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EAGAIN) {
			return names
		}
		must.Do(t, err)
		for rest := buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			// inotify(7): struct inotify_event, its name's length last
			length := int(binary.NativeEndian.Uint32(rest[12:]))
			names[string(bytes.TrimRight(rest[16:16+length], "\x00"))] = true
			rest = rest[16+length:]
		}
	}
}

func TestSpecialFilesAreNeverOpened(t *testing.T) {
	dir := t.TempDir()
	names := special(t, dir)
	write(t, filepath.Join(dir, "good.jpg"), picture(t, "jpeg", 8, 8))
	opened := openedDuring(t, dir, func() {
		got, err := Survey(dir, SurveyOptions{})
		if err != nil || got.Files != 1 || len(got.Special) != len(names) {
			t.Errorf("%+v, %v", got, err)
		}
		for _, s := range got.Special {
			if kind := names[filepath.Base(string(s.Example))]; kind != s.Reason {
				t.Errorf("%s is called a %s", s.Example, s.Reason)
			}
		}
		for name := range names {
			if _, err := Survey(filepath.Join(dir, name), SurveyOptions{}); !errors.Is(err, ErrNoData) {
				t.Errorf("%s as the path: %v", name, err)
			}
		}
	})
	if !opened["good.jpg"] {
		t.Error("the watch did not see the good file opened")
	}
	for name := range names {
		if opened[name] {
			t.Errorf("%s was opened", name)
		}
	}
	if _, err := Survey("/dev/zero", SurveyOptions{}); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(),
		"character device") {
		t.Errorf("a device as the path: %v", err)
	}
}

func TestSurveyRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	layouts := filepath.Join(fixtures, "layouts.h5")
	raw := load(t, layouts)
	write(t, at("cut.h5"), raw[:len(raw)/2])
	write(t, at("text.h5"), []byte("just text"))
	write(t, at("empty.bin"), nil)
	for _, name := range []string{"no files/a/b", "nothing"} {
		must.Do(t, os.MkdirAll(at(name), 0o700))
	}
	must.Do(t, os.Symlink("..", at("no files/a/loop")))
	must.Do(t, os.Symlink("itself", at("itself")))
	for i := range 3 {
		write(t, at(fmt.Sprintf("bad/%d.h5", i)), []byte("just text"))
		write(t, at(fmt.Sprintf("all empty/%d.jpg", i)), nil)
	}
	outside := filepath.Join(fixtures, "outside.h5")
	for name, c := range map[string]struct {
		path, dataset string
		item          []int64
		want          error
		says          string
	}{
		"no such path":         {at("none"), "", nil, os.ErrNotExist, ""},
		"a link to itself":     {at("itself"), "", nil, unix.ELOOP, ""},
		"an empty folder":      {at("nothing"), "", nil, ErrNoFiles, "the folder is empty"},
		"an empty file":        {at("empty.bin"), "", nil, ErrNoItems, "the file is empty"},
		"empty files":          {at("all empty"), "", nil, ErrNoItems, "3 of 3 files inspected: empty file, such as"},
		"a cut HDF5 file":      {at("cut.h5"), "", nil, hdf5.ErrTruncated, "truncated"},
		"no HDF5 file":         {at("text.h5"), "", nil, hdf5.ErrNotHDF5, ""},
		"a folder of such":     {at("bad"), "", nil, ErrNoItems, "3 of 3 files inspected: not an HDF5 file"},
		"no such dataset":      {layouts, "pictures", nil, ErrNoDataset, "/contiguous uint8 [24 4 6], "},
		"a scalar":             {layouts, "types/scalar", nil, ErrNoItems, "a single value"},
		"length zero":          {layouts, "types/length_zero", nil, ErrNoItems, "no length"},
		"a patch too large":    {layouts, "gzip", []int64{1, 5, 6}, ErrItemShape, "[1 5 6] in a dataset of [24 4 6]"},
		"a patch of no size":   {layouts, "gzip", []int64{1, 0, 6}, ErrItemShape, ""},
		"a patch of few axes":  {layouts, "gzip", []int64{1}, ErrItemShape, "1 axes"},
		"a virtual dataset":    {outside, "virtual", nil, ErrOutside, "/virtual is virtual"},
		"external storage":     {outside, "raw", nil, ErrOutside, "/raw is external"},
		"an external link":     {outside, "external", nil, ErrNoDataset, "a link to pipetune-fifo.h5 /x"},
		"nothing but virtual":  {filepath.Join(fixtures, "growing.h5"), "", nil, ErrOutside, "/growing"},
		"a link to no dataset": {outside, "dangling", nil, ErrNoDataset, "a link to /nowhere"},
		"folders alone": {at("no files"), "", nil, ErrNoFiles,
			"only folders (2), symbolic links, not followed (1)"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := surveyed(t, c.path, SurveyOptions{Dataset: c.dataset, ItemShape: c.item})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v; want %v that says %q", err, c.want, c.says)
			}
			if len(got.Sample.Items) != 0 {
				t.Errorf("%d items drawn", len(got.Sample.Items))
			}
		})
	}
}

func TestSurveySaysWhatToMind(t *testing.T) {
	got, err := surveyed(t, filepath.Join(fixtures, "unknown_filter.h5"), SurveyOptions{})
	if err != nil || len(got.Missing) != 1 || len(got.Sample.Items) != 24 {
		t.Errorf("a filter that nothing here can undo: %v, %d items, %v", got.Missing, len(got.Sample.Items), err)
	}
	// /again and /here are one dataset of two names; /raw, as large, and /virtual lie elsewhere.
	got, err = surveyed(t, filepath.Join(fixtures, "outside.h5"), SurveyOptions{})
	if err != nil || got.Sample.Dataset != "/again" || !slices.Equal(got.Outside, []string{"pipetune-fifo.h5",
		"pipetune-fifo.raw", "pipetune-fifo-2.h5"}) {
		t.Errorf("files outside: %q, reads %s, %v", got.Outside, got.Sample.Dataset, err)
	}
	got, err = surveyed(t, filepath.Join(fixtures, "outside.h5"), SurveyOptions{Dataset: "virtual", Follow: true})
	if err != nil || !got.Sample.Follow || *got.Items != 2 {
		t.Errorf("asked to follow: %+v, %v", got, err)
	}
	got, err = surveyed(t, filepath.Join(fixtures, "many.h5"), SurveyOptions{Dataset: "/*"})
	if err != nil || !got.Sample.Members {
		t.Errorf("a pattern for them: %+v, %v", got.Sample.Source, err)
	}
	one := "/" + strings.TrimPrefix(got.Sample.Items[0].Name, "/")
	got, err = surveyed(t, filepath.Join(fixtures, "many.h5"), SurveyOptions{Dataset: one})
	if err != nil || got.Part == nil || !strings.Contains(got.Part.Why, "as with one for each sample") {
		t.Errorf("a dataset for each sample: %+v, %v", got.Part, err)
	}
}

func TestSurveyWithoutPermission(t *testing.T) {
	dir := t.TempDir()
	openToAll(t, dir)
	shut := filepath.Join(dir, "shut")
	write(t, filepath.Join(shut, "1.jpg"), picture(t, "jpeg", 8, 8))
	file := filepath.Join(dir, "2.jpg")
	write(t, file, picture(t, "jpeg", 8, 8))
	write(t, filepath.Join(dir, "3.jpg"), picture(t, "jpeg", 8, 8))
	for path, mode := range map[string]os.FileMode{shut: 0, file: 0, filepath.Join(dir, "3.jpg"): 0o644} {
		must.Do(t, os.Chmod(path, mode))
	}
	t.Cleanup(func() { _ = os.Chmod(shut, 0o700) })
	asNobody(t, func() {
		for _, path := range []string{shut, file} {
			if _, err := surveyed(t, path, SurveyOptions{}); !errors.Is(err, os.ErrPermission) {
				t.Errorf("%s: %v", path, err)
			}
		}
		got, err := surveyed(t, dir, SurveyOptions{})
		if err != nil || got.FilesExact || got.Folders != 1 || len(got.Unread) != 1 || got.Unread[0].Count != 2 ||
			got.Unread[0].Reason != "permission denied" || string(got.Unread[0].Example) != shut ||
			len(got.Sample.Files) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestSurveyNamesWithEscapes(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "\x1b[31m\n\xff\xfe", "\xc3\x28.jpg")
	write(t, name, picture(t, "jpeg", 8, 8))
	got, err := surveyed(t, dir, SurveyOptions{})
	if err != nil || len(got.Sample.Files) != 1 || string(got.Sample.Files[0].Path) != name {
		t.Errorf("%+v, %v", got.Sample.Files, err)
	}
	write(t, filepath.Join(dir, "bad", "\x1b[31m.h5"), []byte("text"))
	if _, err = surveyed(t, filepath.Join(dir, "bad"), SurveyOptions{}); err == nil || strings.ContainsRune(err.Error(),
		0x1b) {
		t.Errorf("the error %q", err)
	}
}

// Files that go, or become something else, between the walk and the look.
func TestSurveyOfFilesThatVanish(t *testing.T) {
	dir := t.TempDir() + "/"
	special(t, dir)
	write(t, dir+"good.jpg", picture(t, "jpeg", 8, 8))
	write(t, dir+"soon.jpg", picture(t, "jpeg", 8, 8))
	s := &surveyor{o: SurveyOptions{}.withDefaults(), now: time.Now, began: time.Now()}
	s.out.Kind, s.out.Files, s.out.FilesExact = Image, 4, true
	files := s.sizes([]string{"gone.jpg", "good.jpg", "fifo.jpg", "soon.jpg"}, dir)
	must.Do(t, os.Remove(dir+"soon.jpg"))
	s.reckonBytes(files)
	files = s.verify(files)
	if len(files) != 1 || string(files[0].Path) != dir+"good.jpg" {
		t.Errorf("%+v", files)
	}
	counts := map[string]int64{}
	for _, u := range s.bad.sorted() {
		counts[u.Reason] = u.Count
	}
	if diff := cmp.Diff(map[string]int64{"no such file or directory": 2, "no longer a regular file but a FIFO": 1},
		counts); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}
