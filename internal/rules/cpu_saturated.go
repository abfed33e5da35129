package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var queueLimit = threshold("time ready but without a CPU", 0.10, metric.Ratio,
	"TraceML warns from 10 % of the step; run-queue time is the kernel's own count (task schedstat, field 2)")

var cpuSaturated = diagnose.Rule{
	ID:       "cpu/saturated",
	Title:    "The job's own processes wait for each other's CPU",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.UsableBusy, metric.UsableCPUs, metric.MainRunDelay},
	Limits:   limits(fullLimit, queueLimit, tooManyLimit, diagnose.Most),
	Eval: func(p *diagnose.Pass) {
		if p.OrZero(metric.Throttled) >= diagnose.Moderate.Value || p.Get(metric.UsableBusy) < p.Limit(fullLimit) {
			return
		}
		main := mainQueued(p)
		delay := max(queued(p), main)
		if delay < p.Limit(queueLimit) {
			return
		}
		score, usable := max(steadyWait(p)*queued(p), main)*ownPart(p), p.Get(metric.UsableCPUs)
		f := report.Finding{
			Severity: gradeOutside(p, score),
			Score:    score,
			Summary: fmt.Sprintf("%s are %s full; up to %s of the time the job's processes are ready to run but have "+
				"no CPU", cpus(usable), unit.Percent(share(p.Get(metric.UsableBusy))), unit.Percent(delay)),
			Evidence: seen(p, metric.UsableBusy, metric.UsableCPUs, metric.WorkerRunDelay, metric.MainRunDelay,
				metric.JobCPU, metric.OtherCPU, metric.CPUPressure),
			Unhelpful: against(wontHelpWorkers(usable), moreWorkers),
		}
		workers, ok := p.Maybe(metric.NumWorkers)
		_, told := p.Maybe(metric.WorkerRunning)
		// mostly, for something else than a CPU
		waiting := told && diagnose.Computing(p.Evidence) < p.Limit(diagnose.Most)*p.OrZero(metric.WorkerBusy)
		// num_workers is that of each loader, the CPUs are those of all; each loader keeps one worker
		own := max(usable/loaders(p), 1)
		if ok && usable >= 1 && workers > p.Limit(tooManyLimit)*own && !waiting {
			f.Recommendations = []report.Recommendation{{Setting: "num_workers", From: new(whole(workers)),
				To: whole(float64(int(own))), Why: "more workers than cores only take turns" + sharedCPUs(p, usable)}}
		}
		p.Report(f)
	},
}

// sharedCPUs adds that several trainers share the CPUs; "" for a single one.
func sharedCPUs(p *diagnose.Pass, usable float64) string {
	if n := loaders(p); n > 1 {
		return fmt.Sprintf(", and %s trainers share %s", whole(n), cpus(usable))
	}
	return ""
}

// queued is the part of a worker's busy time in which it was ready but had no CPU.
func queued(p *diagnose.Pass) float64 {
	busy := p.OrZero(metric.WorkerBusy)
	if busy <= 0 {
		return 0
	}
	return share(p.OrZero(metric.WorkerRunDelay) / busy)
}

// mainQueued is the share of time in which the main thread was ready but had no CPU. What it loses while it waits for
// data costs nothing more.
func mainQueued(p *diagnose.Pass) float64 { return min(share(p.Get(metric.MainRunDelay)), 1-p.Stall()) }
