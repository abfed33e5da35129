package diagnose

import (
	"cmp"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// The parts of an item's time in one worker, in the words of the report.
const (
	phaseOpen    = "opening the file"
	phaseStorage = "waiting for storage"
	phaseRead    = "reading"
	phaseUndo    = "reading and HDF5 filters" // not timed apart
	phaseFilter  = "HDF5 filters"
	phaseDecode  = "decoding"
)

// filtersUntimed tells whether the data has filters and what they take was not measured.
func filtersUntimed(e *evidence.Evidence) bool {
	filters, _ := e.Get(metric.HDF5Filters)
	_, timed := e.Get(metric.BenchFilter)
	return filters.Center >= 1 && !timed
}

// itemPhases says where the time of one item goes in one worker, the largest part first. Opening, filters and
// decoding were measured by themselves; reading is what they leave of a warm item, and storage what a cold one
// takes beyond that. They add up to 1.
func itemPhases(e *evidence.Evidence) []report.Phase {
	out := []report.Phase{}
	item, isCold, ok := Settled(e)
	if !ok || item.Center <= 0 {
		return out
	}
	left := item.Center
	add := func(name string, seconds float64, b metric.Basis) {
		seconds = min(seconds, left)
		left -= seconds
		if share := unitShare(seconds / item.Center); share >= shownPhase {
			out = append(out, report.Phase{Name: name, Ratio: share, ItemS: seconds, Basis: basis(b)})
		}
	}
	if warm, ok := e.Get(metric.BenchItem); isCold && ok {
		add(phaseStorage, max(item.Center-warm.Center, 0), metric.Measured)
	}
	decode, _ := e.Get(metric.BenchDecode)
	add(phaseDecode, decode.Center, decode.Basis)
	filter, _ := e.Get(metric.BenchFilter)
	add(phaseFilter, filter.Center, filter.Basis)
	if open, _ := e.Get(metric.BenchOpen); e.OpensPerItem() {
		add(phaseOpen, open.Center, open.Basis)
	}
	if filtersUntimed(e) {
		add(phaseUndo, left, metric.Inferred)
	} else {
		add(phaseRead, left, metric.Inferred)
	}
	slices.SortStableFunc(out, func(a, b report.Phase) int { return cmp.Compare(b.Ratio, a.Ratio) })
	return out
}
