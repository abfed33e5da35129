package rules

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var gpuThrottled = diagnose.Rule{
	ID:    "gpu/throttled",
	Title: "The GPU is slowed down by power or heat",
	Doc: `
## What it means
The driver lowers the GPU's clock because it reached its power limit, its temperature limit, or because the power supply asked for it.

## How it is detected
The share of readings with such a reason in NVML's clocks event reasons, on the worst GPU, and how far the SM clock was below its highest in
these readings. That is the most it can cost: not every load reaches the highest clock. A GPU that merely idles is not counted.

## How to mend it
Heat: cooling, air flow, neighbours in the chassis. Power: nvidia-smi -q -d POWER shows the limit and whether it may be raised. A reason other than the
software power cap points to hardware.

## When it is wrong
Large GPUs run at their power cap under full load; that is how they are meant to run, and costs a few per cent.
`,
	Needs:  []metric.Desc{metric.GPUThrottled, metric.GPUClockLost},
	Limits: limits(),
	Eval: func(p *diagnose.Pass) error {
		part := share(p.Get(metric.GPUThrottled))
		if part < diagnose.High.Value {
			return nil
		}
		device, _ := p.Maybe(metric.DeviceTime)
		reasons := strings.Join(p.Evidence.Facts.Throttle, ", ")
		lost := share(p.Get(metric.GPUClockLost))
		summary := fmt.Sprintf("The GPU's clock is held down in %s of the readings, to %s of its highest", unit.Percent(part), unit.Percent(1-lost/part))
		if reasons != "" {
			summary += ": " + reasons
		}
		score := share(device) * lost
		p.Report(report.Finding{
			Severity: atMostWarning(p, diagnose.Grade(score)), Score: score, Summary: summary,
			Evidence:  seen(p, metric.GPUThrottled, metric.GPUClockLost, metric.GPUPowerRatio, metric.GPUBusy),
			Unhelpful: unlessStarved(p, "the time the device is slowed down", against("changes of the loader: the device itself is slower", moreWorkers, deeperPrefetch)),
		})
		return nil
	},
}
