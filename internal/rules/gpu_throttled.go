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
	ID:     "gpu/throttled",
	Title:  "The GPU is slowed down by power or heat",
	Needs:  []metric.Desc{metric.GPUThrottled, metric.GPUClockLost},
	Limits: limits(),
	Eval: func(p *diagnose.Pass) {
		part := share(p.Get(metric.GPUThrottled))
		if part < diagnose.High.Value {
			return
		}
		lost := share(p.Get(metric.GPUClockLost))
		summary := fmt.Sprintf("The GPU's clock is held down in %s of the readings, to %s of its highest",
			unit.Percent(part), unit.Percent(1-lost/part))
		if reasons := p.Facts.Throttle; len(reasons) > 0 {
			summary += ": " + strings.Join(reasons, ", ")
		}
		score := share(p.OrZero(metric.DeviceTime)) * lost
		p.Report(report.Finding{
			Severity: gradeOutside(p, score), Score: score, Summary: summary,
			Evidence: seen(p, metric.GPUThrottled, metric.GPUClockLost, metric.GPUPowerRatio, metric.GPUBusy),
			Unhelpful: unlessStarved(p, "the time the device is slowed down",
				against("changes of the loader: the device itself is slower", moreWorkers, deeperPrefetch)),
		})
	},
}
