package rules

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var idleCores = threshold("idle cores over usable cores", diagnose.High.Value, metric.Ratio,
	"derived: cores that would add a fifth to what the job has, the line where a share of the step counts as high")

var cpuAffinity = diagnose.Rule{
	ID:       "cpu/affinity",
	Title:    "The job is bound to few cores of a machine with idle ones",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.UsableCPUs, metric.PresentCPUs, metric.UsableBusy, metric.CPUBusyRatio},
	Limits:   limits(fullLimit, idleCores),
	Explains: []string{"cpu/saturated", "cpu/decode-bound", "loader/workers-too-few"},
	Eval: func(p *diagnose.Pass) {
		usable, present, wait := p.Get(metric.UsableCPUs), p.Get(metric.PresentCPUs), p.Stall()
		throttled, idle := p.OrZero(metric.Throttled), present*(1-share(p.Get(metric.CPUBusyRatio)))
		if wait < diagnose.Moderate.Value || usable >= present || throttled >= diagnose.Moderate.Value ||
			p.Get(metric.UsableBusy) < p.Limit(fullLimit) || idle < p.Limit(idleCores)*usable {
			return
		}
		to, effect := present, speedup(p, 0, wait, "the step")
		if loader, ok := p.Loader(); ok && loader.FreeStep.Center > 0 {
			to = min(max(math.Ceil(coresForStep(p, loader)), usable+1), present)
			effect = loader.Alone(min(to, usable+idle))
		}
		score := min(gain(effect), wait)
		p.Report(report.Finding{
			Score: score,
			Summary: fmt.Sprintf("The job may use %s of %s cores and fills them, while %s of the machine's idle",
				unit.Number(usable), unit.Number(present), unit.Number(idle)),
			Evidence: seen(p, metric.UsableCPUs, metric.PresentCPUs, metric.UsableBusy, metric.CPUBusyRatio,
				metric.JobCPU),
			Recommendations: []report.Recommendation{{Setting: "cores the job may use", From: new(unit.Number(usable)),
				To: unit.Number(to), Why: "the cost of a batch over the step without waiting; then num_workers can " +
					"follow", Caveat: "idle cores may be promised to others", Effect: effect}},
			Unhelpful: against(wontHelpWorkers(usable), moreWorkers),
		})
	},
}
