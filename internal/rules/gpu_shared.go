package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var gpuShared = diagnose.Rule{
	ID:           "gpu/shared",
	Title:        "Other processes compute on the job's GPU",
	Circumstance: true,
	Needs:        []metric.Desc{metric.GPUOthersBusy},
	Eval: func(p *diagnose.Pass) {
		others := share(p.Get(metric.GPUOthersBusy))
		if others < diagnose.Moderate.Value {
			return
		}
		p.Report(report.Finding{
			Severity: gradeOutside(p, others), Score: others,
			Summary:  fmt.Sprintf("Processes outside the job compute on its GPUs %s of the time", unit.Percent(others)),
			Evidence: seen(p, metric.GPUOthersBusy, metric.GPUBusy, metric.GPUMemUsedRatio),
			Recommendations: []report.Recommendation{{Setting: "GPU",
				To:  "one that nobody else uses (CUDA_VISIBLE_DEVICES)",
				Why: "a GPU runs the work of several processes in turns"}},
			Unhelpful: unlessStarved(p, "the time that others take",
				against("more workers: others' work on the GPU stays", moreWorkers)),
		})
	},
}
