package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var gpuBound = diagnose.Rule{
	ID:      "gpu/bound",
	Title:   "The device sets the pace",
	Applies: training,
	Needs:   []metric.Desc{metric.DeviceTime},
	Limits:  limits(diagnose.Most, diagnose.BusyDevice),
	Eval: func(p *diagnose.Pass) {
		device, least := share(p.Get(metric.DeviceTime)), p.Limit(diagnose.Most)
		busy, counted := p.Maybe(metric.GPUBusy)
		if counted {
			device, least = share(busy), p.Limit(diagnose.BusyDevice)
		}
		stall, ok := diagnose.Stall(p.Evidence)
		if !ok {
			p.Abstain("the input wait is unknown", "")
			return
		}
		if (!counted && stall.Lo >= diagnose.Moderate.Value) || p.Stall() >= diagnose.High.Value || device < least {
			return
		}
		if !counted && !diagnose.DeviceUnseen(p.Evidence) && diagnose.MayLoad(p.Evidence) {
			p.Abstain("a main thread without workers that sleeps may wait for its data", "")
			return
		}
		summary := fmt.Sprintf("Data is ready in time (input wait %s); the main thread sleeps outside the loader %s "+
			"of the time, as it does while a device works", unit.Percent(p.Stall()), unit.Percent(device))
		if counted {
			summary = fmt.Sprintf("The GPU sets the pace: it is busy %s of the time and lacks data %s",
				unit.Percent(device), unit.Percent(p.Stall()))
		}
		why := "the trainer does not wait for data"
		if wait, ok := diagnose.InputWait(p.Evidence); ok && wait.Center >= p.Stall()+diagnose.Moderate.Value {
			summary += fmt.Sprintf("; the trainer's wait for data (%s) lies behind work that is already queued",
				unit.Percent(wait.Center))
			why = "what the trainer waits is hidden behind the GPU's work"
		}
		f := report.Finding{
			Summary: summary, // the score stays 0: no loader setting gives much of it back
			Evidence: seen(p, metric.DataStall, metric.InputWait, metric.DeviceTime, metric.GPUBusy,
				metric.GPUSMActive, metric.LoaderIsAhead),
		}
		if free, ok := p.Evidence.Get(metric.Headroom); !ok || free.Center < 1/(1-diagnose.Moderate.Value) {
			f.Unhelpful = against("more workers, a deeper prefetch_factor or faster storage: "+why, moreWorkers,
				deeperPrefetch, moved)
		}
		p.Report(f)
	},
}
