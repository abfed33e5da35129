package probe

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
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// trying is a session that has a moment for one step.
func trying(t *testing.T, path string, o Options) *session {
	t.Helper()
	sample, access := surveyed(t, path)
	o.Layout = access
	s := newSession(newRunner(t), sample, o)
	s.ends = s.clock().Add(time.Second)
	return s
}

// byCandidate gathers one metric of the warm reads, or what has no cache state.
func byCandidate(s *session, d metric.Desc) map[string]report.Measurement {
	out := map[string]report.Measurement{}
	for _, m := range s.result.Rows.Measurements() {
		if m.Metric == d.Name && m.Labels[report.LabelCache] != chilled {
			out[m.Labels[report.LabelCandidate]] = m
		}
	}
	return out
}

func names(m map[string]report.Measurement) []string {
	var list []string
	for name := range m {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func TestTryHDF5(t *testing.T) {
	path, within := filepath.Join(t.TempDir(), "it's.h5"), t.TempDir()
	runPython(t, compressedLarge, path)
	s := trying(t, path, Options{Try: true, Scratch: within})
	if err := try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	want := []string{"as-is", "chunk-item", "chunk-item-unfiltered", "contiguous", "unfiltered"}
	times, sizes := byCandidate(s, metric.ItemTime), byCandidate(s, metric.StoredRatio)
	if !slices.Equal(names(times), want) || !slices.Equal(names(sizes), want) {
		t.Fatalf("measured %q and %q; %+v %q", names(times), names(sizes), s.result.Abstained, s.result.Warnings)
	}
	if sizes["as-is"].Value.Center != 1 || sizes["contiguous"].Value.Center < 1.5 || sizes["chunk-item"].Value.Center < 1 {
		t.Errorf("sizes: %+v", sizes)
	}
	if times["contiguous"].Labels[report.LabelOrder] != random || times["as-is"].Labels[report.LabelCommand] != "" {
		t.Errorf("labels %v and %v", times["contiguous"].Labels, times["as-is"].Labels)
	}
	if got := left(t, within); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
	if got := left(t, filepath.Dir(path)); len(got) != 1 {
		t.Errorf("beside the dataset: %q", got)
	}
	for name, layout := range map[string]string{
		"chunk-item":            "(1, 56, 56) gzip",
		"chunk-item-unfiltered": "(1, 56, 56) None",
		"contiguous":            "None None",
		"unfiltered":            "(64, 56, 56) None",
	} {
		command := times[name].Labels[report.LabelCommand]
		runCommand(t, command)
		made := strings.TrimSuffix(path, ".h5") + "-new.h5"
		runPython(t, `import sys, h5py, numpy as n
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
	if err := os.Symlink(testPython(), filepath.Join(bin, "python3")); err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(filepath.Join(dir, "dogs", "broken.png"), []byte("\x89PNG\r\n\x1a\nrubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := trying(t, dir, Options{Try: true, Scratch: within})
	s.ends = s.clock().Add(10 * time.Second) // a slow machine is to reach the broken one too
	if err := try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	times, sizes := byCandidate(s, metric.ItemTime), byCandidate(s, metric.StoredRatio)
	want := []string{"as-is", "jpeg-90", "packed-npy", "packed-tar", "resized-256"}
	if !slices.Equal(names(times), want) || !slices.Equal(names(sizes), want) {
		t.Fatalf("measured %q and %q; %+v %q", names(times), names(sizes), s.result.Abstained, s.result.Warnings)
	}
	if len(s.result.Unread) != 1 || s.result.Unread[0].Count != 1 || !strings.HasSuffix(s.result.Unread[0].Example, "broken.png") {
		t.Errorf("unread: %+v", s.result.Unread)
	}
	if warned := strings.Join(s.result.Warnings, "\n"); !strings.Contains(warned, "jpeg-90 loses detail") || !strings.Contains(warned, "resized-256 loses detail") {
		t.Errorf("nothing says what is lost: %q", s.result.Warnings)
	}
	if got := left(t, within); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}

	if err := os.Remove(filepath.Join(dir, "dogs", "broken.png")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, check string }{
		{"jpeg-90", "assert len(f) == 5 and all(Image.open(p).format == 'JPEG' and Image.open(p).size == (400, 300) for p in f), f"},
		{"resized-256", "assert len(f) == 5 and all(Image.open(p).size == (341, 256) for p in f), f"},
		{"packed-npy", "assert n.load(d).shape[:3] == (5, 300, 400)"},
		{"packed-tar", "assert sum(m.isfile() for m in tarfile.open(d)) == 5"},
	} {
		runCommand(t, times[tc.name].Labels[report.LabelCommand])
		made := dir + map[string]string{"jpeg-90": "-jpeg", "resized-256": "-256", "packed-npy": ".npy", "packed-tar": ".tar"}[tc.name]
		runPython(t, "import sys,pathlib,tarfile,numpy as n\nfrom PIL import Image\nd=sys.argv[1]\nf=[p for p in pathlib.Path(d).rglob('*') if p.is_file()]\n"+tc.check, made)
	}
}

func TestTryPicturesOfSeveralSizes(t *testing.T) {
	dir, within := filepath.Join(t.TempDir(), "train"), t.TempDir()
	pngs(t, dir, image.Pt(40, 30), image.Pt(50, 30), image.Pt(40, 30))
	s := trying(t, dir, Options{Try: true, Scratch: within})
	if err := try(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := names(byCandidate(s, metric.ItemTime)); !slices.Equal(got, []string{"as-is", "jpeg-90", "packed-tar"}) {
		t.Errorf("measured %q", got)
	}
	if a := s.result.Abstained; len(a) != 1 || !strings.Contains(a[0].Reason, "packed-npy: one array needs pictures of one size") {
		t.Errorf("abstained: %+v", a)
	}
	if got := left(t, within); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestTryAbstains(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "data.bin")
	written(t, file, 1<<20)
	h5 := filepath.Join(t.TempDir(), "data.h5")
	runPython(t, compressed, h5)
	for _, tc := range []struct {
		name, path, scratch, reason string
	}{
		{"raw bytes", file, dir, "no other layouts"},
		{"no scratch folder", h5, filepath.Join(dir, "missing"), "no place to write"},
		{"scratch in a file", h5, file, "no place to write"},
	} {
		s := trying(t, tc.path, Options{Try: true, Scratch: tc.scratch})
		if err := try(t.Context(), s); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if a := s.result.Abstained; len(a) != 1 || !strings.Contains(a[0].Reason, tc.reason) || len(s.result.Rows.Measurements()) != 0 {
			t.Errorf("%s: %+v", tc.name, s.result)
		}
	}
	if got := left(t, dir); !slices.Equal(got, []string{"data.bin"}) {
		t.Errorf("left behind: %q", got)
	}
}

// interrupted runs a step whose context ends as soon as such a file was written below a folder, and holds it to leave nothing there.
func interrupted(t *testing.T, s *session, step func(context.Context, *session) error, below, file string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clock := s.clock
	s.clock = func() time.Time {
		if files, _ := filepath.Glob(filepath.Join(below, "pipetune-*", file)); len(files) > 0 {
			cancel()
		}
		return clock()
	}
	_ = step(ctx, s) // that it ended early is seen by the context
	if ctx.Err() == nil {
		t.Fatal("it was never interrupted")
	}
	if got := left(t, below); len(got) != 0 {
		t.Errorf("left behind: %q", got)
	}
}

func TestTryInterrupted(t *testing.T) {
	path, within := filepath.Join(t.TempDir(), "data.h5"), t.TempDir()
	runPython(t, compressed, path)
	s := trying(t, path, Options{Try: true, Scratch: within})
	interrupted(t, s, try, within, "*.h5")
}

// fullDisk tries candidates on a disk of 1 MiB, which only those as they are fit on.
func fullDisk(folder string) {
	s := newSession(isolate.New(isolate.Config{Args: []string{"__child"}}), dataset.Sample{}, Options{})
	defer s.runner.Close()
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
	s.sample = found.Sample
	s.ends = s.clock().Add(10 * time.Second) // a slow machine is to unpack more than one picture as well
	k, err := s.scratchIn(context.Background(), optionScratch, []string{scratch}, nil, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	t := &trial{session: s, scratch: k}
	first, err := t.first()
	if err == nil {
		err = t.all(context.Background(), first)
	}
	k.remove(context.Background())
	fmt.Println("error", err)
	fmt.Println("measured", strings.Join(names(byCandidate(s, metric.ItemTime)), " "))
	for _, a := range s.result.Abstained {
		fmt.Println("abstained", a.Reason, "|", a.Cure)
	}
	for _, w := range s.result.Warnings {
		fmt.Println("warning", w)
	}
	entries, err := os.ReadDir(scratch)
	fmt.Println("left", len(entries), err)
}

func TestTryOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	size := image.Pt(500, 375)
	pngs(t, filepath.Join(dir, "train"), size, size, size, size)
	other := exec.Command("/proc/self/exe", "__role", "try on a full disk", dir)
	other.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := other.CombinedOutput()
	if err != nil {
		t.Fatalf("a mount namespace of its own takes root: %v\n%s", err, out)
	}
	for _, want := range []string{
		"error <nil>", "measured as-is jpeg-90 packed-tar resized-256\n", "abstained packed-npy: ", "no space left on device", "--scratch FOLDER",
		"warning try: the scratch folder's disk is full: packed-npy was not measured", "left 0 <nil>",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}
