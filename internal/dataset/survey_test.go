package dataset

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// openedDuring returns the names of the files in a folder that are opened while a function runs.
func openedDuring(t *testing.T, dir string, run func()) map[string]bool {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN|unix.IN_ACCESS); err != nil {
		t.Fatal(err)
	}
	run()
	names, buffer := map[string]bool{}, make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buffer)
		if errors.Is(err, unix.EAGAIN) {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		for rest := buffer[:n]; len(rest) >= unix.SizeofInotifyEvent; { // inotify(7): struct inotify_event, its name's length last
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
	if _, err := Survey("/dev/zero", SurveyOptions{}); !errors.Is(err, ErrNoData) || !strings.Contains(err.Error(), "character device") {
		t.Errorf("a device as the path: %v", err)
	}
}

// surveyed asks through the handler and JSON, as a child process would be asked.
func surveyed(t *testing.T, path string, o SurveyOptions) (SurveyResult, error) {
	t.Helper()
	body, err := json.Marshal(SurveyRequest{Path: []byte(path), Options: o})
	if err != nil {
		t.Fatal(err)
	}
	value, err := SurveyHandler(t.Context(), body)
	if err != nil {
		return SurveyResult{}, err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var got SurveyAnswer
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got.Result, got.Refused.Err()
}

// copyOf puts a fixture somewhere else.
func copyOf(t *testing.T, fixture, to string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(fixtures, fixture))
	if err != nil {
		t.Fatal(err)
	}
	write(t, to, raw)
}

// check holds a sample against what every sample promises.
func check(t *testing.T, got SurveyResult) {
	t.Helper()
	used := make([]bool, len(got.Sample.Files))
	for i, item := range got.Sample.Items {
		if item.File < 0 || item.File >= len(used) {
			t.Fatalf("item %d is in file %d of %d", i, item.File, len(used))
		}
		used[item.File] = true
		if i == 0 {
			continue
		}
		before := got.Sample.Items[i-1]
		if before.File > item.File || before.File == item.File && (before.Index > item.Index || before.At > item.At || before.Index == item.Index && before.At == item.At) {
			t.Fatalf("item %d, %+v, comes after %+v", i, item, before)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		t.Errorf("nothing is read of %s", got.Sample.Files[i].Path)
	}
	for i, f := range got.Sample.Files {
		info, err := os.Stat(string(f.Path))
		if err != nil || info.Size() != f.Bytes {
			t.Errorf("%+v: %v", f, err)
		}
		if i > 0 && bytes.Compare(got.Sample.Files[i-1].Path, f.Path) >= 0 {
			t.Errorf("%s comes after %s", f.Path, got.Sample.Files[i-1].Path)
		}
	}
	if got.Sample.Kind != got.Kind {
		t.Errorf("a sample of kind %q from a dataset of kind %q", got.Sample.Kind, got.Kind)
	}
}

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
	if err := os.Symlink("class_00", filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	got, err := surveyed(t, dir, SurveyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, got)
	if got.Kind != Image || got.Format != "jpeg" || got.Files != 302 || !got.FilesExact || got.Others != 1 || got.Folders != 10 || got.Links != 1 {
		t.Errorf("%+v", got)
	}
	if want := int64(300*len(jpeg) + len("no picture")); got.Bytes != want || !got.BytesExact {
		t.Errorf("%d bytes, exact %v; want %d", got.Bytes, got.BytesExact, want)
	}
	if got.Items == nil || *got.Items != 302 || got.ItemBytes != nil {
		t.Errorf("%v items of %v bytes", got.Items, got.ItemBytes)
	}
	if got.LargestDir != 31 || !strings.HasSuffix(string(got.LargestDirPath), "/class_00/") && !strings.HasSuffix(string(got.LargestDirPath), "/class_01/") && !strings.HasSuffix(string(got.LargestDirPath), "/class_02/") {
		t.Errorf("the fullest folder is %s with %d files", got.LargestDirPath, got.LargestDir)
	}
	if e := got.Extensions; len(e) != 2 || e[0].Name.String() != ".jpg" || e[0].Count != 302 {
		t.Errorf("%+v", e)
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
	if err != nil || len(few.Sample.Files) > 20 || len(few.Sample.Files) < 18 || few.BytesExact || few.Files != 302 {
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
	for name, want := range map[string]struct {
		kind          Kind
		files, others int64
	}{"captions": {Image, 10, 20}, "logs": {HDF5, 1, 10}, "previews": {Other, 10, 1}} {
		got, err := surveyed(t, filepath.Join(dir, name), SurveyOptions{})
		if err != nil || got.Kind != want.kind || got.Files != want.files || got.Others != want.others {
			t.Errorf("%s: %d files of kind %s, %d others, %v; want %+v", name, got.Files, got.Kind, got.Others, err, want)
		}
	}
}

// However many files there are, none but those drawn are remembered: a file more makes no garbage either.
func TestCensusDoesNotGrow(t *testing.T) {
	c := newCensus(SurveyOptions{MaxFiles: 100}, 10)
	folder, name, i := []byte("class_00007/"), []byte("0000000.JPEG"), 0
	next := func() {
		for at, rest := 6, i; at >= 0; at, rest = at-1, rest/10 {
			name[at] = byte('0' + rest%10)
		}
		c.add(folder, name)
		i++
	}
	for range 500_000 {
		next()
	}
	if allocations := testing.AllocsPerRun(100_000, next); allocations > 0 { // rounded down: of 100,000 files, some 20 are drawn
		t.Errorf("%g allocations for each file", allocations)
	}
	if c.files() != 600_001 || len(c.pools[1].drawn.kept) != 100 || len(c.suffixes) != 1 {
		t.Errorf("%d files, %d kept, %d endings", c.files(), len(c.pools[1].drawn.kept), len(c.suffixes))
	}
}

func TestSurveyHDF5(t *testing.T) {
	path := filepath.Join(fixtures, "layouts.h5")
	for name, c := range map[string]struct {
		o         SurveyOptions
		items     int64
		drawn     int
		itemBytes int64
		chunk     int64
		amplified float64
	}{
		"the likely one":          {SurveyOptions{}, 24, 24, 96, 4, 4}, // the largest that was written
		"one never written":       {SurveyOptions{Dataset: "unallocated"}, 1000, 1000, 8000, 10, 10},
		"named without a slash":   {SurveyOptions{Dataset: "gzip"}, 24, 24, 24, 8, 8},
		"named with one":          {SurveyOptions{Dataset: "/gzip"}, 24, 24, 24, 8, 8},
		"a few of many":           {SurveyOptions{Dataset: "unallocated", MaxItems: 200}, 1000, 200, 8000, 10, 10},
		"a patch":                 {SurveyOptions{Dataset: "gzip", ItemShape: []int64{1, 2, 3}}, 24, 24, 6, 8, 32},
		"a patch of the rest":     {SurveyOptions{Dataset: "gzip", ItemShape: []int64{2, 3}}, 24, 24, 6, 8, 32},
		"several at once":         {SurveyOptions{Dataset: "gzip", ItemShape: []int64{5, 4, 6}}, 4, 4, 120, 1, 1.4 * 192 / 120},
		"all of it":               {SurveyOptions{Dataset: "gzip", ItemShape: []int64{24, 4, 6}}, 1, 1, 576, 1, 1},
		"types that vary in size": {SurveyOptions{Dataset: "types/str"}, 2, 2, -1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := surveyed(t, path, c.o)
			if err != nil {
				t.Fatal(err)
			}
			check(t, got)
			if got.Items == nil || *got.Items != c.items || len(got.Sample.Items) != c.drawn || (got.ItemBytes == nil) != (c.itemBytes < 0) || got.ItemBytes != nil && *got.ItemBytes != c.itemBytes {
				t.Errorf("%v items of %v bytes, %d drawn; want %+v", got.Items, got.ItemBytes, len(got.Sample.Items), c)
			}
			if got.Access == nil {
				t.Fatal("no access")
			}
			if c.chunk > 0 && (*got.Access.ItemsPerChunk != c.chunk || math.Abs(*got.Access.Amplification-c.amplified) > 1e-9) {
				t.Errorf("%d items in a chunk, amplified %g times; want %d, %g", *got.Access.ItemsPerChunk, *got.Access.Amplification, c.chunk, c.amplified)
			}
			for _, item := range got.Sample.Items {
				for axis, n := range item.Corner {
					if n < 0 || n > got.Access.Dataset.Shape[axis]-got.Sample.ItemShape[axis] || item.Corner[0] != item.Index {
						t.Fatalf("a patch at %v", item.Corner)
					}
				}
			}
		})
	}
}

func TestSurveyFolderOfHDF5(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		copyOf(t, "layouts.h5", filepath.Join(dir, fmt.Sprintf("shard_%d.h5", i)))
	}
	copyOf(t, "userblock.h5", filepath.Join(dir, "other.h5")) // has another dataset
	write(t, filepath.Join(dir, "text.h5"), []byte("just text"))
	raw, err := os.ReadFile(filepath.Join(fixtures, "layouts.h5"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "cut.h5"), raw[:len(raw)/2])
	died := filepath.Join(dir, "shard_4.h5")
	got, err := surveyed(t, dir, SurveyOptions{Dataset: "chunk_many", MaxItems: 30, Avoid: [][]byte{[]byte(died)}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, got)
	if got.Files != 8 || got.Items != nil || len(got.Sample.Files) != 4 || len(got.Sample.Items) < 24 || len(got.Sample.Items) > 30 || got.Sample.Dataset != "/chunk_many" {
		t.Errorf("%+v", got)
	}
	reasons := map[string]string{}
	for _, u := range got.Unread {
		reasons[u.Reason] = string(u.Example)
	}
	want := map[string]string{
		"no dataset to read of that name": filepath.Join(dir, "other.h5"),
		hdf5.ErrNotHDF5.Error():           filepath.Join(dir, "text.h5"),
		hdf5.ErrTruncated.Error():         filepath.Join(dir, "cut.h5"),
		errAvoided.Error():                died,
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
	walked, err := surveyed(t, dir, SurveyOptions{WalkOnly: true})
	if err != nil || len(walked.Sample.Files) != 8 || len(walked.Sample.Items) != 0 || walked.Access != nil {
		t.Errorf("a walk alone: %+v, %v", walked, err)
	}
}

// A file for each item has no first axis that counts them.
func TestSurveyFileForEachItem(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		copyOf(t, "userblock.h5", filepath.Join(dir, "h5", fmt.Sprintf("%d.h5", i))) // x, 24 by 4 by 6 bytes
		copyOf(t, "plain.npy", filepath.Join(dir, "npy", fmt.Sprintf("%d.npy", i)))  // the same
	}
	for _, name := range []string{"h5", "npy"} {
		got, err := surveyed(t, filepath.Join(dir, name), SurveyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, got)
		if !slices.Equal(got.Sample.ItemShape, []int64{24, 4, 6}) || *got.Items != 6 || len(got.Sample.Items) != 6 || *got.ItemBytes != 576 || len(got.Notes) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		rows, err := surveyed(t, filepath.Join(dir, name), SurveyOptions{ItemShape: []int64{4, 6}})
		if err != nil || *rows.Items != 6*24 || len(rows.Sample.Items) != 6*24 || *rows.ItemBytes != 24 {
			t.Errorf("%s by rows: %+v, %v", name, rows, err)
		}
	}
}

func TestSurveyNpy(t *testing.T) {
	got, err := surveyed(t, filepath.Join(fixtures, "plain.npy"), SurveyOptions{})
	if err != nil || *got.Items != 24 || *got.ItemBytes != 24 || len(got.Sample.Items) != 24 {
		t.Errorf("%+v, %v", got, err)
	}
	check(t, got)
	got, err = surveyed(t, filepath.Join(fixtures, "fields.npy"), SurveyOptions{})
	if err != nil || *got.Items != 3 || *got.ItemBytes != 4+2*8 {
		t.Errorf("%+v, %v", got, err)
	}
	raw, err := os.ReadFile(filepath.Join(fixtures, "plain.npy"))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.npy")
	write(t, cut, raw[:len(raw)-1])
	for path, reason := range map[string]string{
		cut:                                    errCutArray.Error(),
		filepath.Join(fixtures, "scalar.npy"):  errScalar.Error(),
		filepath.Join(fixtures, "objects.npy"): errPickled.Error(),
		filepath.Join(fixtures, "fortran.npy"): errColumns.Error(),
	} {
		if got, err := surveyed(t, path, SurveyOptions{}); !errors.Is(err, ErrNoItems) || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %+v, %v; want %s", path, got.Sample, err, reason)
		}
	}
}

func TestSurveyRawBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.tfrecord")
	write(t, path, make([]byte, 1000))
	got, err := surveyed(t, path, SurveyOptions{BlockBytes: 300})
	if err != nil || got.Kind != Other || got.Format != "tfrecord" || *got.Items != 4 || *got.ItemBytes != 300 || len(got.Notes) != 1 || got.Sample.BlockBytes != 300 {
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
	s := &surveyor{path: dir, o: SurveyOptions{Limit: 10 * time.Second}.withDefaults(), now: func() time.Time { at += time.Second; return time.Unix(0, 0).Add(at) }}
	got, err := s.run()
	if err != nil || got.FilesExact || got.BytesExact || got.Items != nil || got.Files < 100 || got.Files >= 3000 || len(got.Sample.Items) == 0 {
		t.Errorf("%d files, exact %v, %v items, %d drawn, %v", got.Files, got.FilesExact, got.Items, len(got.Sample.Items), err)
	}
}

func TestSurveyRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	raw, err := os.ReadFile(filepath.Join(fixtures, "layouts.h5"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, at("cut.h5"), raw[:len(raw)/2])
	write(t, at("text.h5"), []byte("just text"))
	write(t, at("empty.bin"), nil)
	for _, name := range []string{"no files/a/b", "nothing"} {
		if err := os.MkdirAll(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("..", at("no files/a/loop")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("itself", at("itself")); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		write(t, at(fmt.Sprintf("bad/%d.h5", i)), []byte("just text"))
		write(t, at(fmt.Sprintf("all empty/%d.jpg", i)), nil)
	}
	layouts := filepath.Join(fixtures, "layouts.h5")
	outside := filepath.Join(fixtures, "outside.h5")
	for name, c := range map[string]struct {
		path string
		o    SurveyOptions
		want error
		says string
	}{
		"no such path":         {at("none"), SurveyOptions{}, os.ErrNotExist, ""},
		"a link to itself":     {at("itself"), SurveyOptions{}, unix.ELOOP, ""},
		"an empty folder":      {at("nothing"), SurveyOptions{}, ErrNoFiles, "the folder is empty"},
		"folders alone":        {at("no files"), SurveyOptions{}, ErrNoFiles, "only folders (2), symbolic links, not followed (1)"},
		"an empty file":        {at("empty.bin"), SurveyOptions{}, ErrNoItems, "the file is empty"},
		"empty files":          {at("all empty"), SurveyOptions{}, ErrNoItems, "3 of 3 files looked at: empty file, such as"},
		"a cut HDF5 file":      {at("cut.h5"), SurveyOptions{}, hdf5.ErrTruncated, "truncated"},
		"no HDF5 file":         {at("text.h5"), SurveyOptions{}, hdf5.ErrNotHDF5, ""},
		"a folder of such":     {at("bad"), SurveyOptions{}, ErrNoItems, "3 of 3 files looked at: not an HDF5 file"},
		"no such dataset":      {layouts, SurveyOptions{Dataset: "pictures"}, ErrNoDataset, "/contiguous uint8 [24 4 6], "},
		"a scalar":             {layouts, SurveyOptions{Dataset: "types/scalar"}, ErrNoItems, "a single value"},
		"length zero":          {layouts, SurveyOptions{Dataset: "types/length_zero"}, ErrNoItems, "no length"},
		"a patch too large":    {layouts, SurveyOptions{Dataset: "gzip", ItemShape: []int64{1, 5, 6}}, ErrItemShape, "[1 5 6] in a dataset of [24 4 6]"},
		"a patch of no size":   {layouts, SurveyOptions{Dataset: "gzip", ItemShape: []int64{1, 0, 6}}, ErrItemShape, ""},
		"a patch of few axes":  {layouts, SurveyOptions{Dataset: "gzip", ItemShape: []int64{1}}, ErrItemShape, "1 axes"},
		"a virtual dataset":    {outside, SurveyOptions{Dataset: "virtual"}, ErrOutside, "/virtual is virtual"},
		"external storage":     {outside, SurveyOptions{Dataset: "raw"}, ErrOutside, "/raw is external"},
		"an external link":     {outside, SurveyOptions{Dataset: "external"}, ErrNoDataset, "a link to pipetune-fifo.h5 /x"},
		"nothing but virtual":  {filepath.Join(fixtures, "growing.h5"), SurveyOptions{}, ErrOutside, "/growing"},
		"a link to no dataset": {outside, SurveyOptions{Dataset: "dangling"}, ErrNoDataset, "a link to /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := surveyed(t, c.path, c.o)
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
	if err != nil || got.Sample.Dataset != "/again" || !slices.Equal(got.Outside, []string{"pipetune-fifo.h5", "pipetune-fifo.raw", "pipetune-fifo-2.h5"}) {
		t.Errorf("files outside: %q, reads %s, %v", got.Outside, got.Sample.Dataset, err)
	}
	got, err = surveyed(t, filepath.Join(fixtures, "outside.h5"), SurveyOptions{Dataset: "virtual", Follow: true})
	if err != nil || !got.Sample.Follow || *got.Items != 2 {
		t.Errorf("asked to follow: %+v, %v", got, err)
	}
	got, err = surveyed(t, filepath.Join(fixtures, "many.h5"), SurveyOptions{})
	if err != nil || len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "datasets of the same shape") {
		t.Errorf("a dataset for each sample: %q, %v", got.Notes, err)
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
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = os.Chmod(shut, 0o700) })
	asNobody(t, func() {
		for _, path := range []string{shut, file} {
			if _, err := surveyed(t, path, SurveyOptions{}); !errors.Is(err, os.ErrPermission) {
				t.Errorf("%s: %v", path, err)
			}
		}
		got, err := surveyed(t, dir, SurveyOptions{})
		if err != nil || got.FilesExact || len(got.Unread) != 1 || got.Unread[0].Count != 2 || got.Unread[0].Reason != "permission denied" || len(got.Sample.Files) != 1 {
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
	if _, err = surveyed(t, filepath.Join(dir, "bad"), SurveyOptions{}); err == nil || strings.ContainsRune(err.Error(), 0x1b) {
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
	if err := os.Remove(dir + "soon.jpg"); err != nil {
		t.Fatal(err)
	}
	s.reckonBytes(files)
	files = s.verify(files)
	if len(files) != 1 || string(files[0].Path) != dir+"good.jpg" || s.out.BytesExact {
		t.Errorf("%+v", files)
	}
	counts := map[string]int64{}
	for _, u := range s.bad.sorted() {
		counts[u.Reason] = u.Count
	}
	if diff := cmp.Diff(map[string]int64{"no such file or directory": 2, "no longer a regular file but a FIFO": 1}, counts); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
}
