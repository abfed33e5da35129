package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var jobCollectiveWait = diagnose.Rule{
	ID:      "job/collective-wait",
	Title:   "Much of the GPUs' time looks like waiting in collectives",
	Needs:   []metric.Desc{metric.GPUBusy, metric.GPUSMActive, metric.DeviceWait},
	Limits:  limits(diagnose.KernelBusy, diagnose.SMActive),
	Applies: severalTrainers,
	Eval: func(p *diagnose.Pass) {
		busy, active, only := busyInName(p)
		if !only || p.Get(metric.DeviceWait) < diagnose.High.Value {
			return
		}
		p.Report(report.Finding{
			Severity: report.Warning, Score: busy - active,
			Summary: fmt.Sprintf("The GPUs are busy %s of the time with %s of their multiprocessors at work, and the "+
				"trainers wait for them: it looks like collectives", unit.Percent(busy), unit.Percent(active)),
			Evidence: seen(p, metric.GPUBusy, metric.GPUSMActive, metric.DeviceWait, metric.Ranks),
			Recommendations: []report.Recommendation{{Setting: "exchange of gradients",
				To:     "overlapped with the backward pass, less often, or smaller",
				Why:    "the multiprocessors idle while a collective waits",
				Caveat: "what it brings cannot be predicted from outside"}},
			Unhelpful: readyInTime(p, "exchange of gradients"),
		})
	},
}

// severalTrainers reports whether the job has more than one trainer; where their number is unknown, it may.
func severalTrainers(p *diagnose.Pass) bool {
	n, known := p.Maybe(metric.Ranks)
	return !known || n > 1
}
