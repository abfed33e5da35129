package replay

import (
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

const locked = "../../testdata/recordings/lock/"

func readLocked(t *testing.T, name string) *recording.Recording {
	t.Helper()
	return must.Read(t, locked+name+".jsonl.gz", must.Unzipped(recording.Read))
}

// Workers that share a lock are told that, and nobody is promised anything of more of them.
func TestWorkersShareALock(t *testing.T) {
	const rule = "loader/workers-share-a-lock"
	for _, name := range []string{"two-attached", "two-launched", "four-attached"} {
		r := reportOf(t, readLocked(t, name))
		if r.Verdict.Class != report.InputBound || r.Verdict.Rule != rule || r.Verdict.Resource != report.Lock {
			t.Errorf("%s: %s, led by %q", name, r.Verdict.Class, r.Verdict.Rule)
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
	e := must.Get(evidence.FromRecording(readLocked(t, name)))(t)
	l, ok := diagnose.LoaderOf(e, predict.Calibration{Model: 0.05})
	if !ok {
		t.Fatalf("%s: no model", name)
	}
	return l
}
