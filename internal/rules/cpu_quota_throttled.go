package rules

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var cpuQuotaThrottled = diagnose.Rule{
	ID:       "cpu/quota-throttled",
	Title:    "The CPU quota holds the job back",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.Throttled, metric.UsableCPUs},
	Limits:   limits(),
	Explains: []string{"cpu/saturated", "cpu/decode-bound", "cpu/noisy-neighbour", "loader/workers-too-few"},
	Eval: func(p *diagnose.Pass) {
		throttled, quota := share(p.Get(metric.Throttled)), p.Get(metric.UsableCPUs)
		if throttled < diagnose.Moderate.Value {
			return
		}
		// run-queue time includes being held back by a quota
		score := max(steadyWait(p)*queued(p), min(throttled, share(p.OrZero(metric.MainRunDelay))))
		rec := report.Recommendation{Setting: "CPU quota", From: new(unit.Number(quota) + " CPUs"), To: "more, or none",
			Why: "the job uses it up", Effect: speedup(p, 0, min(score, throttled), "the next slowest part")}
		if loader, ok := p.Loader(); ok && loader.FreeStep.Center > 0 {
			cores := coresForStep(p, loader)
			need := math.Ceil(cores)
			if present, known := p.Maybe(metric.PresentCPUs); known {
				need = min(need, present) // no quota brings more than the machine has
			}
			if need > quota {
				rec.To, rec.Effect = count(need, "CPU"), loader.Alone(need)
				rec.Why = fmt.Sprintf("to make a batch per step, the job needs %s times the CPU that a step lasts",
					unit.Number(cores))
			}
		}
		p.Report(report.Finding{
			Severity: gradeOutside(p, score), Score: score,
			Summary: fmt.Sprintf("The job's quota of %s CPUs is used up in %s of the kernel's periods; all its "+
				"threads then stop", unit.Number(quota), unit.Percent(throttled)),
			Evidence: seen(p, metric.Throttled, metric.UsableCPUs, metric.PresentCPUs, metric.JobCPU,
				metric.WorkerRunDelay, metric.MainRunDelay),
			Recommendations: []report.Recommendation{rec},
			Unhelpful:       against("more workers: they share the same quota", moreWorkers),
		})
	},
}
