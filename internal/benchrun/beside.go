package benchrun

import (
	"math"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/pkg/report"
)

// machineBusy is the CPU time that the machine has spent working since boot, in seconds; NaN where unknown.
func (r *Run) machineBusy() float64 {
	machine := r.fs.Machine()
	defer machine.Close()
	var s procfs.SystemStat
	if machine.Stat(&s) != nil {
		return math.NaN()
	}
	return s.Total.Busy()
}

// beside notes what other programs took of the CPUs while a dataset was measured, from what the machine had spent
// before, and what pipetune used itself, in seconds.
func (r *Run) beside(out *report.Report, before, own float64, took time.Duration) {
	others := max((r.machineBusy()-before-own)/took.Seconds(), 0)
	if math.IsNaN(others) || took <= 0 {
		return
	}
	out.Metrics[metric.OtherCPU.Name] = exactly(metric.OtherCPU, others)
}
