package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// split is where the time of a step goes, each share within 0..1. A missing share is absent, not zero.
type split struct {
	wait           evidence.Value
	seen           bool // wait is known
	host, device   float64
	hostOK, devOK  bool
	workerless     bool
	devicesCounted bool // device is from GPU counters, not inferred from a sleeping main thread
}

func splitOf(e *evidence.Evidence) split {
	s := split{workerless: Workerless(e)}
	s.wait, s.seen = InputWait(e)
	s.wait.Center, s.wait.Lo, s.wait.Hi = unitShare(s.wait.Center), unitShare(s.wait.Lo), unitShare(s.wait.Hi)
	host, ok := e.Get(metric.HostTime)
	s.host, s.hostOK = unitShare(host.Center), ok
	device, ok := e.Get(metric.DeviceTime)
	s.device, s.devOK = unitShare(device.Center), ok
	_, s.devicesCounted = e.Get(metric.GPUBusy)
	if s.workerless && s.seen { // loading runs on the main thread too: it must not be counted twice
		s.device = min(s.device, 1-s.wait.Center)
		s.host = unitShare(min(s.host, 1-s.wait.Center-s.device))
	}
	return s
}

// step is the split in the report's form.
func (s split) step(e *evidence.Evidence) report.Step {
	var out report.Step
	if v, ok := e.Get(metric.StepTime); ok && finite(v.Center) {
		out.TimeS = &v.Center
	}
	if s.seen {
		out.InputWaitRatio = &s.wait.Center
	}
	if s.hostOK {
		out.HostRatio = &s.host
	}
	if s.devOK {
		out.DeviceRatio = &s.device
	}
	if gap, ok := e.Get(metric.EpochGap); ok && gap.Center > 0 {
		out.EpochGapRatio = known(unitShare(gap.Center))
	}
	return out
}

// transferBytes is a rate to the GPU that keeps a PCIe link of the fourth generation busy: gpuprof flags 20 GB/s.
const transferBytes = 20e9

// transferIdle is the share of SMs at work below which a GPU under heavy transfer is held back by it (KempnerPulse: below 30 %).
const transferIdle = 0.30

// verdict gives the one answer.
func verdict(e *evidence.Evidence, findings []report.Finding, table map[string]*Rule) *report.Verdict {
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
	if s.seen { // else nothing tells how much of the wait a finding accounts for
		cause = leading(findings, table, s.wait.Center)
	}
	v.Class = classify(e, s, cause != nil)
	var lead *report.Finding
	if v.Class == report.InputBound && cause != nil {
		lead = cause
		v.Resource, v.Rule = table[lead.Rule].Resource, lead.Rule
	}
	if lead == nil {
		for i, f := range findings { // the class is the finding: gpu/bound, host/main-thread-bound, …
			if leads[v.Class] != "" && f.Rule == leads[v.Class] {
				lead, v.Rule = &findings[i], f.Rule
			}
		}
	}
	if v.Class == report.InputBound && lead == nil {
		v.Resource = busiest(e)
	}
	v.Confidence, v.Doubts = confidence(e, s, v.Class, lead)
	v.Statement = statement(e, s, v.Class, lead)
	return v
}

// leading is the first finding that names a resource and accounts for a good part of the wait: a high one where the wait is high, most of
// it where it is moderate. It is nil where none does.
func leading(findings []report.Finding, table map[string]*Rule, wait float64) *report.Finding {
	part := High.Value
	if wait < High.Value {
		part = dominant
	}
	for i, f := range findings {
		if table[f.Rule].Resource != report.NoResource && f.Score > 0 && f.Score >= part*wait {
			return &findings[i]
		}
	}
	return nil
}

// leads names the rule that states a class which is not input-bound.
var leads = map[report.Class]string{
	report.GPUBound:  "gpu/bound",
	report.HostBound: "host/main-thread-bound",
}

// classify weighs the shares against each other; explained tells whether a rule accounts for the wait.
func classify(e *evidence.Evidence, s split, explained bool) report.Class {
	wait := s.wait.Center
	switch {
	case !s.seen: // and not blind: the loader sets the pace
		return report.InputBound
	case wait >= High.Value:
		return report.InputBound
	case transferring(e):
		return report.TransferBound
	// Between the lines data is still what to change, unless the host takes more (the device's share cannot be configured away),
	// no rule finds anything about it that could be changed, or the interval reaches below the line: then it may be nothing.
	case wait >= Moderate.Value && s.wait.Lo >= Moderate.Value && wait >= s.host && explained:
		return report.InputBound
	case s.hostOK && s.host > s.device && s.host > wait && s.host >= High.Value:
		return report.HostBound
	case s.devOK && s.device >= dominant && s.device > s.host && (s.wait.Lo < Moderate.Value || !explained):
		return report.GPUBound
	}
	return report.Balanced
}

// dominant is the share from which one part of the step outweighs all others together.
const dominant = 0.5

func transferring(e *evidence.Evidence) bool {
	rx, ok := e.Get(metric.PcieRxRate)
	sm, ok2 := e.Get(metric.GPUSMActive)
	return ok && ok2 && rx.Center >= transferBytes && sm.Center < transferIdle
}

// busiest is the resource where most of a worker's busy time goes, for an input-bound job that no rule explains.
func busiest(e *evidence.Evidence) report.Resource {
	if Workerless(e) {
		return report.MainProcess
	}
	best, at := report.NoResource, 0.0
	for _, c := range []struct {
		signal   metric.Desc
		resource report.Resource
	}{
		{metric.WorkerRunning, report.CPU}, {metric.WorkerPrograms, report.CPU}, {metric.WorkerStorage, report.OnStorage}, {metric.WorkerOpenWait, report.OnStorage},
		{metric.WorkerFileLock, report.Lock}, {metric.WorkerLock, report.Lock}, {metric.WorkerOtherWait, report.Workers}, {metric.EpochGap, report.Startup},
	} {
		if v, ok := e.Get(c.signal); ok && v.Center > at {
			best, at = c.resource, v.Center
		}
	}
	return best
}
