package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var fullMemory = diagnose.Limit{Name: "device memory allocated", Value: 0.90, Unit: metric.Ratio, Source: "PyTorch tb_plugin: peak over 90 % of the total; TraceML: 90 % very high"}

var gpuMemoryFull = diagnose.Rule{
	ID:    "gpu/memory-full",
	Title: "Nearly all of the GPU's memory is allocated",
	Doc: `
## What it means
Little device memory is left. That may be need, or PyTorch's caching allocator, which keeps what it once had: from outside the two look alike.

## How it is detected
Allocated over total memory of the fullest GPU, all processes counted.

## How to mend it
Measure torch.cuda.max_memory_allocated() before raising the batch size. Mixed precision and activation checkpointing make room.

## When it is wrong
A high figure alone is no fault: many jobs run well like this.
`,
	Needs:  []metric.Desc{metric.GPUMemUsedRatio},
	Limits: []diagnose.Limit{fullMemory},
	Eval: func(p *diagnose.Pass) error {
		used := share(p.Get(metric.GPUMemUsedRatio))
		if used < p.Limit(fullMemory.Name) {
			return nil
		}
		p.Report(report.Finding{
			Severity:  report.Info,
			Summary:   fmt.Sprintf("%s of the GPU's memory is allocated; how much of it is needed cannot be told from outside", unit.Percent(used)),
			Evidence:  seen(p, metric.GPUMemUsedRatio, metric.GPUCount),
			Unhelpful: against("a larger batch_size, until torch.cuda.max_memory_allocated() shows room: it may end the job, and input size says nothing of activations", largerBatch),
		})
		return nil
	},
}
