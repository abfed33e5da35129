package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var pinnedRate = threshold("copy rate from page-locked memory", 12e9, metric.BytesPerS,
	"NVIDIA CUDA C++ Best Practices Guide, pinned memory: roughly 12 GB/s on PCIe 3.0 x16; newer links are faster, "+
		"so less is at stake there")

var loaderPageableBatches = diagnose.Rule{
	ID:      "loader/pageable-batches",
	Title:   "Batches are copied to the GPU from pageable memory",
	Needs:   []metric.Desc{metric.GPUCount, metric.BatchBytes, metric.BatchesPerS},
	Limits:  limits(pinnedRate),
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) {
		pinned := p.Facts.PinMemory
		if p.Get(metric.GPUCount) < 1 {
			return
		}
		score := share(p.Get(metric.BatchesPerS) * p.Get(metric.BatchBytes) / p.Limit(pinnedRate))
		copies := p.OrZero(metric.CopyTime)
		if pinned == nil && copies < diagnose.Moderate.Value {
			p.Abstain("whether a pinning thread runs is unknown", "")
			return
		}
		if pinned != nil && *pinned || pinned == nil && besideKernels(p) ||
			max(score, copies) < diagnose.Moderate.Value {
			return
		}
		least, effect := "at least "+unit.Percent(score), speedup(p, 0, score, "the device")
		if copies > score { // how much of that are batches, and could run beside the computation, is not known
			least, effect = "copies take "+unit.Percent(copies), nil
		}
		from, summary := new("False"), "pin_memory is off: %s per batch are copied to the GPU from pageable memory; "+
			"%s of the step"
		if pinned == nil {
			from, summary = nil, "%s per batch are copied to the GPU, and whether from page-locked memory was not "+
				"seen; %s of the step"
		}
		p.Report(report.Finding{
			Severity: gradeOutside(p, score), Score: score,
			Summary:  fmt.Sprintf(summary, unit.Bytes(p.Get(metric.BatchBytes)), least),
			Evidence: seen(p, metric.BatchBytes, metric.BatchesPerS, metric.PcieRxRate, metric.GPUCount),
			Recommendations: []report.Recommendation{{Setting: "pin_memory", From: from, To: "True",
				Why:    "with non_blocking=True copies run beside the computation",
				Caveat: "page-locked memory, rounded up to powers of two, for each batch in the queue",
				Effect: effect}},
		})
	},
}
