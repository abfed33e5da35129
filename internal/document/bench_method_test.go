package document

import (
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
