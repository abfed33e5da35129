package document

import (
	"math"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// The rows of a step sum to the whole of its time, whatever part of the time between epochs was waited for.
func TestStepRowsSumToTheWhole(t *testing.T) {
	for _, c := range []struct {
		name                    string
		wait, host, device, gap float64 // gap below 0: none
		between, rest           float64
	}{
		{"no gap", 0.6, 0.1, 0.3, -1, 0, 0},
		{"a gap that is all waited for", 0.6, 0.1, 0.3, 0.4, 0.4, 0},
		{"a gap that is partly starting workers", 0.67, 0.01, 0.23, 0.43, 0.43, 0},
		{"a gap that is nothing but that", 0.1, 0.1, 0.5, 0.3, 0.3, 0},
		{"less of a gap than is left", 0.1, 0.1, 0.5, 0.1, 0.1, 0.2},
		{"something is not known", 0.66, 0.02, 0.28, -1, 0, 0.04},
		{"a gap that noise makes too large", 0.3, 0.1, 0.6, 0.4, 0.3, 0},
	} {
		s := report.Step{InputWaitRatio: &c.wait, HostRatio: &c.host, DeviceRatio: &c.device}
		if c.gap >= 0 {
			s.EpochGapRatio = &c.gap
		}
		total := 0.0
		for _, row := range stepShares(s, 0) {
			if row.ratio == nil {
				continue
			}
			total += *row.ratio
			if want, told := map[string]float64{"between epochs": c.between, "unresolved": c.rest}[row.name]; told &&
				math.Abs(*row.ratio-want) > 1e-9 {
				t.Errorf("%s: %s %g, want %g", c.name, row.name, *row.ratio, want)
			}
		}
		if math.Abs(total-1) > leastRest {
			t.Errorf("%s: the rows sum to %g", c.name, total)
		}
	}
}

// TestOthersTurnsAreTheirs: of others' work on the device only what lies beside none of the job's shares delays it.
func TestOthersTurnsAreTheirs(t *testing.T) {
	for _, c := range []struct{ wait, device, others, own, turns float64 }{
		{0.02, 1, 0.5, 0.5, 0.48}, {0.75, 0.99, 0.87, 0.12, 0.13}, {0.02, 0.98, 0, 0.98, 0},
	} {
		got := map[string]float64{}
		for _, row := range stepShares(report.Step{InputWaitRatio: &c.wait, HostRatio: new(0.0),
			DeviceRatio: &c.device}, c.others) {
			if row.ratio != nil {
				got[row.name] = *row.ratio
			}
		}
		if math.Abs(got["device"]-c.own) > 1e-9 || math.Abs(got["device, others' turn"]-c.turns) > 1e-9 {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestBetweenEpochsIsShown(t *testing.T) {
	r := &report.Report{Verdict: &report.Verdict{Step: report.Step{InputWaitRatio: new(0.67), HostRatio: new(0.01),
		DeviceRatio: new(0.23), EpochGapRatio: new(0.43)}}}
	bars := stepSection(r).Parts[0].(Bars)
	if i := slices.IndexFunc(bars, func(b Bar) bool { return b.Name == "between epochs" }); i < 0 ||
		bars[i].Share != "43 %" {
		t.Errorf("%+v", bars)
	}
}

// Without workers the times are the trainer's own, of which training is a part.
func TestWhoseTimeGoes(t *testing.T) {
	for workers, want := range map[*int]string{new(0): "Where the trainer's time goes",
		new(1): "Where a worker's time goes", nil: "Where a worker's time goes"} {
		r := &report.Report{Job: &report.Job{Loader: &report.Loader{NumWorkers: workers}},
			Phases: []report.Phase{{Name: "collating", Ratio: 1}}}
		if got := phasesSection(r).Title; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
