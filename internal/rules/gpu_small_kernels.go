package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// busyInName is how busy the GPU is and how many of its multiprocessors are at work; only: hardly any, and not for lack
// of data.
func busyInName(p *diagnose.Pass) (busy, active float64, only bool) {
	busy, active = share(p.Get(metric.GPUBusy)), share(p.Get(metric.GPUSMActive))
	return busy, active, diagnose.InNameOnly(busy, active, p.Stall())
}

var gpuSmallKernels = diagnose.Rule{
	ID:     "gpu/small-kernels",
	Title:  "The GPU is busy in name only: kernels too small to fill it",
	Needs:  []metric.Desc{metric.GPUBusy, metric.GPUSMActive, metric.DeviceWait},
	Limits: limits(diagnose.KernelBusy, diagnose.SMActive),
	Eval: func(p *diagnose.Pass) {
		busy, active, only := busyInName(p)
		device, _ := p.Evidence.Get(metric.DeviceWait)
		waits := device.Center
		if len(p.Ranks) < 2 {
			// known to wait: launching and waiting cannot always be distinguished; of several ranks it may be a
			// collective
			waits = device.Lo
		}
		if !only || waits >= diagnose.High.Value {
			return
		}
		p.Report(report.Finding{
			Severity: report.Warning, Score: busy - active,
			Summary: fmt.Sprintf("The GPU is busy %s of the time, but only %s of its multiprocessors are: its "+
				"kernels are small, and the trainer's threads launch one after the other",
				unit.Percent(busy), unit.Percent(active)),
			Evidence: seen(p, metric.GPUBusy, metric.GPUSMActive, metric.GPUPowerRatio, metric.DeviceWait,
				metric.MainCPU),
			Recommendations: []report.Recommendation{{Setting: "launches per step", To: "fewer and larger: " +
				"torch.compile, CUDA graphs, a larger batch",
				Why:    "the time between kernels is the host's; larger kernels fill the same time with more work",
				Caveat: "what it brings cannot be predicted from outside"}},
			Unhelpful: readyInTime(p, "launching of kernels"),
		})
	},
}
