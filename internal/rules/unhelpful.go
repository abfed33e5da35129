package rules

import (
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
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
// has it. An empty line says nothing.
func against(line string, changes ...report.Unhelpful) []report.Unhelpful {
	if line == "" {
		return nil
	}
	out := make([]report.Unhelpful, len(changes))
	for i, c := range changes {
		out[i], out[i].Why = c, line
	}
	return out
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

// readyInTime speaks against making batches sooner where none is waited for.
func readyInTime() []report.Unhelpful {
	return against("more workers or a deeper prefetch_factor: data is ready in time", moreWorkers, deeperPrefetch)
}
