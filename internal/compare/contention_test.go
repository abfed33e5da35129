package compare

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// TestContention: what others took more of full CPUs may be the job's loss, up to the time that its threads stood ready
// without one.
func TestContention(t *testing.T) {
	side := func(others, job, busy, mainDelay, workerDelay float64) []*report.Report {
		m := map[string]report.Metric{}
		for name, x := range map[string]float64{"other_cpu_cores": others, "job_cpu_cores": job,
			"usable_cpu_busy_ratio": busy,
			"main_run_delay_ratio":  mainDelay, "worker_run_delay_ratio": workerDelay} {
			if x >= 0 {
				m[name] = report.Metric{Center: x, Lo: x, Hi: x}
			}
		}
		return []*report.Report{{Metrics: m}}
	}
	const unknown = -1
	workerless := func(runs []*report.Report) []*report.Report {
		runs[0].Metrics["num_workers"] = report.Metric{}
		return runs
	}
	for _, c := range []struct {
		name          string
		before, after []*report.Report
		want          float64
	}{
		{"CPUs left", side(0, 1, 0.5, 0, 0), side(0.4, 1, 0.7, 0, 0.4), 0},
		{"computing workers lose what others take", side(0, 2, 1, 0, 0), side(1, 1, 1, 0, 0.5), 0.5},
		{"sleeping workers need little", side(1.6, 0.4, 1, 0.01, 0.04), side(1.2, 0.1, 0.8, 0, 0), -0.05},
		{"delays not known", side(1.6, 0.4, 1, unknown, unknown), side(1.2, 0.1, 0.8, 0, 0), -1},
		{"no workers", side(0, 1, 1, 0.1, 0), workerless(side(1, 1, 1, 0.2, unknown)), 0.2},
	} {
		if got := contention(c.before, c.after); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
}
