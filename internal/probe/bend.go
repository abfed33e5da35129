package probe

import (
	"slices"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/stat"
)

// Where a step is said to bend, and by what.
const (
	// bendsBelow is the efficiency below which another process is said not to pay any more: with four fifths of it a
	// job still gains, and two workers that share a core's hyperthreads, at some 0.6 each, do not count as two.
	bendsBelow = 0.8
	// full is the share of their time from which processes are busy. Between two items and at the start and end of a
	// round there is some waiting in any case: at 2 processes on 2 idle CPUs 0.97 were measured.
	full = 0.9
	// leastCores is the share of the usable CPUs below which nobody is said to be short of them, however long the
	// processes waited for one: the kernel's scheduler gives equal shares, so that each usable CPU would have more than
	// three others to serve besides.
	leastCores = 0.25
	// fromDevice is the share that must come from storage for it to be waited for; below lie metadata and strays.
	fromDevice = 0.05
	// oftenLocked is the share of looks that makes waiting for a lock the cause: half of the tenth that full leaves.
	oftenLocked = 0.05
)

// step is what so many processes together came to.
type step struct {
	workers int
	rate    stat.Summary // items per second
	cores   stat.Summary // cores' worth of CPU time
	ready   float64      // share of their time in which the processes ran or waited for a CPU
	stored  float64      // bytes fetched from storage over those delivered
	waiting float64      // share of looks that found a process waiting for a lock, or for storage where that is remote
	remote  bool         // storage is another machine or process
}

// efficiency is the rate over so many times that of one process, with the widest interval the two allow.
func (s step) efficiency(one step) stat.Summary {
	n := float64(s.workers)
	if one.rate.Center <= 0 || one.rate.Lo <= 0 || s.rate.N == 0 {
		return stat.Summary{}
	}
	v := stat.Summary{Center: s.rate.Center / (n * one.rate.Center), N: min(s.rate.N, one.rate.N),
		Confidence: min(s.rate.Confidence, one.rate.Confidence)}
	v.Lo, v.Hi = s.rate.Lo/(n*one.rate.Hi), s.rate.Hi/(n*one.rate.Lo)
	if s.workers == one.workers {
		v.Lo, v.Hi = v.Center, v.Center // by definition
	}
	return v
}

// bent reports whether all of an efficiency's interval is below bendsBelow; without one it is not.
func bent(efficiency stat.Summary) bool {
	return efficiency.Confidence > 0 && efficiency.Hi < bendsBelow
}

// bound says what bends a step of a curve, seen alone; "" is not known.
func (s step) bound(one step, usable float64) string {
	busy := min(float64(s.workers), usable)
	switch efficiency := s.efficiency(one); {
	case efficiency.Confidence == 0:
		return ""
	case !bent(efficiency):
		return benchmark.BoundNone
	case s.cores.N > 0 && s.cores.Center >= full*busy, s.ready >= full && s.cores.Center >= leastCores*busy:
		return benchmark.BoundCPU
	case s.stored >= fromDevice, s.waiting >= oftenLocked && s.remote:
		return benchmark.BoundDevice
	case s.waiting >= oftenLocked:
		return benchmark.BoundLock
	}
	return ""
}

// unexplained reports whether a step is bent and nothing that was counted says by what.
func (s step) unexplained(one step, usable float64) bool {
	return bent(s.efficiency(one)) && s.bound(one, usable) == ""
}

// bounds says what bends each step of a curve; "" is not known. A step that a later one outdoes, process for process,
// is no bend: something else disturbed it.
func bounds(steps []step, usable float64) []string {
	out := make([]string, len(steps))
	for i, s := range steps {
		out[i] = s.bound(steps[0], usable)
		center := s.efficiency(steps[0]).Center
		outdone := slices.ContainsFunc(steps[i+1:],
			func(later step) bool { return later.efficiency(steps[0]).Center > center })
		if out[i] != benchmark.BoundNone && outdone {
			out[i] = ""
		}
	}
	return out
}
