package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var pinnedRate = diagnose.Limit{Name: "copy rate from page-locked memory", Value: 12e9, Unit: metric.BytesPerS,
	Source: "NVIDIA CUDA C++ Best Practices Guide, pinned memory: roughly 12 GB/s on PCIe 3.0 x16; newer links are faster, so less is at stake there"}

var loaderPageableBatches = diagnose.Rule{
	ID:    "loader/pageable-batches",
	Title: "Batches are copied to the GPU from pageable memory",
	Doc: `
## What it means
With pin_memory off a copy to the GPU goes through a staging buffer and blocks the main thread. From page-locked memory it runs beside the
computation, with non_blocking=True.

## How it is detected
The job uses a GPU, batches come from workers, and no pinning thread was seen. What is at stake is at least the time the batches' bytes need
on the link; where the link was watched, what copies take by that is told too. Below 5 % of the step nothing is said. From outside a missing pinning thread shows only with PyTorch that names its threads; a launched job tells pin_memory itself.

## How to mend it
DataLoader(..., pin_memory=True), and batch.to(device, non_blocking=True).

## When it is wrong
Pinned memory cannot be swapped and is rounded up to powers of two. Small batches gain nothing measurable. A collate_fn of one's own types
needs a pin_memory method.
`,
	Needs:   []metric.Desc{metric.GPUCount, metric.BatchBytes, metric.BatchesPerS},
	Limits:  limits(pinnedRate),
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) error {
		pinned := p.Evidence.Facts.PinMemory
		if p.Get(metric.GPUCount) < 1 {
			return nil
		}
		if pinned == nil {
			p.Abstain("whether a pinning thread runs is unknown", "")
			return nil
		}
		score := share(p.Get(metric.BatchesPerS) * p.Get(metric.BatchBytes) / p.Limit(pinnedRate.Name))
		copies, _ := p.Maybe(metric.CopyTime)
		if *pinned || max(score, copies) < diagnose.Moderate.Value {
			return nil
		}
		least, effect := "at least "+unit.Percent(score), speedup(p, 0, score, "the device")
		if copies > score { // how much of that are batches, and could run beside the computation, is not known
			least, effect = "copies take "+unit.Percent(copies), nil
		}
		p.Report(report.Finding{
			Severity: atMostWarning(p, diagnose.Grade(score)), Score: score,
			Summary: fmt.Sprintf("pin_memory is off: %s per batch are copied to the GPU from pageable memory; %s of the step",
				unit.Bytes(p.Get(metric.BatchBytes)), least),
			Evidence: seen(p, metric.BatchBytes, metric.BatchesPerS, metric.PcieRxRate, metric.GPUCount),
			Recommendations: []report.Recommendation{{Setting: "pin_memory", From: text("False"), To: "True",
				Why: "with non_blocking=True copies run beside the computation", Caveat: "page-locked memory, rounded up to powers of two, for each batch in the queue",
				Effect: effect}},
		})
		return nil
	},
}
