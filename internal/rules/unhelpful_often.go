package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What is often tried on a starving GPU whatever starves it, and when pipetune speaks against it.

// fixedPart is how much of making a batch its fixed costs may be for the batch size not to matter to samples/s.
var fixedPart = diagnose.Limit{Name: "fixed costs of a batch over all of making it", Value: diagnose.Moderate.Value,
	Unit: metric.Ratio, Source: "as moderate of the step: below 5 % there is nothing to win; handing a batch over is " +
		"its fixed cost"}

// tooSlowly speaks against what makes no batch sooner where the workers are busy all the time: a deeper queue, larger
// batches, and gradients of several batches added up.
func tooSlowly(p *diagnose.Pass) []report.Unhelpful {
	if diagnose.Workerless(p.Evidence) || !saturated(p) {
		return nil
	}
	var out []report.Unhelpful
	if h := p.Evidence.Facts.Hook; h == nil || h.Pauses.Every <= 0 {
		// a deeper queue holds more of what is made while training pauses
		out = against("a deeper prefetch_factor: the queue is empty because batches are made too slowly, and depth "+
			"does not make them faster", deeperPrefetch)
	}
	cpu, ok := p.Maybe(metric.WorkerCPUBatch)
	wait, _ := p.Maybe(metric.WorkerWaitBatch)
	if !ok || handOver.Value > fixedPart.Value*(cpu+wait) {
		return out // nothing is known of a batch, or the hand-over is a part of it that fewer batches would save
	}
	out = append(out, against("a larger batch_size: it takes the workers as much longer to make, so that samples per "+
		"second stay what they are", largerBatch)...)
	return append(out, against("gradient accumulation: it changes the effective batch, not how fast batches come",
		accumulation)...)
}

// storageWaits is how much of its time loading waits for storage where that is next to nothing; false where it is more,
// or unknown.
func storageWaits(p *diagnose.Pass) (float64, bool) {
	seen := metric.WorkerStorage
	if diagnose.Workerless(p.Evidence) {
		seen = metric.MainStorage
	}
	if _, ok := p.Maybe(seen); !ok {
		return 0, false
	}
	split, ok := loadingOf(p)
	if !ok {
		return 0, false
	}
	waits := share(split.storage + split.open)
	return waits, waits < diagnose.Moderate.Value
}

// notStorage speaks against faster storage where loading does not wait for the one there is.
func notStorage(p *diagnose.Pass) []report.Unhelpful {
	waits, ok := storageWaits(p)
	if !ok {
		return nil
	}
	return against(fmt.Sprintf("faster storage, a RAM disk or a copy of the files in memory: loading waits for "+
		"storage %s of its time", unit.Percent(waits)), moved)
}

// notCompression speaks against compressing what is stored plainly and is not waited for.
func notCompression(p *diagnose.Pass) []report.Unhelpful {
	filters, known := p.Maybe(metric.HDF5Filters)
	waits, ok := storageWaits(p)
	if !known || filters >= 1 || !ok {
		return nil
	}
	return against(fmt.Sprintf("compressing the file: loading waits for storage %s of its time, and decompressing "+
		"takes CPU time for each item", unit.Percent(waits)), compressed)
}
