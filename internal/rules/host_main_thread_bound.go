package rules

import (
	"cmp"
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var hostMainThreadBound = diagnose.Rule{
	ID:       "host/main-thread-bound",
	Title:    "The training loop's own work on the CPU holds the job back",
	Needs:    []metric.Desc{metric.HostTime},
	Limits:   limits(diagnose.NativeCores),
	Explains: []string{"cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		host, wait := share(p.Get(metric.HostTime)), p.Stall()
		if diagnose.Workerless(p.Evidence) {
			host = min(host, 1-wait)
		}
		host = max(host-spinning(p), 0)
		if host < diagnose.High.Value || host <= wait {
			return
		}
		severity := report.Info
		if host > p.OrZero(metric.DeviceTime) {
			severity = report.Warning
		}
		where := "while data is ready (input wait %s)"
		if wait >= diagnose.Moderate.Value {
			where = "more than it waits for data (%s)"
		}
		summary := fmt.Sprintf("The main thread runs on a CPU %s of the time outside the loader, "+where,
			unit.Percent(host), unit.Percent(wait))
		if diagnose.MayLoad(p.Evidence) {
			summary = fmt.Sprintf("The main thread runs on a CPU %s of the time, to load or for something else",
				unit.Percent(host))
		}
		// ready but without a CPU is not the loop's own doing
		delay, _ := diagnose.TrainerDelay(p.Evidence)
		score := max(host-min(share(delay), 1-wait), 0)
		if score < diagnose.Moderate.Value {
			return
		}
		if onCPU(p, host, score) {
			return
		}
		if score < host-diagnose.Moderate.Value {
			summary += fmt.Sprintf("; %s of it is its own, for the rest it has no CPU", unit.Percent(score/host))
		}
		from, effect, why := perStep(p, score), speedup(p, 0, score, "the device"), "metrics and logging as tensors, "+
			"fetched every N steps"
		if !diagnose.Hooked(p.Evidence) && !diagnose.Workerless(p.Evidence) {
			why += "; a costly sampler draws its indices there too"
		}
		if why += inCollate(p); diagnose.MayLoad(p.Evidence) {
			effect = nil // the model may be in it
		}
		if p.Reported().Evaluating.Mixed {
			from, effect = nil, nil // the share is of all time, and a step's own is not known
			summary += "; how much of that is training's and how much evaluation's is not known"
		}
		p.Report(report.Finding{
			Severity: severity, Score: score, Summary: summary,
			Evidence: seen(p, metric.HostTime, metric.DeviceTime, metric.InputWait, metric.MainCPU, metric.MainRunDelay,
				metric.GPUBusy),
			Recommendations: []report.Recommendation{{
				Setting: "work of the main thread per step", From: from,
				To:     "as little as launching the step needs",
				Why:    why + "; a sampling profiler names the lines",
				Effect: effect, Command: profile(p, "--native"),
			}},
			Unhelpful: readyInTime(p, "work of the main thread"),
		})
	},
}

// onCPU reports a model that itself trains on the CPU: what the main thread computes is more than Python around it.
// False where a GPU has the model, or may have it, and where one thread alone runs that may as well load.
func onCPU(p *diagnose.Pass, host, score float64) bool {
	const part = "work of the main thread"
	f := report.Finding{Severity: report.Info, Score: score}
	unclear := diagnose.MayLoad(p.Evidence) && diagnose.DeviceUnseen(p.Evidence)
	if cores, ok := diagnose.ModelOnCPU(p.Evidence); ok && !unclear {
		f.Summary = fmt.Sprintf("The model computes on the CPU: no GPU is at work, and the trainer's native threads "+
			"use %s cores, more than Python alone can", unit.Number(cores))
		f.Evidence = seen(p, metric.HostTime, metric.TrainerCPU, metric.InputWait, metric.MainCPU, metric.UsableCPUs,
			metric.GPUBusy)
		if !diagnose.MayLoad(p.Evidence) {
			f.Unhelpful = unlessStarved(p, part,
				neitherMoreNorDeeper("data is ready in time, and workers would take cores from the model"))
		}
	} else if !diagnose.MayLoad(p.Evidence) && diagnose.TrainsOnCPU(p.Evidence) {
		f.Summary = fmt.Sprintf("The job trains on the CPU: no GPU is open, and the main thread computes the model, "+
			"and what Python does around it, %s of the time", unit.Percent(host))
		f.Evidence = seen(p, metric.HostTime, metric.TrainerCPU, metric.InputWait, metric.MainCPU, metric.MainRunDelay,
			metric.UsableCPUs)
		f.Recommendations = []report.Recommendation{{Setting: "where the model trains", From: new("on the CPU"),
			To: "on a GPU", Why: "a sampling profiler tells the model's time from Python's" + inCollate(p),
			Command: profile(p, "--native")}}
		f.Unhelpful = readyInTime(p, part)
	} else {
		return false
	}
	p.Report(f)
	return true
}

// inCollate says where else batches can be prepared, if workers have the time.
func inCollate(p *diagnose.Pass) string {
	idle, ok := p.Maybe(metric.WorkerIdle)
	if !ok || idle < diagnose.Most.Value {
		return ""
	}
	return fmt.Sprintf("; what prepares a batch before the model can move into collate_fn: the workers are idle %s of "+
		"the time", unit.Percent(share(idle)))
}

// profile names the lines that the trainer, or, with such an option, its workers spend their time in, ready to copy.
func profile(p *diagnose.Pass, option string) string {
	if list := p.Ranks; p.Header.Mode != "launch" && len(list) > 0 && list[0].PID > 0 {
		return fmt.Sprintf("py-spy record %s -o profile.svg --duration 30 --pid %d", option, list[0].PID)
	}
	return "py-spy record " + option + " -o profile.svg" + cmp.Or(diagnose.StartLine(p.Evidence), " -- COMMAND")
}

// spinning is the part of the host's time that the hook saw in calls that wait for the GPU, where no GPU counters took
// it off already.
func spinning(p *diagnose.Pass) float64 {
	if _, counted := p.Maybe(metric.GPUBusy); counted {
		return 0
	}
	return share(p.OrZero(metric.SyncRatio))
}

// perStep is the host time of one step; nil where steps cannot be counted.
func perStep(p *diagnose.Pass, host float64) *string {
	step, ok := p.Maybe(metric.StepTime)
	if !ok {
		return nil
	}
	return new(unit.Seconds(host*step) + " per step")
}
