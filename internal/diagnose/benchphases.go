package diagnose

import (
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

// itemPhases says where the time of one item goes in one worker, the largest part first. Opening, filters and decoding were measured by
// themselves; reading is what they leave of a warm item, and storage what a cold one takes beyond that. They add up to 1.
func itemPhases(e *evidence.Evidence) []report.Phase {
	out := []report.Phase{}
	item, isCold, ok := Settled(e)
	if !ok || item.Center <= 0 {
		return out
	}
	left := item.Center
	add := func(name string, seconds float64, b report.Basis) {
		seconds = min(seconds, left)
		left -= seconds
		if share := unitShare(seconds / item.Center); share >= shownPhase {
			out = append(out, report.Phase{Name: name, Ratio: share, ItemS: seconds, Basis: b})
		}
	}
	warm, haveWarm := e.Get(metric.BenchItem)
	if isCold && haveWarm {
		add(phaseStorage, max(item.Center-warm.Center, 0), report.Measured)
	}
	for _, p := range []struct {
		name string
		d    metric.Desc
	}{{phaseDecode, metric.BenchDecode}, {phaseFilter, metric.BenchFilter}} {
		if v, ok := e.Get(p.d); ok {
			add(p.name, v.Center, basis(v.Basis))
		}
	}
	if v, ok := e.Get(metric.BenchOpen); ok && e.OpensPerItem() {
		add(phaseOpen, v.Center, basis(v.Basis))
	}
	rest := phaseRead
	if filtersUntimed(e) {
		rest = phaseUndo
	}
	add(rest, left, report.Inferred)
	slices.SortStableFunc(out, func(a, b report.Phase) int {
		switch {
		case a.Ratio > b.Ratio:
			return -1
		case a.Ratio < b.Ratio:
			return 1
		}
		return 0
	})
	return out
}
