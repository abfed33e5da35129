package render

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/document"
	"github.com/pipetune/pipetune/pkg/report"
)

// A name that says that its figure is inferred is longer than the usual column: it must not touch the figure, nor make
// the line longer.
func TestLongNamesKeepClearOfTheirFigures(t *testing.T) {
	r := &report.Report{Metrics: map[string]report.Metric{
		"samples_per_s":    {Center: 281, Lo: 212, Hi: 351, Confidence: 0.95, Unit: "1/s", Basis: report.Inferred},
		"read_bytes_per_s": {Center: 2642, Lo: 2028, Hi: 3297, Confidence: 0.95, Unit: "B/s", Basis: report.Measured},
		"step_time_s":      {Center: 0.114, Lo: 0.0912, Hi: 0.151, Confidence: 0.95, Unit: "s", Basis: report.Measured},
		"free_step_time_s": {Center: 0.0356, Unit: "s", Basis: report.Modelled},
	}}
	got := textOf(t, r)
	if want := "Throughput, samples (inferred) 281 /s "; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	checkWidth(t, Report(r), got, usual)
}

// Where all names fit the columns stay where readers of earlier reports find them.
func TestFigureColumnsStayWhereNamesFit(t *testing.T) {
	rows := document.Figures{{Name: "Trainer waits for data", Now: "73 %", Interval: "68 – 78 %"}}
	if got := figureWidths(rows); got != [3]int{26, 13, 20} {
		t.Errorf("%v", got)
	}
}
