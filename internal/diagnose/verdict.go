package diagnose

import (
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
	"github.com/pipetune/pipetune/pkg/report"
)

// split is where the time of a step goes, each share within 0..1. A missing share is absent, not zero.
type split struct {
	// the device has nothing to do because the batch is not there; where there is no device, the trainer's wait
	stall, wait   evidence.Value // wait: the trainer waits for data
	seen          bool           // stall is known
	host, device  float64        // the device idles while the trainer's threads run; the device works
	hostOK, devOK bool
	copies        float64 // copies to the device
	blocked       float64 // the trainer waits for its device: known to be at least so much
	// what loading costs: the stall, or what more free data would save, as where it keeps the trainer off the CPUs
	loading    float64
	surely     float64 // of this, at least
	delay      float64 // of this, the trainer is kept off the CPUs
	gil        float64 // of this, it waits for Python's global lock
	workerless bool
	sight      step.Sight
}

func splitOf(e *evidence.Evidence) split {
	s := split{workerless: Workerless(e)}
	s.stall, s.seen = Stall(e)
	var waits bool
	if s.wait, waits = InputWait(e); !waits {
		s.wait = s.stall
	}
	for _, v := range []*evidence.Value{&s.stall, &s.wait} {
		v.Center, v.Lo, v.Hi = stat.Share(v.Center), stat.Share(v.Lo), stat.Share(v.Hi)
	}
	host, ok := e.Get(metric.HostTime)
	s.host, s.hostOK = stat.Share(host.Center), ok
	device, ok := e.Get(metric.DeviceTime)
	s.device, s.devOK = stat.Share(device.Center), ok
	s.copies = stat.Share(orZero(e, metric.CopyTime))
	if _, counted := e.Get(metric.GPUBusy); counted {
		s.sight = step.Counted
	}
	if len(e.Ranks) > 0 && e.Ranks[0].Step != nil {
		lead := e.Ranks[0].Step
		s.sight, s.blocked = lead.Sight, lead.Blocked.Lo
		s.loading, s.surely, s.delay = 1-lead.Free.Likely, 1-lead.Free.Hi, lead.Delay.Likely
		s.gil = lead.GIL.Likely
	}
	s.loading, s.surely = max(s.loading, s.stall.Center), max(s.surely, s.stall.Lo)
	if s.workerless && s.seen { // loading runs on the main thread too: it must not be counted twice
		s.device = min(s.device, 1-s.stall.Center)
		s.host = stat.Share(min(s.host, 1-s.stall.Center-s.device))
	}
	return s
}

// hidden reports whether a good part of the trainer's wait lies behind work that its device still has to do.
func (s split) hidden() bool {
	return s.seen && s.sight == step.Counted && s.wait.Center-s.stall.Center >= Moderate.Value
}

// step is the split in the report's form.
func (s split) step(e *evidence.Evidence) report.Step {
	var out report.Step
	if v, ok := e.Get(metric.StepTime); ok && stat.Finite(v.Center) {
		out.TimeS = &v.Center
	}
	if s.seen {
		out.InputWaitRatio, out.DataStall = &s.wait.Center, Interval(s.stall.Summary)
	}
	headroom, _ := e.Get(metric.Headroom)
	measured, _ := e.Get(metric.FreeTimes)
	out.Headroom, out.HeadroomMeasured = Interval(headroom.Summary), Interval(measured.Summary)
	if s.hostOK {
		out.HostRatio = &s.host
	}
	if s.devOK {
		out.DeviceRatio = &s.device
	}
	if s.seen && s.hostOK && s.devOK && s.copies > 0 { // those beside the device's work are no share of their own
		out.H2DRatio = stat.Known(stat.Share(min(s.copies, 1-s.stall.Center-s.host-s.device)))
	}
	if gap := orZero(e, metric.EpochGap) + orZero(e, metric.SamplerTime); gap > 0 {
		out.EpochGapRatio = stat.Known(stat.Share(gap))
	}
	return out
}

// Interval is a figure as the report has it; nil where it is unknown.
func Interval(s stat.Summary) *report.Interval {
	if s.N == 0 || !stat.Finite(s.Center, s.Lo, s.Hi) {
		return nil
	}
	return &report.Interval{Center: s.Center, Lo: s.Lo, Hi: s.Hi}
}

