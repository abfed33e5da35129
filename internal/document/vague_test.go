package document

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// An interval of an order of magnitude or more is shown as it is, without a figure in it that would be believed.
func TestVagueIntervalsHaveNoCenter(t *testing.T) {
	for _, c := range []struct {
		effect report.Effect
		want   string
	}{
		{report.Effect{Metric: "items_per_s", Unit: "1/s", After: 100, Lo: 20, Hi: 1000},
			"cannot tell on this budget (20 – 1,000 items/s)"},
		{report.Effect{Metric: "samples_per_s", Unit: "1/s", After: 100, Lo: 0, Hi: 1000},
			"cannot tell from this watch (0 – 1,000 samples/s)"},
		{report.Effect{Metric: "samples_per_s", Unit: "1/s", After: 100, Lo: 90, Hi: 850}, "90 – 850 samples/s"},
	} {
		if got := effectText(c.effect); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	wide := &report.Metric{Center: 0.01, Lo: 0.001, Hi: 0.05, Confidence: 0.95, N: 3, Unit: "s", Basis: report.Measured}
	sure := &report.Metric{Center: 0.001, Lo: 0.00098, Hi: 0.00102, Confidence: 0.95, N: 9, Unit: "s",
		Basis: report.Measured}
	if got := figure(wide); got != "cannot tell" {
		t.Errorf("figure %q", got)
	}
	if got := times(wide, sure); !strings.HasPrefix(got, "cannot tell (0.98") {
		t.Errorf("times %q", got)
	}
	if got := times(sure, sure); strings.Contains(got, "cannot") {
		t.Errorf("times %q", got)
	}
	r := &report.Report{Forecast: &report.Forecast{Confidence: 0.9,
		Rows: []report.ForecastRow{{NumWorkers: 2, SamplesPerS: 77, Lo: 10, Hi: 510}}}}
	if cells := forecastSection(r).Parts[0].(*Table).Rows[0].Cells; cells[1].Text != "cannot tell" ||
		cells[2].Text != "10 – 510" {
		t.Errorf("%+v", cells)
	}
}
