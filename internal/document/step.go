package document

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// share is one share of a step; nil is unknown.
type share struct {
	name  string
	ratio *float64
	sense Sense
}

// leastRest is the share of a step from which it is said that it could not be distinguished; shares are rounded to half
// of that.
const leastRest = 0.01

// leastOthers is the share of time from which on work of others on the device is told: the line at which shares count.
const leastOthers = 0.05

// device is the share of a step in which the device works.
const device = "device"

// stepShares are the shares of a step, as the device spends it. Where all are known they sum to the whole: the time
// between epochs takes what of it no other has, and the rest of it from the wait, which holds that as well; what is
// then left is a share of its own. Work of others on the device, a share of time as well, is none of the job's: only
// what lies beside none of its shares is shown.
func stepShares(s report.Step, others float64) []share {
	lacks, wait, between := "wait for data", s.InputWaitRatio, s.EpochGapRatio
	var turns, rest *float64
	if s.DeviceRatio != nil && others > 0 {
		s.DeviceRatio = new(max(*s.DeviceRatio-others, 0))
	}
	if waitHides(s) { // two quantities have two names
		lacks = "device lacks data"
	}
	if s.DataStall != nil {
		wait = &s.DataStall.Center
	}
	if wait != nil && s.HostRatio != nil && s.DeviceRatio != nil {
		left := 1 - *wait - *s.HostRatio - *s.DeviceRatio
		if s.H2DRatio != nil {
			left -= *s.H2DRatio
		}
		if between != nil {
			gap := min(*between, *wait+max(left, 0))
			steady := *wait - max(gap-max(left, 0), 0)
			left -= min(gap, max(left, 0))
			wait, between = &steady, &gap
			lacks = "wait within epochs" // what the trainer waits in all is another figure
		}
		if theirs := min(others, left); theirs >= leastRest {
			turns, left = &theirs, left-theirs
		}
		if left >= leastRest {
			rest = &left
		}
	} else {
		between = nil // the wait may hold it
	}
	return []share{{lacks, wait, Waiting}, {"between epochs", between, Waiting}, {"CPU work", s.HostRatio, Other},
		{"copies to device", s.H2DRatio, Other}, {device, s.DeviceRatio, Working},
		{"device, others' turn", turns, Other}, {"unresolved", rest, Idle}}
}

// waitHides reports whether the trainer waits at least a point longer than its device lacks data.
func waitHides(s report.Step) bool {
	return s.InputWaitRatio != nil && s.DataStall != nil && *s.InputWaitRatio-s.DataStall.Center >= leastRest
}

// hiddenWait says how long the trainer waits where that is not what the device lacks; "" where the two are the same.
func hiddenWait(r *report.Report) string {
	s := r.Verdict.Step
	if !waitHides(s) {
		return ""
	}
	wait, known := r.Metrics[metric.InputWait.Name]
	if !known { // who has no workers may be loading
		wait = r.Metrics[metric.InWorkerless.Name]
	}
	waits := unit.Percent(*s.InputWaitRatio)
	if wait.Basis == report.Inferred { // from bounds
		waits = ranged(*s.InputWaitRatio, wait.Lo, wait.Hi)
	}
	return fmt.Sprintf("the trainer itself waits %s; the device lacks data %s", waits,
		ranged(s.DataStall.Center, s.DataStall.Lo, s.DataStall.Hi))
}

// ranged writes a share, and its ends where they are two points or more apart.
func ranged(center, lo, hi float64) string {
	if hi-lo < 2*leastRest {
		return unit.Percent(center)
	}
	return fmt.Sprintf("%s (%s to %s)", unit.Percent(center), unit.Percent(lo), unit.Percent(hi))
}

// stepSection says where a step goes.
func stepSection(r *report.Report) Section {
	if r.Verdict == nil {
		return Section{}
	}
	var bars Bars
	others := 0.0
	if m := r.Metrics[metric.GPUOthersBusy.Name]; m.Center >= leastOthers {
		others = min(m.Center, 1)
	}
	for _, s := range stepShares(r.Verdict.Step, others) {
		if inferred := r.Metrics[metric.DeviceTime.Name].Basis == report.Inferred; s.name == device && inferred &&
			len(r.Host.GPUs) == 0 {
			s.name = "asleep (no GPU seen)" // which stands for a device's work
		}
		if s.ratio != nil && *s.ratio >= leastRest/2 { // nothing needs no bar
			bars = append(bars, Bar{Name: s.name, Ratio: *s.ratio, Share: unit.Percent(*s.ratio), Sense: s.sense})
		}
	}
	if len(bars) == 0 {
		return section("If data were free", "", Main, Note(freeData(r)))
	}
	about := ""
	if t := r.Verdict.Step.TimeS; t != nil {
		about = unit.Seconds(*t) + " per step"
	}
	beside := ""
	if others > 0 {
		beside = fmt.Sprintf("the GPU works for other processes %s of the time", unit.Percent(others))
	}
	return section("Where a step goes", about, Main, bars, Note(beside), Note(hiddenWait(r)),
		Note(freeData(r)))
}

// freeData says what data for free brings, where that was measured, beside what is estimated without; "" where it was
// not.
func freeData(r *report.Report) string {
	s := r.Verdict.Step
	rate, measured := r.Metrics[metric.FreeRate.Name]
	switch {
	case s.HeadroomMeasured == nil && measured:
		return "data for free: " + unit.Format(rate.Center, rate.Unit) + " batches measured"
	case s.HeadroomMeasured == nil:
		return ""
	}
	text := fmt.Sprintf("data for free: %.2f times as fast measured", s.HeadroomMeasured.Center)
	if s.Headroom != nil {
		text += fmt.Sprintf(", %.2f to %.2f times estimated", s.Headroom.Lo, s.Headroom.Hi)
	}
	return text
}

// phasesSection says where the time of those goes who make the batches.
func phasesSection(r *report.Report) Section {
	s := Section{Title: "Where a worker's time goes", Weight: Supporting}
	switch {
	case r.Benchmark != nil:
		s.Title, s.About = "Where an item's time goes", "one worker"
	case workerless(r):
		s.Title, s.About = "Where the trainer's time goes", "as it loads its data itself"
	case r.DataLoader().FedBy != "":
		s.Title, s.About = "Where the time goes", "of those who feed the trainer"
	}
	var bars Bars
	for _, f := range r.Phases {
		bars = append(bars, Bar{Name: f.Name, Ratio: f.Ratio, Share: unit.Percent(f.Ratio), Each: phaseTime(f),
			Basis: string(f.Basis), Sense: phaseSense(f.Name)})
	}
	s.add(bars)
	return s
}

func workerless(r *report.Report) bool {
	n := r.DataLoader().NumWorkers
	return n != nil && *n == 0
}

// phaseTime is a phase's time per batch or per item, "" where it is not known.
func phaseTime(f report.Phase) string {
	switch {
	case f.ItemS > 0:
		return unit.Seconds(f.ItemS) + "/item"
	case f.BatchS > 0:
		return unit.Seconds(f.BatchS) + "/batch"
	}
	return ""
}
