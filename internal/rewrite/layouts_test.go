package rewrite

import (
	"context"
	"errors"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
)

func TestTryHDF5(t *testing.T) {
	path, within := filepath.Join(t.TempDir(), "it's.h5"), t.TempDir()
	must.Python(t, "-c", hdf5Of(56), path)
	s := trying(t, path)
	s.Scratch = within
	must.Do(t, Layouts(t.Context(), s.Job))
	want := []string{"as-is", "chunk-item", "chunk-item-unfiltered", "contiguous", "unfiltered"}
	measured, sized := s.names()
	if !slices.Equal(measured, want) || !slices.Equal(sized, want) {
		t.Fatalf("measured %q and %q; %+v %q", measured, sized, s.abstained, s.warnings)
	}
	asIs, contiguous := s.tried("as-is"), s.tried("contiguous")
	if asIs.Size.Center != 1 || contiguous.Size.Center < 1.5 || s.tried("chunk-item").Size.Center < 1 {
		t.Errorf("sizes: %+v", s.Rows.Tried)
	}
	if asIs.Command != "" {
		t.Errorf("what is there is made by %s", asIs.Command)
	}
	nothingLeft(t, within)
	if got := left(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("beside the dataset: %q", got)
	}
	for name, layout := range map[string]string{
		"chunk-item":            "(1, 56, 56) gzip",
		"chunk-item-unfiltered": "(1, 56, 56) None",
		"contiguous":            "None None",
		"unfiltered":            "(64, 56, 56) None",
	} {
		command := s.tried(name).Command
		runCommand(t, command)
		made := strings.TrimSuffix(path, ".h5") + "-new.h5"
		must.Python(t, "-c", `import sys, h5py, numpy as n
a, b = (h5py.File(p, "r")["group/images"] for p in sys.argv[1:3])
assert n.array_equal(a[()], b[()])
got = "%s %s" % (b.chunks, b.compression)
assert got == sys.argv[3], got`, path, made, layout)
		if err := os.Remove(made); err != nil {
			t.Fatalf("%s: %v", command, err)
		}
	}
}

// runCommand runs a command of a report as a person would, with python3 the interpreter of the tests.
func runCommand(t *testing.T, command string) {
	t.Helper()
	bin := t.TempDir()
	must.Do(t, os.Symlink(must.Interpreter(), filepath.Join(bin, "python3")))
	shell := exec.Command("/bin/bash", "-euc", command)
	shell.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v (apt-get install hdf5-tools python3-pil python3-numpy)\n%s", command, err, out)
	}
}

func TestTryPictures(t *testing.T) {
	dir, within := filepath.Join(t.TempDir(), "a train"), t.TempDir()
	size := image.Pt(400, 300)
	pngs(t, filepath.Join(dir, "cats"), size, size, size)
	pngs(t, filepath.Join(dir, "dogs"), size, size)
	must.Do(t, os.WriteFile(filepath.Join(dir, "dogs", "broken.png"), []byte("\x89PNG\r\n\x1a\nrubbish"), 0o600))
	s := trying(t, dir)
	s.Scratch = within
	s.ends = time.Now().Add(10 * time.Second) // a slow machine is to reach the broken one too
	must.Do(t, Layouts(t.Context(), s.Job))
	measured, sized := s.names()
	want := []string{"as-is", "jpeg-90", "packed-npy", "packed-tar", "resized-256"}
	if !slices.Equal(measured, want) || !slices.Equal(sized, want) {
		t.Fatalf("measured %q and %q; %+v %q", measured, sized, s.abstained, s.warnings)
	}
	if len(s.failures) != 1 || s.failures[0].Class != dataset.Corrupt {
		t.Errorf("unread: %+v", s.failures)
	}
	if warned := strings.Join(s.warnings, "\n"); !strings.Contains(warned, "jpeg-90 loses detail") ||
		!strings.Contains(warned, "resized-256 loses detail") {
		t.Errorf("nothing says what is lost: %q", s.warnings)
	}
	nothingLeft(t, within)

	must.Do(t, os.Remove(filepath.Join(dir, "dogs", "broken.png")))
	for _, tc := range []struct{ name, check string }{
		{"jpeg-90", "assert len(f) == 5 and all(Image.open(p).format == 'JPEG' and Image.open(p).size == (400, 300) " +
			"for p in f), f"},
		{"resized-256", "assert len(f) == 5 and all(Image.open(p).size == (341, 256) for p in f), f"},
		{"packed-npy", "assert n.load(d).shape[:3] == (5, 300, 400)"},
		{"packed-tar", "assert sum(m.isfile() for m in tarfile.open(d)) == 5"},
	} {
		runCommand(t, s.tried(tc.name).Command)
		made := dir + map[string]string{"jpeg-90": "-jpeg", "resized-256": "-256", "packed-npy": ".npy",
			"packed-tar": ".tar"}[tc.name]
		must.Python(t, "-c", "import sys,pathlib,tarfile,numpy as n\nfrom PIL import Image\nd=sys.argv[1]\n"+
			"f=[p for p in pathlib.Path(d).rglob('*') if p.is_file()]\n"+tc.check, made)
	}
}

