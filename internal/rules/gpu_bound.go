package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var gpuBound = diagnose.Rule{
	ID:    "gpu/bound",
	Title: "The device has its data in time, and sets the pace",
	Doc: `
## What it means
The device hardly ever lacks data. The model on it is what a step consists of, and no loader setting makes it faster. The trainer may wait for batches
all the same: where it runs ahead of its device, its wait lies behind work that is already queued, and costs nothing.

## How it is detected
The data stall is below 20 % (5 % where no counter tells of a GPU), and the GPUs of the trainer are busy at least 85 % of the time by their own counters. Where no process of the job has a GPU open,
the time the main thread sleeps outside the loader stands for the device, more than half of all; that is inferred and said so. Where NVML lists the processes
of each GPU and none of them is the job's, there is no such share, however busy others keep the GPUs.

## How to mend it
Nothing needs mending in the loader. For more speed: mixed precision, torch.compile, a larger batch where memory allows, a faster GPU.

## When it is wrong
A busy GPU is not an efficient one: utilization counts the time with at least one kernel, however small. Without GPU counters, a
step that sleeps for another reason (a lock, a network call) looks the same.
`,
	Applies: diagnose.Training,
	Needs:   []metric.Desc{metric.DeviceTime},
	Limits:  limits(mostLimit, busyDevice),
	Eval: func(p *diagnose.Pass) error {
		device, least := share(p.Get(metric.DeviceTime)), p.Limit(mostLimit.Name)
		busy, counted := p.Maybe(metric.GPUBusy)
		if counted {
			device, least = share(busy), p.Limit(busyDevice.Name)
		}
		stall, ok := diagnose.Stall(p.Evidence)
		if !ok {
			p.Abstain("the input wait is unknown", "")
			return nil
		}
		if (!counted && stall.Lo >= diagnose.Moderate.Value) || p.Stall() >= diagnose.High.Value || device < least {
			return nil
		}
		summary := fmt.Sprintf("Data is ready in time (input wait %s); the main thread sleeps outside the loader %s of the time, as it does while a device works",
			unit.Percent(p.Stall()), unit.Percent(device))
		if counted {
			summary = fmt.Sprintf("The GPU sets the pace: it is busy %s of the time and lacks data %s", unit.Percent(device), unit.Percent(p.Stall()))
		}
		why := "the trainer does not wait for data"
		if wait, ok := diagnose.InputWait(p.Evidence); ok && wait.Center >= p.Stall()+diagnose.Moderate.Value {
			summary += fmt.Sprintf("; the trainer's wait for data (%s) lies behind work that is already queued", unit.Percent(wait.Center))
			why = "what the trainer waits is hidden behind the GPU's work"
		}
		p.Report(report.Finding{
			Severity:  report.Info,
			Summary:   summary, // the score stays 0: no loader setting gives any of it back
			Evidence:  seen(p, metric.DataStall, metric.InputWait, metric.DeviceTime, metric.GPUBusy, metric.GPUSMActive, metric.LoaderIsAhead),
			Unhelpful: against("more workers, a deeper prefetch_factor or faster storage: "+why, moreWorkers, deeperPrefetch, moved),
		})
		return nil
	},
}

// busyDevice is the share of time from which on a device that is counted sets the pace.
var busyDevice = diagnose.Limit{Name: "GPU busy all the time", Value: diagnose.BusyDevice, Unit: metric.Ratio,
	Source: "derived: what is left is below 20 %, the line from which a single cause of idleness counts as high"}
