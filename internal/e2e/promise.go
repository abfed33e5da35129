package e2e

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// What is promised of a step with a device, of loops that run now and of recordings of them (internal/replay).
const (
	StallAttached = 0.03 // of 1: how far the data stall may be off, seen from outside …
	StallLaunched = 0.01 // … and with the hook
	PromiseOver   = 0.10 // a promised rate may be so much above the true one
	Covered       = 0.90 // share of loops whose true headroom lies in the interval

	// RateError is how far the true headroom itself may be off: a quotient of two rates, each measured once.
	RateError = 0.03
)

// Promised is the most that a report says of changes of the loader: the upper end of an effect, as a multiple of the
// rate now, also where no rate could be counted. What it says of the host, the GPU, other programs and fewer
// evaluations is not about data.
func Promised(r *report.Report) (most float64, by string) {
	take := func(e *report.Effect, name string) {
		if e != nil && e.Before > 0 && max(e.After, e.Hi)/e.Before > most {
			most, by = max(e.After, e.Hi)/e.Before, name
		}
	}
	notData := []string{"host", "gpu", "cpu/noisy-neighbour", "job/evaluation-sequential"}
	for _, f := range r.Findings {
		group, _, _ := strings.Cut(f.Rule, "/")
		if slices.Contains(notData, group) || slices.Contains(notData, f.Rule) {
			continue
		}
		for _, c := range f.Recommendations {
			take(c.Effect, f.Rule)
		}
	}
	for _, p := range r.Plans {
		take(p.Effect, p.Name)
	}
	return most, by
}