func TestTryPicturesOfSeveralSizes(t *testing.T) {
	dir, within := filepath.Join(t.TempDir(), "train"), t.TempDir()
	pngs(t, dir, image.Pt(40, 30), image.Pt(50, 30), image.Pt(40, 30))
	s := trying(t, dir)
	s.Scratch = within
	must.Do(t, Layouts(t.Context(), s.Job))
	if got, _ := s.names(); !slices.Equal(got, []string{"as-is", "jpeg-90", "packed-tar"}) {
		t.Errorf("measured %q", got)
	}
	if a := s.abstained; len(a) != 1 || !strings.Contains(a[0].Reason,
		"packed-npy: one array needs pictures of one size") {
		t.Errorf("abstained: %+v", a)
	}
	nothingLeft(t, within)
}

func TestTryAbstains(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data.bin")
	written(t, file, make([]byte, 1<<20))
	h5 := filepath.Join(t.TempDir(), "data.h5")
	must.Python(t, "-c", hdf5Of(16), h5)
	for _, tc := range []struct {
		name, path, scratch, reason string
	}{
		{"raw bytes", file, dir, "no other layouts"},
		{"no scratch folder", h5, filepath.Join(dir, "missing"), "no place to write"},
		{"scratch in a file", h5, file, "no place to write"},
	} {
		s := trying(t, tc.path)
		s.Scratch = tc.scratch
		if err := Layouts(t.Context(), s.Job); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if a := s.abstained; len(a) != 1 || !strings.Contains(a[0].Reason, tc.reason) ||
			len(s.Rows.Measurements()) != 0 {
			t.Errorf("%s: %+v", tc.name, s.run)
		}
	}
	if got := left(t, dir); !slices.Equal(got, []string{"data.bin"}) {
		t.Errorf("left behind: %q", got)
	}
}

func TestTryInterrupted(t *testing.T) {
	path, within := filepath.Join(t.TempDir(), "data.h5"), t.TempDir()
	must.Python(t, "-c", hdf5Of(16), path)
	s := trying(t, path)
	s.Scratch = within
	interrupted(t, s, Layouts, within, "*.h5")
}

// fullDisk tries candidates on a disk of 1 MiB, which only those as they are fit on.
func fullDisk(folder string) {
	runner := isolate.New(isolate.Config{Args: []string{"__child"}})
	defer runner.Close()
	scratch := filepath.Join(folder, "disk")
	err := errors.Join(os.Mkdir(scratch, 0o700), unix.Mount("tmpfs", scratch, "tmpfs", 0, "size=1m"))
	if err != nil {
		fmt.Println("mounting a small tmpfs, which takes root and a mount namespace of one's own:", err)
		return
	}
	found, err := dataset.Survey(filepath.Join(folder, "train"), dataset.SurveyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	s := jobOf(runner, found.Sample, nil)
	s.ends = time.Now().Add(10 * time.Second) // a slow machine is to unpack more than one picture as well
	k, err := s.scratchIn(context.Background(), optionScratch, []string{scratch}, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	t := &trial{Job: s.Job, scratch: k}
	first, err := t.first()
	if err == nil {
		err = t.all(context.Background(), first)
	}
	k.remove(context.Background())
	measured, _ := s.names()
	fmt.Println("error", err)
	fmt.Println("measured", strings.Join(measured, " "))
	for _, a := range s.abstained {
		fmt.Println("abstained", a.Reason, "|", a.Cure)
	}
	for _, w := range s.warnings {
		fmt.Println("warning", w)
	}
	entries, err := os.ReadDir(scratch)
	fmt.Println("left", len(entries), err)
}

func TestTryOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	size := image.Pt(500, 375)
	pngs(t, filepath.Join(dir, "train"), size, size, size, size)
	sayInNamespace(t, "try on a full disk", dir, "error <nil>", "measured as-is jpeg-90 packed-tar resized-256\n",
		"abstained packed-npy: ", "no space left on device", "--scratch FOLDER",
		"warning try: the scratch folder's disk is full: packed-npy was not measured", "left 0 <nil>")
}
