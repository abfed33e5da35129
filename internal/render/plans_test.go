package render

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// TestPlansShow: with plans, without any, and where nothing was modelled.
func TestPlansShow(t *testing.T) {
	r := load(t, fixtures+"/launch-plans.json")
	text := textOf(t, r)
	for _, want := range []string{"PLANS ", "moderate, medium risk   num_workers: 1 → 4",
		"Check it:  pipetune diagnose -o after.json -- ", "not calibrated on this machine",
		"Try it:   DataLoader(..., num_workers=4)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
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
