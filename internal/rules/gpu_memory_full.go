package rules

import (
	"cmp"
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var fullMemory = threshold("device memory allocated", 0.90, metric.Ratio,
	"PyTorch tb_plugin: peak over 90 % of the total; TraceML: 90 % very high")

var gpuMemoryFull = diagnose.Rule{
	ID:     "gpu/memory-full",
	Title:  "Nearly all of the GPU's memory is allocated",
	Needs:  []metric.Desc{metric.GPUMemUsedRatio},
	Limits: []diagnose.Limit{fullMemory},
	Eval: func(p *diagnose.Pass) {
		used := share(p.Get(metric.GPUMemUsedRatio))
		if used < p.Limit(fullMemory) {
			return
		}
		p.Report(report.Finding{
			Summary: fmt.Sprintf("%s of %s is allocated; how much of it is needed, and how much PyTorch's allocator "+
				"only keeps, cannot be known from outside", unit.Percent(used), gpuMemory(p)),
			Evidence: seen(p, metric.GPUMemUsedRatio, metric.GPUCount),
			Recommendations: []report.Recommendation{
				{Setting: "torch.cuda.max_memory_allocated()", To: "printed after some steps",
					Why: "it shows what was needed at the most; what nvidia-smi shows beyond it is kept by the " +
						"allocator and can be used again"},
				{Setting: "precision", To: "mixed: torch.autocast with bfloat16 or float16",
					Why: "activations kept for the backward pass take about half; by how much the peak falls is " +
						"what max_memory_allocated shows",
					Caveat: "float16 needs a gradient scaler; check the loss"},
				{Setting: "activations", To: "checkpointed: torch.utils.checkpoint",
					Why:    "fewer activations are kept, and computed again in the backward pass",
					Caveat: "a step then computes more"},
			},
			Unhelpful: against("a larger batch_size, until torch.cuda.max_memory_allocated() shows room: it may end "+
				"the job, and input size says nothing of activations", largerBatch),
		})
	},
}

// gpuMemory names the memory as the driver reports it: the card's name alone says nothing sure of its size.
func gpuMemory(p *diagnose.Pass) string {
	gpus := p.Header.Host.GPUs
	for _, g := range gpus {
		if g.MemoryBytes > 0 && (g.OfJob || len(gpus) == 1) {
			return fmt.Sprintf("the %s of %s", unit.Bytes(float64(g.MemoryBytes)), cmp.Or(g.Name, "the GPU"))
		}
	}
	if name := p.Facts.GPUName; name != "" {
		return "the memory of " + name
	}
	return "the GPU's memory"
}
