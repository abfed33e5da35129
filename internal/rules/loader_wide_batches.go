package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var collateFastest = threshold("speed of collating by one copy, at the most", 1.6e9, metric.BytesPerS,
	collateSpeed.Source)

var loaderWideBatches = diagnose.Rule{
	ID:       "loader/wide-batches",
	Title:    "Batches are handed over in a wider type than their values need",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.BatchBytes, metric.BatchFloat32, metric.BatchFloat64, metric.CollateRatio,
		metric.FetchTime, metric.BatchesPerS},
	Limits:  limits(collateSpeed, collateFastest, pinnedRate),
	Applies: training,
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "cpu/decode-bound", "cpu/saturated",
		"loader/pageable-batches"},
	Eval: func(p *diagnose.Pass) {
		size, float32s, float64s, fetch := p.Get(metric.BatchBytes), p.Get(metric.BatchFloat32),
			p.Get(metric.BatchFloat64), p.Get(metric.FetchTime)
		spared, from, to := float64s/2, "float64", "float32"
		how := "models compute in float32: convert where the values are made"
		if eightBits(p) {
			spared, to = float32s*3/4+float64s*7/8, "uint8"
			how = "the GPU converts it: batch.to(device, non_blocking=True).float()"
			if float32s >= float64s {
				from = "float32"
			}
		}
		if spared <= 0 || size <= 0 || fetch <= 0 {
			return
		}
		spared = min(spared, size)
		collate, slowly := share(p.Get(metric.CollateRatio))*spared/size, spared/p.Limit(collateSpeed)/fetch
		lo := min(collate, spared/p.Limit(collateFastest)/fetch)
		hi := share(min(collate, slowly) + min(madeOf(p).other, slowly))
		copies := copiedShare(p, spared, size)
		least, most := share(starved(p)*lo+copies), share(starved(p)*hi+copies)
		if least < diagnose.Moderate.Value {
			return
		}
		score := (least + most) / 2
		rec := report.Recommendation{Setting: "type of the batch's values", From: new(from), To: to,
			Why:    fmt.Sprintf("%s a batch instead of %s; %s", unit.Bytes(size-spared), unit.Bytes(size), how),
			Effect: speedup(p, 0, copies, "the device")}
		if to == "uint8" {
			rec.Caveat = "for pictures of 8 bits a channel; transforms that need floating point move to the GPU with it"
		}
		if loader, ok := p.Loader(); ok && starved(p)*lo > copies {
			rec.Effect = loader.Saving(lo, hi, false)
		}
		p.Report(report.Finding{
			Severity: gradeOutside(p, score), Score: score,
			Summary: fmt.Sprintf("Of the %s of a batch %s would do: the rest takes %s of the step", unit.Bytes(size),
				unit.Bytes(size-spared), between(least, most)),
			Evidence: seen(p, metric.BatchBytes, metric.BatchFloat32, metric.BatchFloat64, metric.CollateRatio,
				metric.FetchTime, metric.MadeDecode, metric.CopyTime),
			Recommendations: []report.Recommendation{rec},
			Unhelpful:       tooSlowly(p),
		})
	},
}

// eightBits reports whether what the batch is made from was seen to have 8 bits a value.
func eightBits(p *diagnose.Pass) bool {
	return p.OrZero(metric.MadeDecode) > 0 || layoutOf(p).Dtype == "uint8"
}

// copiedShare is what of the step copying spared bytes of each batch to the GPU takes: as far as it was measured, else
// the least where the copy holds the trainer.
func copiedShare(p *diagnose.Pass, spared, size float64) float64 {
	if copies, ok := p.Maybe(metric.CopyTime); ok {
		return share(copies * spared / size)
	}
	if pinned := p.Facts.PinMemory; p.OrZero(metric.GPUCount) < 1 || pinned == nil || *pinned {
		return 0
	}
	return share(p.Get(metric.BatchesPerS) * spared / p.Limit(pinnedRate))
}
