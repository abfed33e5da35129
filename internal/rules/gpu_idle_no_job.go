package rules

import (
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var gpuIdleNoJob = diagnose.Rule{
	ID:    "gpu/idle-no-job",
	Title: "A visible GPU is used by no process",
	Needs: []metric.Desc{metric.GPUIdleJob, metric.GPUCount},
	Eval: func(p *diagnose.Pass) {
		idle, used := p.Get(metric.GPUIdleJob), p.Get(metric.GPUCount)
		if idle < 1 || used < 1 {
			return
		}
		p.Report(report.Finding{
			Summary:  unit.Count(int64(idle+0.5), "GPU is", "GPUs are") + " visible here used by no process",
			Evidence: seen(p, metric.GPUIdleJob, metric.GPUCount),
			Recommendations: []report.Recommendation{{Setting: "processes (one per GPU)", From: new(whole(used)),
				To: whole(used + idle), Why: "each process brings its own loader; check that CPUs and storage can " +
					"feed them", Caveat: "the GPU may be meant for somebody else; the effective batch grows"}},
			Unhelpful: within("input wait", against("a second GPU, while the loader is the limit: both then wait",
				report.Unhelpful{Setting: "processes (one per GPU)", Direction: report.Up})),
		})
	},
}
