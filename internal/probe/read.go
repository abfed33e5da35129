package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// read measures reading one item at a time: warm and cold, in storage order and shuffled. Files that hold many items
// stay open, as a job does well to keep them; a file that is one item is opened, read and closed.
func read(ctx context.Context, s *session) error {
	if err := s.asFound(ctx); err != nil {
		return err
	}
	cold, err := s.canBeCold(ctx)
	if err != nil {
		return err
	}
	// The warm ones first: reading everything once more is what makes them warm, and the cold ones drop it again.
	caches := []string{warm}
	if cold {
		caches = append(caches, cachesDropped)
	}
	part := s.time.evenly(2 * len(caches))
	for _, cache := range caches {
		for _, order := range []string{random, sequential} {
			w := way{probe: report.ProbeRead, what: fmt.Sprintf("%s reads, %s", order, cache), keep: s.keepRead,
				row: benchmark.Way{Cache: cache, Order: order}, items: inOrder(&s.sample, order, s.options.Seed),
				handle: usualHandle(&s.sample), cold: cache == cachesDropped, apart: order == random}
			if !s.sample.ItemIsFile() {
				w.row.Handle = handleKept
				w.items = keptOpen(&s.sample, w.items)
			}
			if err := s.figure(ctx, w, part()); err != nil {
				return fmt.Errorf("%s: %w", w.what, err)
			}
		}
	}
	return nil
}

func (s *session) keepRead(r benchmark.Read) { s.result.Rows.Reads = append(s.result.Rows.Reads, r) }

const (
	warm          = benchmark.Warm
	cachesDropped = benchmark.Cold
)

// figure measures one way of reading. Its error says that nothing came of it, nor will of the others.
func (s *session) figure(ctx context.Context, w way, within span) error {
	r, err := s.measure(ctx, w, within)
	if !w.cold && r.time.N > 0 {
		if share, ok := fromStorage(r.passes); ok && share > warmShare {
			w.row.Cache = ""
			s.warn(fmt.Sprintf("%s: %.0f %% of what was read came from storage although all of it had been read just "+
				"before: the sample does not stay in memory, so these reads are neither warm nor cold",
				w.what, 100*share))
		}
	}
	w.keep(w.figures(r))
	s.short(ctx, r.time, w.what)
	switch {
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errNotCold), errors.Is(err, errTooFewWarm):
		s.abstain(w.probe, w.what+": "+err.Error(), "")
		return nil
	case r.time.N > 0:
		s.warn(fmt.Sprintf("%s ended early: %v", w.what, err))
		return nil
	}
	return err
}

// fromStorage is how much of what passes read came from storage; not ok where the kernel did not count. What is
// delivered may be less than what is read, and what is mapped is not counted as read: the larger of the two it is.
func fromStorage(passes []pass) (float64, bool) {
	stored, asked, delivered, ok := transferred(passes)
	return stored / max(1, asked, delivered), ok
}

// asFound puts into the result, once, how much of the sample was in the page cache before any of it was read.
func (s *session) asFound(ctx context.Context) error {
	if s.page.looked {
		return nil
	}
	r, err := s.residency(ctx, false)
	if err != nil {
		return err
	}
	s.page.looked = true
	if share := r.Ratio(); share != nil {
		s.keepRead(benchmark.Read{Cached: stat.Exact(*share)})
	}
	return nil
}
