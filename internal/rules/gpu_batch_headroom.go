package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	emptyMemory = threshold("device memory allocated", 0.60, metric.Ratio,
		"loadtune heuristic.py: input wait below 5 % and GPU memory below 60 %: try a larger batch")
	idleGPU = threshold("GPU busy", 0.5, metric.Ratio,
		"PyTorch tb_plugin: GPU utilization below 50 %: try a larger batch")
)

var gpuBatchHeadroom = diagnose.Rule{
	ID:     "gpu/batch-headroom",
	Title:  "The GPU has memory and time to spare",
	Needs:  []metric.Desc{metric.GPUMemUsedRatio, metric.GPUBusy, metric.InputWait},
	Limits: limits(emptyMemory, idleGPU),
	Eval: func(p *diagnose.Pass) {
		memory, busy := share(p.Get(metric.GPUMemUsedRatio)), share(p.Get(metric.GPUBusy))
		if p.Stall() >= diagnose.Moderate.Value || memory >= p.Limit(emptyMemory) ||
			busy >= p.Limit(idleGPU) {
			return
		}
		if copies, ok := p.Maybe(metric.CopyTime); ok && copies >= diagnose.High.Value {
			return // a larger batch is copied for longer
		}
		p.Report(report.Finding{
			Severity: report.Info, // what a larger batch gives cannot be determined from outside: the score stays 0
			Summary: fmt.Sprintf("The GPU is busy %s of the time and %s of %s is allocated, while data is ready",
				unit.Percent(busy), unit.Percent(memory), gpuMemory(p)),
			Evidence: seen(p, metric.GPUBusy, metric.GPUMemUsedRatio, metric.InputWait, metric.GPUSMActive),
			Recommendations: []report.Recommendation{{Setting: "batch_size", From: fromFact(p.Facts.BatchSize),
				To: "what torch.cuda.max_memory_allocated() at two sizes allows, up to 80 % of the memory",
				Why: "fixed costs per step are then shared by more samples; the gain cannot be predicted from " +
					"outside",
				Caveat: "the batch size changes training itself"}},
			Unhelpful: against("gradient accumulation: it changes the effective batch, not the work per launch",
				report.Unhelpful{Setting: "gradient accumulation", Direction: report.Up}),
		})
	},
}
