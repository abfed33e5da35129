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
	Title: "Data is ready in time: the device sets the pace",
	Doc: `
## What it means
The trainer hardly waits for data. The model on the device is what a step consists of, and no loader setting makes it faster.

## How it is detected
The input wait is below 5 % and the device's share of the step is more than half. With GPU counters the share is the GPU's busy time.
Without them it is the time the main thread sleeps outside the loader, which is inferred and said so. Where NVML lists the processes of each GPU
and none of them is the job's, there is no such share, however busy others keep the GPUs.

## How to mend it
Nothing needs mending in the loader. For more speed: mixed precision, torch.compile, a larger batch where memory allows, a faster GPU.

## When it is wrong
A busy GPU is not an efficient one: utilization counts the time with at least one kernel, however small. Without GPU counters, a
step that sleeps for another reason (a lock, a network call) looks the same.
`,
	Applies: diagnose.Training,
	Needs:   []metric.Desc{metric.DeviceTime},
	Limits:  limits(mostLimit),
	Eval: func(p *diagnose.Pass) error {
		device := share(p.Get(metric.DeviceTime))
		if _, ok := diagnose.InputWait(p.Evidence); !ok {
			p.Abstain("the input wait is unknown", "")
			return nil
		}
		if p.Wait() >= diagnose.Moderate.Value || device < p.Limit(mostLimit.Name) {
			return nil
		}
		summary := fmt.Sprintf("Data is ready in time (input wait %s); the main thread sleeps outside the loader %s of the time, as it does while a device works", unit.Percent(p.Wait()), unit.Percent(device))
		if busy, ok := p.Maybe(metric.GPUBusy); ok {
			summary = fmt.Sprintf("Data is ready in time (input wait %s); the GPU is busy %s of the time", unit.Percent(p.Wait()), unit.Percent(share(busy)))
		}
		p.Report(report.Finding{
			Severity:  report.Info,
			Summary:   summary, // the score stays 0: no loader setting gives any of it back
			Evidence:  seen(p, metric.InputWait, metric.DeviceTime, metric.GPUBusy, metric.GPUSMActive, metric.LoaderIsAhead),
			Unhelpful: against("more workers, a deeper prefetch_factor or faster storage: the trainer does not wait for data", moreWorkers, deeperPrefetch, moved),
		})
		return nil
	},
}
