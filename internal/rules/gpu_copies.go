package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var gpuCopies = diagnose.Rule{
	ID:    "gpu/copies",
	Title: "Copies to the GPU hold the step up",
	Needs: []metric.Desc{metric.CopyTime, metric.DeviceTime},
	Eval: func(p *diagnose.Pass) {
		copies, device := share(p.Get(metric.CopyTime)), share(p.Get(metric.DeviceTime))
		if !diagnose.Transferring(p.Evidence) {
			return
		}
		cures := []report.Recommendation{fewerBytes(p)}
		if !besideKernels(p) {
			cures = append([]report.Recommendation{{Setting: "copies to the GPU",
				To: "beside the computation: one batch ahead, batch.to(device, non_blocking=True) on a stream of " +
					"its own",
				Why: fmt.Sprintf("needs page-locked memory (pin_memory=True); the GPU computes nothing %s of the "+
					"time, and hiding all copies behind its work cannot bring more than that", unit.Percent(1-device)),
				Caveat: "the stream that computes has to wait for the copy: torch.cuda.Stream.wait_stream, " +
					"record_stream"}},
				cures...)
		}
		p.Report(report.Finding{
			Severity: gradeOutside(p, copies), Score: 0, // no share of the data stall is theirs
			Summary: fmt.Sprintf("Copies to the GPU take %s of the time, and it computes %s", unit.Percent(copies),
				unit.Percent(device)),
			Evidence: seen(p, metric.CopyTime, metric.DeviceTime, metric.PcieRxRate, metric.BatchBytes,
				metric.BatchesPerS),
			Recommendations: cures,
			Unhelpful:       readyInTime(p, "copies to the GPU"),
		})
	},
}

// fewerBytes is the advice to copy less: what crosses the link for each batch of the loader, where it is counted.
func fewerBytes(p *diagnose.Pass) report.Recommendation {
	c := report.Recommendation{Setting: "bytes copied to the GPU per step",
		To: "fewer: pictures as uint8, the rest as small a type as it has on disk; converted on the GPU",
		Why: "float32 made of uint8 on the CPU is four times as much to copy; what a copy takes falls in " +
			"proportion to its bytes, and by how many is not known here"}
	batch := p.OrZero(metric.BatchBytes)
	if batch > 0 {
		c.From = new(unit.Bytes(batch) + " per batch")
	}
	rate := p.OrZero(metric.BatchesPerS)
	if rate <= 0 || p.OrZero(metric.GPUCount) != 1 || p.OrZero(metric.GPUOthersBusy) > 0 {
		return c // what crosses the link is not of this loader alone
	}
	if link := p.OrZero(metric.PcieRxRate) / rate; batch > 0 && batch < diagnose.Most.Value*link {
		c.From = new("about " + unit.Bytes(link) + " per batch")
		c.To = "fewer: what the loop copies itself, kept on the GPU or copied less often"
		c.Why = fmt.Sprintf("a batch of the loader has %s: most of what crosses the link is something else; what a "+
			"copy takes falls in proportion to its bytes", unit.Bytes(batch))
	}
	return c
}

// besideKernels reports whether copies to the GPU run beside its kernels: the two take more than all of the time.
// Copies from pageable memory wait for the kernels of their stream first (CUDA Runtime API, "API synchronization
// behavior"), so with one stream they never do.
func besideKernels(p *diagnose.Pass) bool {
	return p.OrZero(metric.CopyTime)+p.OrZero(metric.DeviceTime) > 1+diagnose.Moderate.Value
}