// verdict gives the one answer.
func verdict(x *subject, findings []report.Finding, table map[string]*Rule) *report.Verdict {
	e := x.evidence
	s := splitOf(e)
	v := &report.Verdict{Step: s.step(e)}
	if why := blind(e, s); len(why) > 0 {
		v.Class, v.Confidence, v.Doubts = report.Inconclusive, report.Low, why
		if !Training(e) {
			v.Step = report.Step{} // there is no step to divide
		}
		v.Statement = inconclusive(e, why)
		return v
	}
	var cause *report.Finding
	if s.seen { // else nothing says how much of the wait a finding accounts for
		cause = leading(findings, table, s.stall.Center)
	}
	if v.Class = classify(e, s, cause != nil); v.Class == report.Inconclusive {
		v.Confidence, v.Doubts = report.Low, []string{unclear(e, s)}
		v.Statement = inconclusive(e, v.Doubts)
		return v
	}
	lead := cause
	switch {
	case v.Class != report.InputBound:
		lead = stating(findings, v.Class)
	case cause != nil:
		v.Resource = table[cause.Rule].Resource
	default:
		v.Resource = busiest(e)
	}
	if lead != nil {
		v.Rule = lead.Rule
	}
	v.Confidence, v.Doubts = confidence(x, s, v.Class, lead)
	v.Statement = statement(e, s, v.Class, lead)
	return v
}

// leading is the first finding that names a resource and accounts for a good part of the data stall: a high one where
// the stall is high, most of it where it is moderate. It is nil where none does.
func leading(findings []report.Finding, table map[string]*Rule, stall float64) *report.Finding {
	part := High.Value
	if stall < High.Value {
		part = Most.Value
	}
	for i, f := range findings {
		if table[f.Rule].Resource != report.NoResource && f.Score > 0 && f.Score >= part*stall {
			return &findings[i]
		}
	}
	return nil
}

// stating is the first finding that is itself what a class says which is not input-bound (gpu/bound,
// host/main-thread-bound, …), or that others' work on the GPU sets the pace with this job's; nil where none is.
func stating(findings []report.Finding, c report.Class) *report.Finding {
	for i, f := range findings {
		if slices.Contains(leads[c], f.Rule) ||
			c == report.GPUBound && f.Rule == "gpu/shared" && f.Score >= High.Value {
			return &findings[i]
		}
	}
	return nil
}

// leads names the rules that state a class which is not input-bound, the first that fired first.
var leads = map[report.Class][]string{
	report.GPUBound:      {"gpu/bound", "gpu/small-kernels"},
	report.HostBound:     {"host/main-thread-bound", "host/gil-held", "gpu/small-kernels"},
	report.TransferBound: {"loader/pageable-batches", "gpu/copies"},
}

// BusyDevice is the share of time from which on a device that is counted sets the pace.
var BusyDevice = Limit{"GPU busy all the time", 0.85, metric.Ratio,
	"derived: what is left is below 20 %, the line from which a single cause of idleness counts as high"}

// classify weighs the shares against each other; explained reports whether a rule accounts for the stall.
func classify(e *evidence.Evidence, s split, explained bool) report.Class {
	stall := s.loading
	switch {
	case !s.seen: // and not blind: the loader sets the pace
		return report.InputBound
	// Where nothing that could be changed about the data explains it, and the host surely takes more, that is what to
	// change.
	case stall >= High.Value && !s.maybeNothing(e) &&
		(explained || max(stall, s.stall.Hi) >= s.host || s.sight != step.Counted):
		return report.InputBound
	case s.transferring():
		return report.TransferBound
	// Between the lines data is still what to change, unless the host takes more (the device's share cannot be
	// configured away), no rule finds anything about it that could be changed, or the interval reaches below the line:
	// then it may be nothing. A device that is busy all but that long sets the pace all the same.
	case stall >= Moderate.Value && s.surely >= Moderate.Value && stall >= s.host && explained &&
		!(s.sight == step.Counted && s.device >= BusyDevice.Value):
		return report.InputBound
	case s.sight == step.Unseen:
		return s.withoutCounters(e)
	case s.hostOK && s.host > stall && s.host >= High.Value &&
		(s.sight == step.Counted && s.device < BusyDevice.Value || s.host > s.device):
		return report.HostBound
	case s.launchBound(e):
		return report.HostBound
	case s.sight == step.Counted && s.device >= BusyDevice.Value:
		return report.GPUBound
	case s.sight == step.NoDevice && s.devOK && s.device >= Most.Value && s.device > s.host &&
		(s.stall.Lo < Moderate.Value || !explained):
		if MayLoad(e) { // for a device, or for its data
			return report.Inconclusive
		}
		return report.GPUBound
	}
	return report.Balanced
}

