package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
)

type span struct{ from, to float64 }

func (s span) length() float64 { return max(s.to-s.from, 0) }

func (s span) and(o span) span { return span{max(s.from, o.from), min(s.to, o.to)} }

// leastShared is how much of the joint window a node must have been watched in for its figures to stand beside the
// others': half.
const leastShared = 0.5

// joint is the time in which most nodes were watched: of those that were watched at the moment that most share, from
// the median of their beginnings to the median of their ends. Nodes that do not say when are of no moment.
func joint(list []*Watch) span {
	type edge struct {
		at float64
		by int
	}
	var edges []edge
	for _, w := range list {
		if w.to > w.from {
			edges = append(edges, edge{w.from, 1}, edge{w.to, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	open, most, moment := 0, 0, 0.0
	for _, e := range edges {
		if open += e.by; open > most {
			most, moment = open, e.at
		}
	}
	if most == 0 {
		return span{}
	}
	var from, to []float64
	for _, w := range list {
		if w.from <= moment && moment < w.to {
			from, to = append(from, w.from), append(to, w.to)
		}
	}
	var s span
	s.from, _ = stat.Quantile(from, 0.5)
	s.to, _ = stat.Quantile(to, 0.5)
	return s
}

// seen is the share of the joint window in which a node was watched; 1 where that is not reported.
func (w *Watch) seen(all span) float64 {
	if w.to <= w.from || all.length() == 0 {
		return 1
	}
	return span{w.from, w.to}.and(all).length() / all.length()
}

// apart says how far from the joint window a node was watched.
func (w *Watch) apart(all span) string {
	what, by := "before", all.from-w.to
	if w.from > all.from {
		what, by = "after", w.from-all.to
	}
	if by <= 0 {
		return fmt.Sprintf("watched in %.0f %% of the time only in which most nodes were", 100*w.seen(all))
	}
	text := fmt.Sprintf("watched %s %s most nodes were", unit.Seconds(by), what)
	if by >= time.Hour.Seconds() {
		text += ": another run of the job, or a clock that is wrong"
	}
	return text
}

// within is a figure of a node in the joint window: the mean of its windows in there, else the figure of its whole
// watch.
func (w *Watch) within(f figure, all span) float64 {
	n := len(f.windows)
	if n == 0 || w.seen(all) >= 1 && math.Abs(w.to-w.from-all.length()) < 1 {
		return f.center
	}
	each := (w.to - w.from) / float64(n)
	sum, count := 0.0, 0
	for i, x := range f.windows {
		middle := w.from + (float64(i)+0.5)*each
		if middle >= all.from && middle < all.to {
			sum, count = sum+float64(x), count+1
		}
	}
	if count == 0 || !stat.Finite(sum) {
		return f.center
	}
	return sum / float64(count)
}
