package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// The changes that rules speak against, by the names recommendations use.
var (
	moreWorkers    = report.Unhelpful{Setting: "num_workers", Direction: report.Up}
	deeperPrefetch = report.Unhelpful{Setting: "prefetch_factor", Direction: report.Up}
	largerBatch    = report.Unhelpful{Setting: "batch_size", Direction: report.Up}
	biggerCache    = report.Unhelpful{Setting: "rdcc_nbytes of h5py.File", Direction: report.Up}
	moved          = report.Unhelpful{Setting: "where the dataset lies", Direction: report.Any}
	readAhead      = report.Unhelpful{Setting: "page cache", Direction: report.Any}
	accumulation   = report.Unhelpful{Setting: "gradient accumulation", Direction: report.Any}
	spawned        = report.Unhelpful{Setting: "multiprocessing_context", Direction: report.To, To: "spawn"}
	compressed     = report.Unhelpful{Setting: "HDF5 compression", Direction: report.Any}
	swmr           = report.Unhelpful{Setting: "SWMR mode", Direction: report.To, To: "on"}
)

// against says what will not help in a line, "what: why", and as data, so that no plan and no patch of the same report
// has it.
func against(line string, changes ...report.Unhelpful) []report.Unhelpful {
	out := make([]report.Unhelpful, len(changes))
	for i, c := range changes {
		out[i], out[i].Why = c, line
	}
	return out
}

// neitherMoreNorDeeper says against that neither more workers nor a deeper queue help.
func neitherMoreNorDeeper(why string) []report.Unhelpful {
	return against("more workers or a deeper prefetch_factor: "+why, moreWorkers, deeperPrefetch)
}

// within says it of a part of the time only. There it does not help; in the rest it may.
func within(part string, list []report.Unhelpful) []report.Unhelpful {
	for i := range list {
		list[i].Within = part
	}
	return list
}

// unlessStarved is within where the trainer waits for data for a good share of the time outside of that part, and else
// said of all of it.
func unlessStarved(p *diagnose.Pass, part string, list []report.Unhelpful) []report.Unhelpful {
	if p.Stall() < diagnose.Moderate.Value {
		return list
	}
	return within(part, list)
}

// moreWorkersShareCores is what to say of workers where other programs hold the cores. From none to some they do
// another thing than sharing: loading then runs while the step waits for its device.
func moreWorkersShareCores(p *diagnose.Pass) []report.Unhelpful {
	if n, ok := p.Maybe(metric.NumWorkers); ok && n == 0 {
		return nil
	}
	return against("more workers: they would share the same cores", moreWorkers)
}

// readyInTime speaks against making batches sooner where they are not what a part of the step waits for.
func readyInTime(p *diagnose.Pass, part string) []report.Unhelpful {
	if diagnose.MayLoad(p.Evidence) || diagnose.LoadsInAThread(p.Evidence) {
		return nil // nobody knows, or a worker is what keeps loading out of the main thread's way
	}
	why := "data is ready in time"
	if p.Stall() >= diagnose.Moderate.Value {
		why = "batches that are there sooner shorten no " + part
	}
	return unlessStarved(p, part, neitherMoreNorDeeper(why))
}

// fixedPart is how much of making a batch its fixed costs may be for the batch size not to matter to samples/s.
var fixedPart = threshold("fixed costs of a batch over all of making it", diagnose.Moderate.Value, metric.Ratio,
	"as moderate of the step: below 5 % there is nothing to win; handing a batch over is its fixed cost")

// tooSlowly speaks against what makes no batch sooner where the workers are busy all the time: a deeper queue, larger
// batches, and gradients of several batches added up.
func tooSlowly(p *diagnose.Pass) []report.Unhelpful {
	if diagnose.Workerless(p.Evidence) || !saturated(p) {
		return nil
	}
	var out []report.Unhelpful
	if p.Reported().Pauses.Every <= 0 {
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
	_, known := p.Maybe(seen)
	split, ok := loadingOf(p)
	waits := share(split.storage + split.open)
	return waits, known && ok && waits < diagnose.Moderate.Value
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
