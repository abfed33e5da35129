package compare

import (
	"strconv"

	"github.com/pipetune/pipetune/pkg/report"
)

// tightCPU is the share of the usable CPUs in use from which what others take is missing to the workers. Below, they take what nobody needs: with a
// fifth of two CPUs taken and a third of them idle, the rate of a real job did not move.
const tightCPU = 0.9

// othersApart is the share of the usable CPUs by which what others take may differ without a word.
const othersApart = 0.05

// contention is how much more of the usable CPUs other programs took after than before, as a share of them; 0 where CPUs were left, or where it is
// not known. A job that is short of CPU loses at most this share to them, so that much of a loss may be theirs.
func contention(before, after []*report.Report) (share float64, x, y string) {
	b, busyB, ok := others(before)
	a, busyA, ok2 := others(after)
	if !ok || !ok2 || max(busyB, busyA) < tightCPU {
		return 0, "", ""
	}
	return a - b, cores(before), cores(after)
}

// others is the mean share of the usable CPUs that programs outside the job took, and the largest share of them that was in use.
func others(runs []*report.Report) (share, busy float64, ok bool) {
	for _, r := range runs {
		o, ok := r.Metrics["other_cpu_cores"]
		if !ok || !(r.Host.CPUsUsable > 0) || o.Center < 0 {
			return 0, 0, false
		}
		share += min(o.Center/r.Host.CPUsUsable, 1) / float64(len(runs))
		busy = max(busy, r.Metrics["usable_cpu_busy_ratio"].Center)
	}
	return share, busy, true
}

func cores(runs []*report.Report) string {
	total := 0.0
	for _, r := range runs {
		total += r.Metrics["other_cpu_cores"].Center / float64(len(runs))
	}
	return strconv.FormatFloat(total, 'f', 2, 64) + " cores"
}

// busyNeighbours tells where other programs took more of a full machine on one side.
func busyNeighbours(before, after []*report.Report) []report.Condition {
	share, x, y := contention(before, after)
	if share < othersApart && share > -othersApart {
		return nil
	}
	return []report.Condition{{Name: "CPU used by other programs", Before: x, After: y,
		Consequence: "the CPUs were full: the intervals allow for what the others took"}}
}
