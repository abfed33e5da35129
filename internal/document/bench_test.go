package document

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestABenchmarkSaysWhatOthersTook: as far as it is enough to be felt.
func TestABenchmarkSaysWhatOthersTook(t *testing.T) {
	for others, want := range map[float64]bool{1: true, 0.05: false} {
		r := &report.Report{Benchmark: &report.Benchmark{}, Metrics: map[string]report.Metric{
			metric.OtherCPU.Name: {Center: others}, metric.UsableCPUs.Name: {Center: 2}}}
		lines := strings.Join(benchMethod(r), "\n")
		if got := strings.Contains(lines, "other programs used 1 of 2 CPUs"); got != want {
			t.Errorf("%g: %q", others, lines)
		}
	}
}

// Where one process reads at another rate than the parts of an item come to, the section says so, and why.
func TestOneProcessBesideTheSumOfParts(t *testing.T) {
	figure := func(center, lo, hi, confidence float64) report.Metric {
		return report.Metric{Center: center, Lo: lo, Hi: hi, Confidence: confidence, N: 6, Unit: "1/s",
			Basis: report.Measured}
	}
	item := figure(0.01, 0.0098, 0.0102, 0.95) // 100 items/s
	for name, c := range map[string]struct {
		rate report.Metric
		said string
	}{
		"agrees":     {figure(99, 97, 101, 0.95), ""},
		"within 5 %": {figure(106.5, 106, 107, 0.95), ""},
		"slower": {figure(40, 38, 42, 0.95), "one process gives 40 items/s here, 100 by the sum of an item's " +
			"parts"},
		"faster":        {figure(440, 430, 450, 0.95), "measured apart and at another moment"},
		"one round":     {figure(440, 440, 440, 0), "too few rounds to tell"},
		"no such cache": {figure(440, 430, 450, 0.95), ""},
	} {
		cache := "warm"
		if name == "no such cache" {
			cache = "cold"
		}
		r := &report.Report{Metrics: map[string]report.Metric{metric.BenchItem.Name: item},
			Measurements: []report.Measurement{{
				Probe: report.ProbeScaling, Metric: metric.ItemRate.Name, Value: c.rate,
				Labels: map[string]string{report.LabelCache: cache, report.LabelOrder: "random",
					report.LabelWorkers: "1"}}}}
		got := measuredParts(r, groups(r, report.ProbeScaling)[0])
		if c.said == "" && got != "" || !strings.Contains(got, c.said) {
			t.Errorf("%s: %q, want %q", name, got, c.said)
		}
	}
}

// Blocks of a file are nobody's samples.
func TestBlocksAreNotCalledSamples(t *testing.T) {
	r := &report.Report{Benchmark: &report.Benchmark{Kind: "other"}, Forecast: &report.Forecast{Confidence: 0.9,
		Rows: []report.ForecastRow{{NumWorkers: 1, SamplesPerS: 100, Lo: 90, Hi: 110}}}}
	if got := forecastSection(r).Parts[0].(*Table).Columns[1].Name; got != "blocks/s" {
		t.Errorf("%q", got)
	}
	r.Benchmark.Kind = "hdf5"
	if got := forecastSection(r).Parts[0].(*Table).Columns[1].Name; got != "samples/s" {
		t.Errorf("%q", got)
	}
}

func TestUnreadItemsAreCountedApart(t *testing.T) {
	b := &report.Benchmark{Unread: []report.Unread{{Reason: "cut", Count: 1, Items: 64, Example: "a.h5"},
		{Reason: "gone", Count: 2, Example: "b.h5"}}}
	want := Facts{{"64 items of 1 file", "cut, such as a.h5"}, {"2 files", "gone, such as b.h5"}}
	if got := unreadSection(b).Parts[0]; !reflect.DeepEqual(got, Part(want)) {
		t.Errorf("%v", got)
	}
}

// What --try was kept from is said where its table would be, and nothing where nobody asked for it.
func TestWhatWasNotTriedSaysWhy(t *testing.T) {
	byRule := report.Abstained{Rule: "image/oversized", Missing: []string{report.ProbeTry}, Reason: "not asked for"}
	r := &report.Report{Abstained: []report.Abstained{byRule}}
	if s := trySection(r); !s.Empty() {
		t.Errorf("%+v", s)
	}
	r.Abstained = append(r.Abstained, report.Abstained{Missing: []string{report.ProbeTry}, Reason: "inflate() failed",
		Cure: "--scratch FOLDER"})
	want := []Part{Note("no other layout was tried: inflate() failed: --scratch FOLDER")}
	if s := trySection(r); !reflect.DeepEqual(s.Parts, want) {
		t.Errorf("%+v", s)
	}
}
