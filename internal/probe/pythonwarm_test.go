package probe

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// readsItAll is an interpreter that answers the question about its libraries, and else reads a file whole and writes
// down how many bytes of it came from storage.
func readsItAll(t *testing.T, path, into string) []string {
	t.Helper()
	return fakePython(t, asLibraries(fmt.Sprintf(`exec %s -c '
def stored():
    return int(dict(line.split(": ") for line in open("/proc/self/io").read().splitlines())["read_bytes"])
before = stored()
open("%s", "rb").read()
open("%s", "w").write(str(stored() - before))'`, must.Interpreter(), path, into)))
}

// The probe before ends with cold reads, which leave nothing of the sample in the page cache: a library that met it so
// would be timed waiting for storage, under the label warm.
func TestPythonMeetsAWarmSample(t *testing.T) {
	gzip, layout := surveyedHDF5(t, "gzip", "a.h5")
	plain, contiguous := surveyedHDF5(t, "plain", "a.h5")
	raw := rawSample(t, 64<<10, 64, "a")
	for name, c := range map[string]struct {
		sample dataset.Sample
		layout *dataset.Access
	}{"hdf5": {gzip, layout}, "hdf5 contiguous": {plain, contiguous}, "raw": {raw, nil}} {
		t.Run(name, func(t *testing.T) {
			path, into := string(c.sample.Files[0].Path), filepath.Join(t.TempDir(), "stored")
			s := pythonSession(t, readsItAll(t, path, into), c.sample, 4*time.Second)
			s.options.Layout = c.layout
			if r, err := s.residency(t.Context(), true); err != nil || r.Cached*2 > r.Pages {
				t.Fatalf("dropping the sample's pages: %+v, %v", r, err)
			}
			_ = timePython(t.Context(), s) // which it times nothing in is an error
			text := must.Get(os.ReadFile(into))(t)
			stored, err := strconv.ParseInt(string(text), 10, 64)
			if size := c.sample.Files[0].Bytes; err != nil || float64(stored) > warmShare*float64(size) {
				t.Errorf("%s of %d bytes came from storage when the interpreter read them", text, size)
			}
		})
	}
}

// Where the time is too short for the whole sample, the interpreter is sent what was read of it.
func TestPythonIsSentWhatWasRead(t *testing.T) {
	sample, layout := surveyedHDF5(t, "gzip", "a.h5")
	s := pythonSession(t, nil, sample, time.Second)
	s.options.Layout = layout
	part, ok, err := s.warmed(t.Context(), begin(s.clock, 0))
	if err != nil || !ok || len(part.Items) == 0 || len(part.Items) > len(sample.Items) {
		t.Errorf("%d of %d items, %v, %v", len(part.Items), len(sample.Items), ok, err)
	}
	if part, ok, err = s.warmed(t.Context(), begin(s.clock, 10*time.Second)); err != nil || !ok ||
		len(part.Items) != len(sample.Items) {
		t.Errorf("with time enough: %d of %d items, %v, %v", len(part.Items), len(sample.Items), ok, err)
	}
}

// A filter that pipetune's libhdf5 lacks, or items that vary in length, keep pipetune from reading them, and not the
// person's own Python; the files' bytes are in the page cache all the same.
func TestPythonOfItemsThatPipetuneCannotRead(t *testing.T) {
	for name, made := range map[string]string{
		"lzf":             `f.create_dataset("x", data=n.zeros((64, 100), "f4"), chunks=(8, 100), compression="lzf")`,
		"variable length": `f.create_dataset("x", shape=(64,), dtype=h5py.vlen_dtype("i4"))[:] = [n.arange(i + 1) for i in range(64)]`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.h5")
			must.Python(t, "-c", "import sys, h5py, numpy as n\nwith h5py.File(sys.argv[1], 'w') as f:\n    "+made,
				path)
			sample, layout := surveyed(t, path)
			s := pythonSession(t, []string{realPython(t)}, sample, time.Second)
			s.options.Layout = layout
			if _, err := s.measure(t.Context(), s.shuffled("reading"), begin(s.clock, time.Second)); err == nil {
				t.Fatal("pipetune reads it")
			}
			if err := timePython(t.Context(), s); err != nil {
				t.Fatalf("%v, %q", err, s.result.Warnings)
			}
			onlyOne(t, s, metric.ItemTime, "decoder=h5py", "handle=kept", "cache=warm")
		})
	}
}

// A file that cannot be read whole in time is not said to be warm.
func TestPythonOfAFileTooLongToReadWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.h5")
	must.Python(t, "-c", compressed(16)+"    f['group/lzf'] = 0\n    f.create_dataset('lzf', "+
		"data=n.zeros((64, 100), 'f4'), chunks=(8, 100), compression='lzf')\n", path)
	r := must.Get(dataset.Survey(path, dataset.SurveyOptions{Seed: 1, Dataset: "lzf"}))(t)
	r.Sample.Files[0].Bytes = (mostBlocks + 1) * wholeBlock // as if
	s := pythonSession(t, []string{realPython(t)}, r.Sample, time.Second)
	if err := timePython(t.Context(), s); err != nil {
		t.Fatalf("%v, %q", err, s.result.Warnings)
	}
	timed := found(s.result, report.ProbePython, metric.ItemTime, "decoder=h5py")
	if len(timed) == 0 {
		t.Errorf("h5py is not timed: %+v", s.result.Rows.Measurements())
	}
	for _, m := range timed {
		if m.Labels[report.LabelCache] != "" {
			t.Errorf("%v: not known to be warm", m.Labels)
		}
	}
}

// Where the time brings in no more of a sample than the chunk cache holds, reading that again and again is not what a
// training does: so many chunks take longer than no time, and all but one of them fit into the cache.
func TestPartThatTheChunkCacheHoldsIsNotMeasured(t *testing.T) {
	const items, chunk = 1600, 32 << 10
	path := filepath.Join(onDisk(t), "a.h5")
	must.Python(t, "-c", fmt.Sprintf("import sys, h5py, numpy as n\nwith h5py.File(sys.argv[1], 'w') as f:\n    "+
		"f.create_dataset('x', data=n.ones((%d, %d), 'u1'), chunks=(1, %[2]d))", items, chunk), path)
	sample, layout := surveyed(t, path)
	sample.ChunkCacheBytes = new(int64(len(sample.Items)-1) * chunk)
	s := testSession(t, sample, Options{Layout: layout})
	way := s.shuffled("reading")
	way.keep = s.keepRead
	if r, err := s.measure(t.Context(), way, begin(s.clock, 0)); err == nil || !strings.Contains(err.Error(), "cache") {
		t.Errorf("%+v, %v", r, err)
	}
	if err := s.figure(t.Context(), way, begin(s.clock, 0)); err != nil || len(s.result.Abstained) != 1 {
		t.Errorf("cold reads, which follow: %v; %+v", err, s.result.Abstained)
	}
	larger := sample
	larger.ChunkCacheBytes = new(int64(len(sample.Items)) * chunk)
	way.sample = &larger // of the sweep over caches
	if r, err := s.measure(t.Context(), way, begin(s.clock, 0)); err != nil || r.time.N == 0 {
		t.Errorf("with a cache for all: %+v, %v", r, err)
	}
	way.sample = nil
	if part, ok := s.readOnce(t.Context(), begin(s.clock, 0)); ok {
		t.Errorf("%d items for the interpreter", len(part.Items))
	}
	if r, err := s.measure(t.Context(), way, begin(s.clock, 10*time.Second)); err != nil || r.time.N == 0 {
		t.Errorf("with time enough: %+v, %v", r, err)
	}
}
