package rules

import (
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// outgrown reports whether a dataset that fits in memory no longer does once it is so many times as large.
func outgrown(p *diagnose.Pass, grown float64) bool {
	memory, ok := p.Maybe(metric.BenchMemory)
	return ok && !outgrows(p) && memory*grown > diagnose.MemoryShare.Value
}

// What is said of a rewrite whose copy does not fit in memory where the dataset does.
const (
	outgrownCounted = "the copy no longer fits in memory, so that every epoch reads it from storage, which is in the " +
		"figure"
	outgrownUnknown = "the copy no longer fits in memory, so that every epoch reads it from storage: what that takes " +
		"was not measured"
)

// unpacked is an item's time without filters, given what it takes where nothing is fetched that is not fetched now, and
// what to mind. The dataset grows so many times, and now is how many bytes storage delivers for an item where every
// epoch reads from it: it then delivers the rest of the item too, or all of it where the dataset does not fit in memory
// any more. Not ok: storage has a part in it that was not measured.
func unpacked(p *diagnose.Pass, after stat.Summary, grown, now float64) (_ stat.Summary, mind string, ok bool) {
	gone := outgrown(p, grown)
	item, _ := p.Maybe(metric.BenchItemBytes)
	more := item
	switch {
	case gone:
		mind = outgrownCounted
	case outgrows(p):
		more = max(0, item-now)
	default:
		more = 0
	}
	if more == 0 {
		return after, mind, true
	}
	rate, known := p.Maybe(metric.BenchDeviceBytes)
	if !known || rate <= 0 {
		if gone {
			mind = outgrownUnknown
		}
		return after, mind, !gone
	}
	takes := more / rate
	if latency, ok := p.Maybe(metric.BenchLatency); ok && gone {
		takes = max(takes, latency)
	}
	return spread(after.Lo+takes, after.Center+takes, after.Hi+takes), mind, true
}