// maybeNothing reports whether the loading is that of a trainer without workers, seen from outside, which may cost
// nothing, and most likely costs less than half of the step's largest part: its likely value is the middle of what is
// possible, and proves nothing.
func (s split) maybeNothing(e *evidence.Evidence) bool {
	return s.workerless && !Hooked(e) && s.surely < Moderate.Value && 2*s.loading < max(s.host, s.device)
}

// withoutCounters is the class where the job has a device open that cannot be read, and data is ready: the trainer's
// threads compute, or wait for the device, as far as that could be determined.
func (s split) withoutCounters(e *evidence.Evidence) report.Class {
	switch {
	case s.blocked >= Most.Value:
		return report.GPUBound
	case s.hostOK && leadingStep(e).SpinTold && s.host >= Most.Value: // what code the main thread runs was seen
		return report.HostBound
	}
	return report.Inconclusive
}

// launchBound reports whether the device is busy in name only while the trainer's threads launch its next kernels: what
// it is busy is the host's time then.
func (s split) launchBound(e *evidence.Evidence) bool {
	active, ok := e.Get(metric.GPUSMActive)
	return ok && s.sight == step.Counted && s.blocked < High.Value &&
		InNameOnly(s.device, active.Center, s.stall.Center)
}

// InNameOnly reports whether a device that is busy most of the time has hardly any multiprocessor at work meanwhile,
// and not for lack of data.
func InNameOnly(busy, active, stall float64) bool {
	return busy >= KernelBusy.Value && active < SMActive.Value*busy && stall < High.Value
}

// The lines of InNameOnly.
var (
	KernelBusy = Limit{"GPU busy by any kernel", Most.Value, metric.Ratio,
		"the share from which one part of a step outweighs all others together; NVML counts the time in which any " +
			"kernel runs, however small (nvml.h, nvmlUtilization_t)"}
	SMActive = Limit{"multiprocessors at work while it is", 0.3, metric.Ratio,
		"KempnerPulse: SM activity below 30 % while the GPU is busy is a GPU held back by something else"}
)

// Transferring reports whether copies to the device hold a step up.
func Transferring(e *evidence.Evidence) bool { return splitOf(e).transferring() }

// transferring reports whether copies take the most of the time in which the device computes nothing, or more than it
// computes.
func (s split) transferring() bool {
	if s.sight != step.Counted || s.copies < High.Value {
		return false
	}
	idle := min(s.copies, max(1-s.device-s.stall.Center, 0))
	return idle >= High.Value && idle > s.host && idle > s.stall.Center || s.copies > s.device && s.copies >= Most.Value
}

// Computing is the share of the live workers' time in which they compute, or are ready to: their main threads, others
// of theirs that these wait for, or programs that they run. 0 is also unknown.
func Computing(e *evidence.Evidence) float64 {
	return stat.Share(orZero(e, metric.WorkerRunning)) + stat.Share(orZero(e, metric.WorkerOwnThreads)) +
		stat.Share(orZero(e, metric.WorkerPrograms))
}

// busiest is the resource where most of a worker's busy time goes, for an input-bound job that no rule explains.
func busiest(e *evidence.Evidence) report.Resource {
	if Workerless(e) {
		return report.MainProcess
	}
	best, at := report.NoResource, 0.0
	if computing := Computing(e); computing > 0 {
		best, at = report.CPU, computing
	}
	for _, c := range []struct {
		signal   metric.Desc
		resource report.Resource
	}{
		{metric.WorkerStorage, report.OnStorage}, {metric.WorkerOpenWait, report.OnStorage},
		{metric.WorkerFileLock, report.Lock}, {metric.WorkerLock, report.Lock}, {metric.WorkerOtherWait,
			report.Workers},
		{metric.EpochGap, report.Startup},
	} {
		if v, ok := e.Get(c.signal); ok && v.Center > at {
			best, at = c.resource, v.Center
		}
	}
	return best
}
