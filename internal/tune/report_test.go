package tune

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

func measuredAt(x float64) Rate {
	return Rate{Summary: stat.Summary{Center: x, Lo: 0.99 * x, Hi: 1.01 * x, Confidence: 0.95, N: 8}, Memory: 100,
		Shm: -1}
}

// tuningOf is a search of two settings of which one was chosen.
func tuningOf(chosen int, tried bool) *report.Tuning {
	set := func(workers, prefetch int) Setting {
		return Setting{Setting: predict.Setting{Workers: workers, Prefetch: prefetch}}
	}
	out := &report.Tuning{Outcome: report.TuningNone}
	fill(out, Result{Chosen: chosen, Tried: tried, Rows: []Row{
		{Setting: set(1, 2), Present: true, InLoop: measuredAt(20),
			Forecast: &report.Interval{Center: 20, Lo: 18, Hi: 22}},
		{Setting: set(4, 4), Alone: measuredAt(100), InLoop: measuredAt(80),
			Forecast: &report.Interval{Center: 95, Lo: 90, Hi: 99}},
		{Setting: set(9, 2), Alone: Rate{Why: "not tried: beyond /dev/shm", Memory: -1, Shm: -1}},
	}}, Job{Rate: measuredAt(20).Summary})
	return out
}

func TestTuningIsTold(t *testing.T) {
	got := tuningOf(1, true)
	if got.Outcome != report.TuningChange || *got.Chosen != 1 || got.Gain.Center != 4 ||
		got.Rows[0].Score != "inside" || got.Rows[1].Score != "below" {
		t.Errorf("%+v, rows %+v", got, got.Rows)
	}
	if r := got.Rows[2]; r.Alone != nil || r.InLoop != nil || r.Forecast != nil || r.Why == "" ||
		r.MemoryBytes != nil || *got.Rows[1].MemoryBytes != 100 {
		t.Errorf("rows %+v", got.Rows)
	}
	if got := tuningOf(0, true); got.Outcome != report.TuningNothing || *got.Chosen != 0 || got.Gain != nil {
		t.Errorf("nothing to gain: %+v", got)
	}
	for chosen, first := range map[int]string{0: "Nothing to gain", 1: "2.00 times as fast"} {
		out := &report.Tuning{}
		fill(out, Result{Chosen: chosen, Tried: true, Disturbed: true, Rows: []Row{
			{Present: true, InLoop: measuredAt(40)}, {InLoop: measuredAt(80)}}}, Job{Rate: measuredAt(20).Summary})
		if !strings.HasPrefix(out.Statement, first) || !strings.Contains(out.Statement,
			"gave 20 batches/s when it was watched and 40 beside") {
			t.Errorf("slower when it was watched: %q", out.Statement)
		}
	}
	unclear := &report.Tuning{}
	fill(unclear, Result{Tried: true, Open: 1.3, Rows: []Row{{Present: true}}}, Job{})
	if unclear.Outcome != report.TuningUnclear || unclear.Chosen != nil ||
		!strings.Contains(unclear.Statement, "1.30 times as fast") {
		t.Errorf("unclear: %+v", unclear)
	}
	if got := tuningOf(0, false); got.Outcome != report.TuningNone || got.Chosen != nil {
		t.Errorf("nothing measured: %+v", got)
	}
}

// TestWhatWasMeasuredIsDecided: findings, decisions and the patch name the setting that was measured, and no other.
func TestWhatWasMeasuredIsDecided(t *testing.T) {
	for _, c := range []struct {
		name     string
		tuning   *report.Tuning
		iterable bool
		want     map[string]string // to, by setting
		hold     string
	}{
		{"a change", tuningOf(1, true), false, map[string]string{"num_workers": "4", "prefetch_factor": "4",
			"HDF5 chunk shape": "1x2"}, ""},
		{"a change of an iterable dataset", tuningOf(1, true), true, map[string]string{"num_workers": "4",
			"prefetch_factor": "4", "HDF5 chunk shape": "1x2"}, report.HoldIterable},
		{"nothing to gain", tuningOf(0, true), false, map[string]string{"HDF5 chunk shape": "1x2"}, ""},
		{"nothing measured", tuningOf(0, false), false, map[string]string{"num_workers": "3",
			"HDF5 chunk shape": "1x2"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &report.Report{Verdict: &report.Verdict{Class: report.InputBound},
				Job: &report.Job{Loader: &report.Loader{Iterable: c.iterable}}, Tuning: c.tuning,
				Findings: []report.Finding{{Rule: "loader/workers-too-few", Severity: report.Error,
					Recommendations: []report.Recommendation{
						{Setting: "num_workers", To: "3"}, {Setting: "HDF5 chunk shape", To: "1x2"}}}}}
			Decide(r)
			got, found := map[string]string{}, map[string]string{}
			for _, d := range r.Decided() {
				got[d.Setting] = d.To
				if slices.Contains(tunedSettings, d.Setting) && d.Hold != c.hold {
					t.Errorf("%s is held by %q, want %q", d.Setting, d.Hold, c.hold)
				}
				if c.hold != "" && slices.Contains(tunedSettings, d.Setting) && !strings.HasPrefix(d.Caveat, c.hold) {
					t.Errorf("%s does not say what to see to: %q", d.Setting, d.Caveat)
				}
			}
			if several := c.tuning.Outcome == report.TuningChange; several != (r.Joint != nil) {
				t.Errorf("effect of all together: %+v", r.Joint)
			}
			for _, x := range r.Findings[0].Recommendations {
				found[x.Setting] = x.To
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("decisions (-want +got):\n%s", diff)
			}
			for setting, to := range found {
				if c.want[setting] != to {
					t.Errorf("a finding recommends %s=%s, decided is %q", setting, to, c.want[setting])
				}
			}
		})
	}
}
