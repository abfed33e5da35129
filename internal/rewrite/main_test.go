package rewrite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestMain makes this program its own child: started as "__child rewrite" it serves the task.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "__child" {
		requests, answers := isolate.Pipes()
		os.Exit(isolate.Serve(isolate.Table{Task: Handler()}, os.Args[2], requests, answers))
	}
	if len(os.Args) > 3 && os.Args[1] == "__role" {
		roles[os.Args[2]](os.Args[3])
		return
	}
	os.Exit(m.Run())
}

// run is a run of bench-io that reads each item of a copy once and finds it to take a second.
type run struct {
	sample    *dataset.Sample
	ends      time.Time
	clock     func() time.Time
	bad       map[int]bool // items that could not be read
	failures  []dataset.Failure
	warnings  []string
	abstained []report.Abstained
	read      []string
	spare     int64 // bytes of memory; 0 is without end
}

func (r *run) Left() time.Duration { return max(0, r.ends.Sub(r.clock())) }

func (r *run) Sound() (items []int) {
	for i := range r.sample.Items {
		if !r.bad[i] {
			items = append(items, i)
		}
	}
	return items
}

func (r *run) Note(failures []dataset.Failure) {
	for _, f := range failures {
		if !r.bad[f.Item] {
			r.bad[f.Item] = true
			r.failures = append(r.failures, f)
		}
	}
}

func (r *run) CanBeCold(context.Context) (bool, error) { return true, nil }
func (r *run) Warn(text string)                        { r.warnings = append(r.warnings, text) }

func (r *run) Spare() int64 { return cmp.Or(r.spare, 1<<40) }

func (r *run) Abstain(reason, cure string) {
	r.abstained = append(r.abstained, report.Abstained{Reason: reason, Cure: cure})
}

func (r *run) Read(ctx context.Context, c Copy, _ time.Duration) error {
	files := dataset.NewOpened(*c.Sample, dataset.Source.Open)
	defer files.Forget()
	for _, ref := range c.Sample.Items {
		if _, err := files.Read(ref); err != nil {
			return err
		}
	}
	if len(c.Sample.Items) == 0 {
		return fmt.Errorf("%s holds no items", c.What)
	}
	caches := []string{benchmark.Warm}
	if c.Cold {
		caches = append(caches, benchmark.Cold)
	}
	for _, cache := range caches {
		r.read = append(r.read, c.What+" "+cache)
		c.Keep(benchmark.Read{Way: benchmark.Way{Cache: cache, Order: benchmark.Random}, Time: stat.Exact(1)})
	}
	return ctx.Err()
}

// writing is a sample that is to be rewritten, and the run that it is measured in.
type writing struct {
	*Job
	*run
}

func jobOf(runner *isolate.Runner, sample dataset.Sample, layout *dataset.Access) writing {
	r := &run{sample: &sample, clock: time.Now, ends: time.Now().Add(time.Second), bad: map[int]bool{}}
	return writing{&Job{Bench: r, Runner: runner, Sample: &sample, Layout: layout, Rows: &benchmark.Rows{}}, r}
}

// trying is a job for what lies at a path, which has a moment.
func trying(t *testing.T, path string) writing {
	t.Helper()
	sample, access := surveyed(t, path)
	return jobOf(newRunner(t), sample, access)
}

func newRunner(t testing.TB) *isolate.Runner {
	t.Helper()
	r := isolate.New(isolate.Config{Args: []string{"__child"}})
	t.Cleanup(r.Close)
	return r
}

// interrupted ends a step's context when such a file was written below a folder, where nothing may be left.
func interrupted(t *testing.T, w writing, step func(context.Context, *Job) error, below, file string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	w.clock = func() time.Time {
		if files, _ := filepath.Glob(filepath.Join(below, "pipetune-*", file)); len(files) > 0 {
			cancel()
		}
		return time.Now()
	}
	_ = step(ctx, w.Job) // that it ended early is seen by the context
	if ctx.Err() == nil {
		t.Fatal("it was never interrupted")
	}
	nothingLeft(t, below)
}

// names lists the candidates that were measured warm, and those whose size is known.
func (w writing) names() (measured, sized []string) {
	for _, c := range w.Rows.Tried {
		if c.Warm.Time.N > 0 {
			measured = append(measured, c.Name)
		}
		if c.Size.N > 0 {
			sized = append(sized, c.Name)
		}
	}
	slices.Sort(measured)
	slices.Sort(sized)
	return measured, sized
}

func (w writing) tried(name string) benchmark.Candidate {
	for _, c := range w.Rows.Tried {
		if c.Name == name {
			return c
		}
	}
	return benchmark.Candidate{}
}

// hdf5Of is the script for an HDF5 file of 256 items of so many rows and columns in compressed chunks of 64.
func hdf5Of(side int) string {
	return fmt.Sprintf(`import sys, h5py, numpy as n
with h5py.File(sys.argv[1], "w") as f:
    f.create_dataset("group/images", data=n.arange(256*%[1]d*%[1]d, dtype="f4").reshape(256, %[1]d, %[1]d) // 7,
                     chunks=(64, %[1]d, %[1]d), compression="gzip")
`, side)
}

// surveyed is what lies at a path, as bench-io finds it.
func surveyed(t *testing.T, path string) (dataset.Sample, *dataset.Access) {
	t.Helper()
	r := must.Get(dataset.Survey(path, dataset.SurveyOptions{Seed: 1}))(t)
	return r.Sample, r.Access
}

// pngs writes PNG files of the given widths and heights into a folder.
func pngs(t *testing.T, dir string, sizes ...image.Point) {
	t.Helper()
	for i, size := range sizes {
		p := image.NewNRGBA(image.Rectangle{Max: size})
		for at := range size.X * size.Y {
			x, y := at%size.X, at/size.X
			p.SetNRGBA(x, y, color.NRGBA{byte(x), byte(y * 3), byte(i * 40), 255})
		}
		var file bytes.Buffer
		must.Do(t, png.Encode(&file, p))
		written(t, filepath.Join(dir, fmt.Sprintf("%d.png", i)), file.Bytes())
	}
}

func written(t *testing.T, path string, content []byte) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, content, 0o600))
}
