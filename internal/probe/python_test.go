package probe

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// realPython is the interpreter tests use, which has the libraries.
func realPython(t testing.TB) string {
	t.Helper()
	python := must.Interpreter()
	if out, err := exec.Command(python, "-c", "import importlib.util as u; [u.find_spec(m).name for m in ('numpy', "+
		"'h5py', 'PIL', 'torch')]").CombinedOutput(); err != nil {
		t.Fatalf("%s lacks libraries (apt install python3-numpy python3-h5py python3-pil python3-torch, or set "+
			"PYTHON): %s", python, out)
	}
	return python
}

// sampleOf makes a sample of files, one item each.
func sampleOf(t *testing.T, source dataset.Source, paths ...string) dataset.Sample {
	t.Helper()
	s := dataset.Sample{Source: source}
	for i, path := range paths {
		info := must.Get(os.Lstat(path))(t)
		s.Files = append(s.Files, dataset.File{Path: []byte(path), Bytes: info.Size()})
		s.Items = append(s.Items, dataset.Ref{File: i, Bytes: info.Size()})
	}
	return s
}

// writePicture writes a picture that is not easily compressed, in the format of the name's ending.
func writePicture(t *testing.T, path string, width, height int) string {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			img.Set(x, y, color.RGBA{uint8(x * 3), uint8(y * 5), uint8(x * y), 255})
		}
	}
	var out bytes.Buffer
	if filepath.Ext(path) == ".png" {
		must.Do(t, png.Encode(&out, img))
	} else {
		must.Do(t, jpeg.Encode(&out, img, nil))
	}
	must.Do(t, os.WriteFile(path, out.Bytes(), 0o644))
	return path
}

// pythonSession is a session whose python probe has that much time.
func pythonSession(t testing.TB, argv []string, sample dataset.Sample, limit time.Duration) *session {
	return testSession(t, sample, Options{Python: argv, Seed: 1, Budget: limit})
}

// onlyOne returns the only such measurement of the python probe and fails without.
func onlyOne(t *testing.T, s *session, d metric.Desc, want ...string) report.Measurement {
	t.Helper()
	got := found(s.result, report.ProbePython, d, want...)
	if len(got) != 1 {
		t.Fatalf("%d measurements of %s %v, want 1, among %+v; warnings %q", len(got), d.Name, want,
			s.result.Rows.Measurements(), s.result.Warnings)
	}
	if v := got[0].Value; v.Center <= 0 || v.Lo > v.Center || v.Hi < v.Center || v.N < 1 {
		t.Errorf("%s %v: %+v", d.Name, want, v)
	}
	return got[0]
}

func TestPythonLibraries(t *testing.T) {
	list := must.Get(PythonLibraries(t.Context(), []string{realPython(t)}))(t)
	for _, name := range []string{"Python", "Pillow", "h5py", "numpy", "torch"} {
		if !slices.ContainsFunc(list, func(l string) bool {
			return strings.HasPrefix(l, name+" ") && strings.ContainsAny(l, "0123456789")
		}) {
			t.Errorf("no %s with its version in %q", name, list)
		}
	}
}

// A part that is not in the table is not sent.
func TestTimingPartsAreAll(t *testing.T) {
	entries := must.Get(timingFiles.ReadDir("python/timing"))(t)
	for _, e := range entries {
		if !slices.Contains(timingParts, "python/timing/"+e.Name()) {
			t.Errorf("%s is in no row of timingParts", e.Name())
		}
	}
}

func TestPythonPictures(t *testing.T) {
	sample := somePictures(t, 8)
	odd := filepath.Join(t.TempDir(), "not utf-8 \xff.jpg")
	must.Do(t, os.Rename(string(sample.Files[0].Path), odd))
	sample.Files[0].Path = []byte(odd)
	damage(t, sample, 2, int(sample.Files[2].Bytes/2))
	// a busy machine takes more than one second of these to start Python
	s := pythonSession(t, []string{realPython(t)}, sample, 5*time.Second)
	must.Do(t, timePython(t.Context(), s))
	for _, format := range []string{"jpeg", "png"} {
		onlyOne(t, s, metric.DecodeTime, "decoder=pillow", "format="+format)
	}
	if m := onlyOne(t, s, metric.ItemTime, "decoder=pillow"); m.Labels[report.LabelVersion] == "" ||
		m.Labels[report.LabelCache] != "warm" {
		t.Errorf("labels %v: want a version, and warm", m.Labels)
	}
	warned(t, s.result, "pillow cannot read 1 of 8 jpeg items")
	if s.result.Interpreter == "" || len(s.result.Libraries) == 0 {
		t.Errorf("interpreter %q with %q", s.result.Interpreter, s.result.Libraries)
	}
}

