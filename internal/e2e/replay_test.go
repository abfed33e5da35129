package e2e

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// suiteRecordings holds what E2E_KEEP kept of each row of the suite, with its stop-watch
// (testdata/recordings/README.md).
const suiteRecordings = "../../testdata/recordings/suite"

// TestSuiteReplayed judges the recordings of the suite's jobs anew, and holds each report to the bounds of the live
// row. A row that has no recording fails.
func TestSuiteReplayed(t *testing.T) {
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec, stopwatch := unpack(t, c.name)
			meetsRow(t, c, rec, must.Get(readStopwatches(stopwatch))(t), 0)
		})
	}
}

// TestOldReplayed does the same with those of PyTorch 1.13, of the rows in which it differs from the newest.
func TestOldReplayed(t *testing.T) {
	old := must.Get(filepath.Glob(filepath.Join(suiteRecordings, "old", "*.jsonl.gz")))(t)
	if len(old) == 0 {
		t.Fatal("no recordings")
	}
	for _, path := range old {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl.gz")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec, stopwatch := unpack(t, "old/"+name)
			meetsRow(t, of(name), rec, must.Get(readStopwatches(stopwatch))(t), 0)
		})
	}
}

// besideSuite are recordings whose stop-watch is one table, by their names, and the rows of the table that they are of:
// variations, which have no others, and feeders under other load.
var besideSuite = map[string]string{
	"batches-pickled": "numpy_batches", "two-ranks": "ddp_two_ranks", "workers-restart-spawn": "workers_restart_spawn",
	"fed-by-pool": "feeders_pool", "fed-by-thread": "feeders_threads",
}

// TestOthersReplayed does the same with recordings beside the suite.
func TestOthersReplayed(t *testing.T) {
	for name, row := range besideSuite {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec, stopwatch := beside(t, name)
			meetsRow(t, of(row), rec, [][]reading{stopwatch}, stopwatch[1].T) // one begins within the window
		})
	}
}

// beside reads a recording beside the suite, and its stop-watch.
func beside(t *testing.T, name string) (rec *recording.Recording, stopwatch []reading) {
	t.Helper()
	path := filepath.Join(filepath.Dir(suiteRecordings), name)
	rec = must.Read(t, path+".jsonl", recording.Read)
	for _, r := range must.Read(t, path+".stopwatch.json", must.JSON[struct{ Rows [][3]float64 }]).Rows {
		stopwatch = append(stopwatch, reading{T: rec.Header.StartMonotonic.Seconds() + r[0], Wait: r[1], Batches: r[2]})
	}
	return rec, stopwatch
}

// How far exact figures may be from the trainer's own stop-watch: as a part of them, and by what the hook itself takes
// to tell of a step, which is waiting to the stop-watch and none to the hook. On two full cores that was seen at 0.14
// to 0.58 ms a step where each step is reported.
const (
	hookTolerance = 0.01
	hookOwn       = 0.6e-3 // seconds per batch
)

// TestExactFiguresReplayed holds what is derived of launched jobs to the trainer's stop-watch, up to the moment to
// which the hook reported. The stop-watch counts the waits of evaluations too, and batches of training alone.
func TestExactFiguresReplayed(t *testing.T) {
	for _, name := range []string{"launched-evaluation", "launched-hdf5-per-item", "launched-no-workers"} {
		rec, stopwatch := beside(t, name)
		e := must.Get(evidence.FromRecording(rec))(t)
		start := rec.Header.StartMonotonic
		a, ok := at(stopwatch, (start + e.Window.Start).Seconds())
		b, ok2 := at(stopwatch, min((start+e.Window.End).Seconds(), total(rec, metric.HookClock)))
		evaluated, _ := e.Get(metric.Evaluation)
		there, _ := e.Get(metric.EvalWait)
		waits, ok3 := e.Get(metric.InputWait)
		rate, ok4 := e.Get(metric.BatchesPerS)
		if !ok || !ok2 || !ok3 || !ok4 {
			t.Fatalf("%s: %+v to %+v; input wait %+v, batches %+v", name, a, b, waits, rate)
		}
		took, trained, batches := b.T-a.T, 1-evaluated.Center, b.Batches-a.Batches
		all, inside := waits.Center*trained+there.Center, (b.Wait-a.Wait)/took
		if all-inside > hookTolerance*inside || inside-all > hookTolerance*inside+hookOwn*batches/took {
			t.Errorf("%s: input wait %.4f, the trainer timed %.4f", name, all, inside)
		}
		if got := rate.Center * trained * took; math.Abs(got-batches) > max(hookTolerance*batches, 1) {
			t.Errorf("%s: %.2f batches, the trainer counted %.2f", name, got, batches)
		}
	}
}

// meetsRow fails the test unless the report on a recording meets the bounds of a row, by stop-watches from a moment on.
func meetsRow(t *testing.T, c testCase, rec *recording.Recording, ranks [][]reading, since float64) {
	t.Helper()
	rep := reportOn(t, rec)
	from, to := window(rep, 0, 0)
	from = max(from, since)
	inside, ok := over(ranks, from, to)
	if !ok || rep.Verdict == nil {
		t.Fatalf("the stop-watch reaches over %.1f to %.1f s: %t; verdict %+v", from, to, ok, rep.Verdict)
	}
	o := outcome{testCase: c, rep: rep, inside: inside}
	meets(t, o.try(), o.figures)
}

// TestLaunchesReplayed does the same with the launched jobs.
func TestLaunchesReplayed(t *testing.T) {
	for _, c := range launchCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec, stopwatch := unpack(t, "launch-"+c.name)
			l := gather(t, c, reportOn(t, rec), rec, stopwatch)
			meets(t, l.try(), l.row)
		})
	}
}

// meets fails the test unless an attempt meets all its bounds. There is no other attempt at a recording.
func meets(t *testing.T, one try, figures func() string) {
	t.Helper()
	if !one.met() {
		t.Errorf("%s: %s", figures(), one)
	}
}

// unpack returns a recording, and the path that its stop-watches were unpacked to.
func unpack(t *testing.T, name string) (rec *recording.Recording, stopwatch string) {
	t.Helper()
	packed := must.Get(filepath.Glob(filepath.Join(suiteRecordings, name+".*.gz")))(t)
	if len(packed) == 0 {
		t.Fatalf("no recording: keep one by E2E_KEEP=DIR E2E_JOBS='^%s$' make e2e", name)
	}
	dir := t.TempDir()
	for _, path := range packed {
		text := must.Read(t, path, must.Unzipped(io.ReadAll))
		must.Do(t, os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".gz")), text, 0o644))
	}
	into := filepath.Join(dir, filepath.Base(name))
	return must.Read(t, into+".jsonl", recording.Read), into + ".stopwatch"
}
