package render

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestPlansShow: of a calibrated model, without plans, and where nothing was modelled; a golden has the usual case.
func TestPlansShow(t *testing.T) {
	r := load(t, fixtures+"/launch-plans.json")
	r.Outlook.Calibrated = "on 60 runs"
	if text := textOf(t, r); strings.Contains(text, "not calibrated") || !strings.Contains(text, "on 60 runs") {
		t.Error("where the model was calibrated is not said")
	}
	r.Plans, r.Outlook.Statement = nil, "The training step is the limit."
	if text := textOf(t, r); !strings.Contains(text, "The training step is the limit.") ||
		strings.Contains(text, "Check it") || strings.Contains(text, "calibrated") {
		t.Errorf("without plans:\n%s", text)
	}
	r.Outlook = nil
	if text := textOf(t, r); strings.Contains(text, "PLANS") {
		t.Errorf("without an outlook:\n%s", text)
	}
}

// TestPlansWithHoles: what a hand-edited file may lack.
func TestPlansWithHoles(t *testing.T) {
	n, less := 0.0, int64(-1<<20)
	r := &report.Report{Plans: []report.Plan{{}, {Name: "moderate", Risk: "low", Changes: []report.Recommendation{{},
		{Setting: "x"}}, StepTimeS: &n, ExtraMemoryBytes: &less, ExtraShmBytes: &less}}}
	text := textOf(t, r)
	if !strings.Contains(text, "1 MiB less memory") || !strings.Contains(text, "?") {
		t.Errorf("%s", text)
	}
	checkWidth(t, Report(r), text, usual)
	if got := written(t, "md", Report(r), Options{}); !strings.Contains(got, "<summary>Plans</summary>") {
		t.Errorf("%s", got)
	}
}

// TestForecastShows: with a step and without, in both formats, and nothing where there is none.
func TestForecastShows(t *testing.T) {
	r := load(t, fixtures+"/bench-contiguous.json")
	if strings.Contains(textOf(t, r), "DATALOADER") {
		t.Error("a section of nothing")
	}
	step, wait, share, bytes := 0.03, 0.0352, 0.54, int64(36<<10)
	r.Forecast = &report.Forecast{Statement: "num_workers=2 gives 982 samples/s.", BatchSize: 64, BatchSizeGiven: true,
		StepTimeS: &step, TransformTimeS: 0.002, ItemTimeS: 3.2e-6, Item: "warm", PrefetchFactor: 2, Confidence: 0.9,
		Rows: []report.ForecastRow{{NumWorkers: 2, SamplesPerS: 982, Lo: 975, Hi: 987, WaitS: &wait,
			InputWaitRatio: &share, QueueBytes: &bytes, Limit: "the CPUs"}, {NumWorkers: 200000, SamplesPerS: 1e12,
			Lo: 1e11, Hi: 1e12, Limit: strings.Repeat("x", 500)}}}
	text := textOf(t, r)
	for _, want := range []string{"DATALOADER", "modelled: batch_size 64, prefetch_factor 2", "wait/step", "35.2 ms",
		"54 %", "36 KiB", "num_workers=2 gives 982 samples/s."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	checkWidth(t, Report(r), text, usual)
	r.Forecast.StepTimeS, r.Forecast.BatchSizeGiven = nil, false
	if text := textOf(t, r); strings.Contains(text, "wait/step") ||
		!strings.Contains(text, "batch_size 64 (assumed)") || !strings.Contains(text, "--step-time") {
		t.Errorf("without a step:\n%s", text)
	}
	checkHostile(t, r)
}

// checkHostile puts payloads into the forecast's words.
func checkHostile(t *testing.T, r *report.Report) {
	t.Helper()
	for _, p := range untrustedtest.Payloads {
		r.Forecast.Statement, r.Forecast.Item, r.Forecast.Rows[0].Limit = p, p, p
		checkVisible(t, "text", p, textOf(t, r))
		checkVisible(t, "md", p, written(t, "md", Report(r), Options{}))
	}
}
