package replay

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// starving is the report on a recording of a job that lacks data, by this rule.
func starving(t *testing.T, name, rule string) *report.Report {
	t.Helper()
	r := reportOf(t, zipped(t, name))
	if r.Verdict.Class != report.InputBound || r.Verdict.Rule != rule {
		t.Fatalf("%s: %s, led by %q", name, r.Verdict.Class, r.Verdict.Rule)
	}
	return r
}

// Workers that share a lock are told that, and nobody is promised anything of more of them.
func TestWorkersShareALock(t *testing.T) {
	const rule = "loader/workers-share-a-lock"
	for _, name := range []string{"two-attached", "two-launched", "four-attached"} {
		r := starving(t, "lock/"+name, rule)
		if r.Verdict.Resource != report.Lock {
			t.Errorf("%s: the resource is %q", name, r.Verdict.Resource)
		}
		if len(r.Plans) != 0 || r.Outlook == nil || r.Outlook.Limit != "a lock that the workers share" {
			t.Errorf("%s: %d plans, %+v", name, len(r.Plans), r.Outlook)
		}
		for _, f := range r.Findings {
			for _, c := range f.Recommendations {
				if c.Setting == "num_workers" {
					t.Errorf("%s: %s recommends num_workers=%s", name, f.Rule, c.To)
				}
			}
			if f.Rule == rule && !slices.ContainsFunc(f.Unhelpful, func(u report.Unhelpful) bool {
				return u.Setting == "num_workers" && u.Direction == report.Up
			}) {
				t.Errorf("%s: nothing speaks against more workers: %+v", name, f.WontHelp)
			}
		}
	}
}

// What the model says of four workers from a watch of two holds the rate that four had, and of two from four likewise.
func TestOtherNumbersOfWorkersThatShareALock(t *testing.T) {
	two, four := modelOf(t, "two-attached"), modelOf(t, "four-attached")
	for _, c := range []struct {
		name     string
		from     *diagnose.Loader
		workers  int
		had      float64
		promised float64 // at most so many times what there was
	}{
		{"four workers, seen two", two, 4, four.Now.Center, 1.05},
		{"two workers, seen four", four, 2, two.Now.Center, 1},
	} {
		e := c.from.WithWorkers(c.workers)
		if e == nil || c.had < e.Lo || c.had > e.Hi || e.After > c.promised*e.Before {
			t.Errorf("%s: %+v, had %g", c.name, e, c.had)
		}
	}
}

func modelOf(t *testing.T, name string) *diagnose.Loader {
	t.Helper()
	e := must.Get(evidence.FromRecording(zipped(t, "lock/"+name)))(t)
	l, ok := diagnose.LoaderOf(e, predict.Calibration{Model: 0.05})
	if !ok {
		t.Fatalf("%s: no model", name)
	}
	return l
}

// TestReadsOfMuchMoreThanBatchesHold: for each item two workers go through a table of SQLite that has no index, or
// unpack a gzip file that they keep open, from its beginning. What came of an index, and of a file that is not
// compressed, is within what is promised, to 2 %.
func TestReadsOfMuchMoreThanBatchesHold(t *testing.T) {
	for name, came := range map[string]float64{"sqlite-attached": 92.5, "sqlite-launched": 8 * 92.5,
		"gzip-attached": 89.1, "gzip-launched": 8 * 89.1} {
		r := starving(t, "amplified/"+name, "storage/read-amplification")
		e := r.Findings[0].Recommendations[0].Effect
		if e == nil || came < 0.98*e.Lo || came > 1.02*e.Hi || e.Lo < 1.2*e.Before {
			t.Errorf("%s: %+v promised, %g came", name, e, came)
		}
	}
}

// TestShortEpochs is a loop of 20 steps of 20 ms an epoch, whose two workers are born again with each: it waited 15.4 %
// of its time for data, worked the rest, and made 43.3 batches/s with workers that persist. Samples timed how one set
// gave way to the next; the counters of the loader, told four times a second, put the wait into the epochs and advised
// a deeper queue.
func TestShortEpochs(t *testing.T) {
	const waited, came = 0.154, 43.3
	r := starving(t, "restarts/short-epochs", "loader/workers-restart")
	s := r.Verdict.Step
	if math.Abs(*s.InputWaitRatio-waited) > 0.03 || math.Abs(*s.DeviceRatio-(1-waited)) > 0.03 ||
		*s.EpochGapRatio < waited/2 {
		t.Errorf("waits %.3f, works %.3f, between epochs %.3f", *s.InputWaitRatio, *s.DeviceRatio, *s.EpochGapRatio)
	}
	advice := r.Findings[0].Recommendations[0]
	if e := advice.Effect; advice.Setting != "persistent_workers" || e == nil || came < e.Lo || came > e.Hi {
		t.Errorf("%s: %+v promised, %v came", advice.Setting, e, came)
	}
}

// TestSamplerThatTakesOfEachStep: a sampler computes 6 ms of each step in the main thread, in next(), and the step then
// sleeps 10 ms for its device. What it computes is no work of the step's own, whoever makes the batches.
func TestSamplerThatTakesOfEachStep(t *testing.T) {
	for _, workers := range []string{"none", "two"} {
		r := starving(t, "sampler/"+workers, "loader/sampler-cost")
		if s := r.Verdict.Step; s.HostRatio == nil || *s.HostRatio > 0.05 || s.DeviceRatio == nil ||
			*s.DeviceRatio < 0.53 || *s.DeviceRatio > 0.63 {
			t.Errorf("%s: a step is %+v", workers, s)
		}
	}
}

// TestWorkersThatWaitForTheirThreads: two workers read a Parquet file for each item, by PyArrow's pool of threads, on
// two CPUs. The model of the loader makes what was seen, reading again leads, and what was measured after either change
// is in what they promise: 68.5 batches/s of 16 with the table kept, 12.4 with OMP_NUM_THREADS=1.
func TestWorkersThatWaitForTheirThreads(t *testing.T) {
	for _, c := range []struct {
		name string
		unit float64 // of a batch
	}{{"attached", 1}, {"launched", 16}} {
		r := starving(t, "threads/"+c.name, "storage/chunk-read-again")
		for _, doubt := range r.Verdict.Doubts {
			if strings.Contains(doubt, "the model makes") {
				t.Errorf("%s: %s", c.name, doubt)
			}
		}
		after := map[string]float64{"opening the data file": 68.5, "threads per worker": 12.4}
		for _, f := range r.Findings {
			for _, advice := range f.Recommendations {
				rate, measured := after[advice.Setting]
				if !measured {
					continue
				}
				delete(after, advice.Setting)
				rate *= c.unit
				if e := advice.Effect; e == nil || rate < e.Lo || rate > e.Hi || e.Lo < 0.95*e.Before {
					t.Errorf("%s: %s brings %+v, measured %g", c.name, advice.Setting, e, rate)
				}
			}
		}
		if len(after) > 0 {
			t.Errorf("%s: not recommended: %v", c.name, after)
		}
	}
}
