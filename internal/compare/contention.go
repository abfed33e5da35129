package compare

import (
	"math"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// tightCPU is the share of the usable CPUs in use, on average, from which what others take may be missing to the job.
// Below, they mostly take what nobody needs: with a fifth of two CPUs taken and over a quarter of them idle, the rate
// of a real job did not move (docs/compare.md).
const tightCPU = 0.8

// othersApart is the share of its CPU time that a job may have lost to others without a word.
const othersApart = 0.05

// contention is the share of its pace that the job may have lost to other programs after, beyond what it lost before;
// below 0 where it lost more before, and 0 where CPUs were left or it is not known. What others took more could all
// have been the job's, so a loss of up to this share may be theirs; but no more than the time in which its threads were
// ready to run and had no CPU, where that is known.
func contention(before, after []*report.Report) float64 {
	b, a := use(before), use(after)
	if !b.known || !a.known || max(b.busy, a.busy) < tightCPU {
		return 0
	}
	calm, disturbed := b, a
	if a.others < b.others {
		calm, disturbed = a, b
	}
	lost := min(math.Abs(a.others-b.others)/calm.job, disturbed.ready)
	return math.Copysign(lost, a.others-b.others)
}

// cpuUse is who used the CPUs of a side: the mean over its runs, in cores, and the largest share of the usable ones in
// use.
type cpuUse struct {
	others, job, busy float64
	ready             float64 // the largest share over the runs that readyWithoutCPU tells; 1 where it is not known
	known             bool
}

func use(runs []*report.Report) cpuUse {
	var u cpuUse
	for _, r := range runs {
		o, ok := r.Metrics[metric.OtherCPU.Name]
		j, ok2 := r.Metrics[metric.JobCPU.Name]
		if !ok || !ok2 || o.Center < 0 || !(j.Center > 0) {
			return cpuUse{}
		}
		u.others += o.Center / float64(len(runs))
		u.job += j.Center / float64(len(runs))
		u.busy = max(u.busy, r.Metrics[metric.UsableBusy.Name].Center)
		u.ready = max(u.ready, readyWithoutCPU(r))
	}
	u.known = stat.Finite(u.others) && stat.Finite(u.job) && u.job > 0
	return u
}

// readyWithoutCPU adds up what a step's threads lost, as each may hold it up: the upper ends for the trainer's main
// thread and for a worker.
func readyWithoutCPU(r *report.Report) float64 {
	lost := 0.0
	for _, name := range []string{metric.MainRunDelay.Name, metric.WorkerRunDelay.Name} {
		m, ok := r.Metrics[name]
		if workers, known := r.Metrics[metric.NumWorkers.Name]; !ok && name == metric.WorkerRunDelay.Name && known &&
			workers.Center == 0 {
			continue
		}
		if !ok {
			return 1
		}
		lost += max(m.Center, m.Hi)
	}
	return min(lost, 1)
}

// busyNeighbours says where other programs took more of a full machine on one side.
func busyNeighbours(before, after []*report.Report) []report.Condition {
	if math.Abs(contention(before, after)) < othersApart {
		return nil
	}
	cores := func(u cpuUse) string { return strconv.FormatFloat(u.others, 'f', 2, 64) + " cores" }
	return []report.Condition{{Name: "CPU used by other programs", Before: cores(use(before)), After: cores(use(after)),
		Consequence: "the CPUs were nearly full: the intervals allow for what the others took"}}
}
