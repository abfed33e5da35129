package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var othersLimit = threshold("CPU time used by others", diagnose.High.Value, metric.Ratio,
	"derived: what a full machine's others take is lost to the job; from the line where a share of the step counts "+
		"as high")

var cpuNoisyNeighbour = diagnose.Rule{
	ID:           "cpu/noisy-neighbour",
	Title:        "Other programs take the CPUs",
	Circumstance: true,
	Resource:     report.CPU,
	Needs:        []metric.Desc{metric.OtherCPU, metric.UsableCPUs, metric.UsableBusy, metric.MainRunDelay},
	Limits:       limits(fullLimit, othersLimit, queueLimit),
	Explains: []string{"cpu/saturated", "cpu/decode-bound", "loader/workers-too-few", "loader/slow-sample-blocks",
		"loader/worker-imbalance"},
	Eval: func(p *diagnose.Pass) {
		usable := p.Get(metric.UsableCPUs)
		others := others(p) + p.OrZero(metric.StealRatio)*usable
		main := mainQueued(p)
		delay := max(queued(p), main)
		if usable <= 0 || p.Get(metric.UsableBusy) < p.Limit(fullLimit) ||
			others/usable < p.Limit(othersLimit) || delay < p.Limit(queueLimit) {
			return
		}
		blame := notOwn(p, usable, others)
		wait := steadyWait(p)
		lost := share(wait*queued(p)*blame + main*blame)
		if loader, ok := p.Loader(); ok && p.Stall() >= diagnose.Moderate.Value {
			// alone on the machine, the loader would do this much
			lost = max(lost, min(loader.AloneGain(usable)*blame, wait))
		}
		if job, ok := p.Maybe(metric.JobCPU); ok { // alone it could use all cores and no more
			lost = min(lost, share(1-job/usable))
		}
		lost = min(lost, idleDevice(p)) // what the main thread loses while its device works costs nothing
		effect := speedup(p, lost/2, lost, "the job's own next limit")
		if _, seen := diagnose.Stall(p.Evidence); !seen { // nor is what workers that go without a CPU cost
			effect = nil
		}
		p.Report(report.Finding{
			Severity: gradeOutside(p, lost),
			Score:    lost,
			Summary: fmt.Sprintf("Programs outside the job use %s of %s; the job's processes are ready to run but "+
				"without a CPU up to %s of the time", unit.Number(others), cpus(usable), unit.Percent(delay)),
			Evidence: seen(p, metric.OtherCPU, metric.JobCPU, metric.UsableCPUs, metric.UsableBusy,
				metric.WorkerRunDelay, metric.MainRunDelay, metric.CPUPressure, metric.StealRatio),
			Recommendations: []report.Recommendation{{
				Setting: "other programs on this machine", From: new(unit.Number(others) + " CPUs"),
				To:  "none, or lower priority (nice 19), or another CPU set",
				Why: "the job alone has the cores it needs: the wait comes from sharing them",
				// pipetune does not record them: they are not this job's
				Caveat: "which they are shows ps -eo pid,user,ni,pcpu,comm --sort=-pcpu | head",
				Effect: effect,
				Falls:  metric.OtherCPU.Name,
			}},
			Unhelpful: moreWorkersShareCores(p),
		})
	},
}

// notOwn is the part of the run-queue time that others cause: all of it where the job alone would fit the cores, else
// their part of what is used.
func notOwn(p *diagnose.Pass, usable, others float64) float64 {
	job, ok := p.Maybe(metric.JobCPU)
	if !ok || job <= 0 {
		return 1
	}
	_, bound := p.Maybe(metric.WorkersOneCPUSet) // workers on fewer cores also wait for each other
	if loader, ok := p.Loader(); ok && !bound && loader.FreeStep.Center > 0 {
		period := loader.FreeStep.Center // seconds from batch to batch, if the job had all the cores it can use
		if loader.Setting.Workers > 0 {
			period = max(period, loader.Making()/float64(loader.Setting.Workers))
		}
		if float64(loader.Trainers())*(loader.CPU.Center+loader.TrainerCPU.Center)/period <= usable {
			return 1
		}
	}
	return share(others / (others + job))
}
