package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var handOver = threshold("handing a batch over from a worker", 1.1e-3, metric.Seconds,
	"measured: batches of one small tensor take 0.02 ms without workers and 0.5 to 1.1 ms with one (PyTorch 1.13 and "+
		"2.14, Debian)")

var loaderWorkersZero = diagnose.Rule{
	ID:       "loader/workers-zero",
	Title:    "The training process loads its data itself",
	Resource: report.MainProcess,
	Needs:    []metric.Desc{metric.NumWorkers, metric.InWorkerless, metric.UsableCPUs},
	Limits:   limits(handOver, gainLimit),
	Applies: func(p *diagnose.Pass) bool {
		n, known := p.Maybe(metric.NumWorkers)
		return !p.Facts.NoLoader && (!known || n == 0)
	},
	Explains: []string{"cpu/decode-bound", "cpu/saturated", "host/main-thread-bound", "storage/latency-bound",
		"storage/cold-cache", "image/png-decode"},
	Eval: func(p *diagnose.Pass) {
		load, upTo := p.Stall(), "up to "
		if diagnose.Hooked(p.Evidence) {
			upTo = ""
		}
		if p.Get(metric.NumWorkers) != 0 || load < diagnose.Moderate.Value {
			return
		}
		if fetch, told := p.Maybe(metric.FetchTime); told && fetch <= p.Limit(handOver) {
			return // a worker would not be quicker
		}
		loader, need, ok := moreNeeded(p)
		if !ok {
			return
		}
		kept := report.Value{Setting: "persistent_workers", To: "True"}
		effect := loader.WithWorkers(need.Workers, kept)
		f := report.Finding{
			Score: load,
			Summary: fmt.Sprintf("No loader workers: %s%s of the time the training process reads and prepares data "+
				"itself, with %s", upTo, unit.Percent(load), cpus(p.Get(metric.UsableCPUs))),
			Evidence: seen(p, metric.NumWorkers, metric.InWorkerless, metric.FetchTime, metric.MainStorage,
				metric.MainReadBytes, metric.UsableCPUs, metric.UsableBusy, metric.TrainerCPU, metric.OtherCPU),
			Recommendations: []report.Recommendation{{
				Setting: "num_workers", From: new("0"), To: whole(float64(need.Workers)), With: []report.Value{kept},
				Why: "loading then runs beside the step instead of between two steps; the number follows from the " +
					"loading time, the step and the usable CPUs",
				Caveat: "each worker is a process with its own memory; open files on first use in the worker, not " +
					"before",
				Effect: effect,
			}},
			Unhelpful: within("num_workers=0", against("prefetch_factor or persistent_workers while num_workers "+
				"stays 0: they have no meaning without workers, and PyTorch 2 refuses them",
				report.Unhelpful{Setting: "prefetch_factor", Direction: report.Any},
				report.Unhelpful{Setting: "persistent_workers", Direction: report.Any})),
		}
		if effect != nil && gain(effect) < p.Limit(gainLimit) {
			f.Recommendations, f.Severity, f.Score = nil, report.Info, 0
			why := crowded(p, loader)
			f.Summary += "; workers would hardly be quicker: " + why
			f.Unhelpful = append(f.Unhelpful, against("more workers: "+why, moreWorkers)...)
		}
		p.Report(f)
	},
}

// crowded says who fills the CPUs that workers would need, or else what they would meet.
func crowded(p *diagnose.Pass, l *diagnose.Loader) string {
	usable := p.Get(metric.UsableCPUs)
	busy, ok := p.Maybe(metric.UsableBusy)
	if !ok || busy < fullLimit.Value {
		return "the usable CPUs and the step allow no more"
	}
	other := others(p)
	who := "by this job"
	switch {
	case other >= othersLimit.Value*usable:
		who = fmt.Sprintf("%s of them by other programs", unit.Number(other))
	case l.TrainerCPU.Center > l.CPU.Center:
		who = "most of it by the training step itself"
	}
	return fmt.Sprintf("%s are %s full already, %s", cpus(usable), unit.Percent(share(busy)), who)
}