func TestPythonArraysAndWhatTorchAdds(t *testing.T) {
	python, dir := realPython(t), t.TempDir()
	must.Python(t, "-c", `
import h5py, numpy, sys
a = numpy.arange(40 * 6, dtype="f4").reshape(40, 2, 3)
with h5py.File(sys.argv[1] + "/a.h5", "w") as f:
    f["group/x"] = a
    f["soft"] = h5py.SoftLink("group/x")
    f["away"] = h5py.ExternalLink("a.h5", "/group/x")
numpy.save(sys.argv[1] + "/a.npy", a)
`, dir)
	for name, c := range map[string]struct {
		file    string
		source  dataset.Source
		decoder string
		torch   bool
	}{
		"hdf5":      {"a.h5", dataset.Source{Kind: dataset.HDF5, Dataset: "/group/x"}, "h5py", true},
		"soft link": {"a.h5", dataset.Source{Kind: dataset.HDF5, Dataset: "/soft"}, "h5py", false},
		"hdf5 patch": {"a.h5", dataset.Source{Kind: dataset.HDF5, Dataset: "/group/x", ItemShape: []int64{1, 2, 2}},
			"h5py", false},
		"npy": {"a.npy", dataset.Source{Kind: dataset.Npy}, "numpy", false},
	} {
		t.Run(name, func(t *testing.T) {
			sample := sampleOf(t, c.source, filepath.Join(dir, c.file))
			sample.Items = make([]dataset.Ref, 40)
			for i := range sample.Items {
				sample.Items[i].Index = int64(i)
				if c.source.ItemShape != nil {
					sample.Items[i].Corner = []int64{int64(i), 0, 1}
				}
			}
			limit := time.Second / 2
			if c.torch {
				limit += torchFrom + 2*time.Second
			}
			s := pythonSession(t, []string{python}, sample, limit)
			must.Do(t, timePython(t.Context(), s))
			for _, handle := range []string{handleKept, handleReopened} {
				onlyOne(t, s, metric.ItemTime, "decoder="+c.decoder, "handle="+handle)
			}
			if !c.torch {
				warned(t, s.result, "torch was left out")
				return
			}
			for _, decoder := range []string{"torch as_tensor", "torch collate", "torch dataloader"} {
				onlyOne(t, s, metric.ItemTime, "decoder="+decoder, "batch_size=32")
			}
			if len(s.result.Warnings) > 0 {
				t.Errorf("warnings %q", s.result.Warnings)
			}
		})
	}
	t.Run("an external link is not followed", func(t *testing.T) {
		sample := sampleOf(t, dataset.Source{Kind: dataset.HDF5, Dataset: "/away"}, filepath.Join(dir, "a.h5"))
		s := pythonSession(t, []string{python}, sample, time.Second)
		if err := timePython(t.Context(), s); err == nil || !strings.Contains(strings.Join(s.result.Warnings, ""),
			"external link") {
			t.Errorf("%v, %q, %+v", err, s.result.Warnings, s.result.Rows.Measurements())
		}
		sample.Follow = true
		s = pythonSession(t, []string{python}, sample, time.Second)
		if err := timePython(t.Context(), s); err != nil {
			t.Errorf("asked to follow it: %v, %q", err, s.result.Warnings)
		}
	})
}

// Raw bytes and archives are read by Python itself.
func TestPythonPlain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.bin")
	must.Do(t, os.WriteFile(path, bytes.Repeat([]byte("0123456789"), 5000), 0o644))
	for _, source := range []dataset.Source{{Kind: dataset.Other, BlockBytes: 4096}, {Kind: dataset.Tar}} {
		sample := sampleOf(t, source, path)
		sample.Items = []dataset.Ref{{At: 100, Bytes: 3000}, {Index: 3, At: 200, Bytes: 10}}
		s := pythonSession(t, []string{realPython(t)}, sample, time.Second/4)
		must.Do(t, timePython(t.Context(), s))
		onlyOne(t, s, metric.ItemTime, "decoder=python")
	}
}

// A pipe where a file was is never opened: that would wait for a writer.
func TestPythonNeverOpensAPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fifo.jpg")
	must.Do(t, unix.Mkfifo(path, 0o600))
	good := writePicture(t, filepath.Join(dir, "good.jpg"), 32, 32)
	s := pythonSession(t, []string{realPython(t)}, sampleOf(t, dataset.Source{Kind: dataset.Image}, path, good),
		time.Second)
	must.Do(t, timePython(t.Context(), s))
	onlyOne(t, s, metric.DecodeTime, "decoder=pillow")
}
