package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/step"
)

// gil is the share of time in which a trainer's main thread waits for Python's global lock.
func (b *builder) gil(r *rank) step.Range {
	return b.range_(b.ofSamples(r, b.grow(r.entity, metric.ThreadGIL)))
}

// gilWait is that as a figure.
func (b *builder) gilWait(r *rank) figure {
	if b.h.of(metric.ThreadGIL, r.entity) == nil {
		return none("which lock the main thread waits for was not seen", "")
	}
	return ratio(b.grow(r.entity, metric.ThreadGIL, metric.ThreadGILReceiving), r.samples)
}

// gilUntold is how much of that is in next() and is not seen to be. Who takes batches from a worker lets the lock go
// and wants it back a few times beside receiving each tensor: half of it is a guess as good as any (two jobs: 36 to 67
// %). Who takes them from a queue of its own process lets it go for nothing.
func (b *builder) gilUntold(r *rank) step.Range {
	if r.hook != nil || r.noLoader {
		return step.Range{}
	}
	g := b.gil(r)
	if b.pinned(r) {
		return step.Range{Hi: g.Hi}
	}
	return step.Range{Likely: g.Likely / 2, Hi: g.Hi}
}

// gilOfLoading is how much of that threads that load may be the reason of: where there is one, it holds the lock in all
// of it or in none.
func (b *builder) gilOfLoading(r *rank) step.Range {
	if !b.pinned(r) && sum(b.grow(r.taker(), metric.ThreadSamples)) == 0 && (r.fed == nil || !r.fed.Threads) {
		return step.Range{}
	}
	g := b.gil(r)
	return step.Range{Likely: g.Likely, Hi: g.Hi}
}
