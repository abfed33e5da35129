package probe

import (
	"context"
	"errors"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// open measures what opening a file costs, and closing it again, in a process that holds no handle of it.
func open(ctx context.Context, s *session) error {
	if err := s.asFound(ctx); err != nil {
		return err
	}
	v, err := s.opens(ctx, &s.sample, false, s.time.part(0.5))
	s.result.Rows.Opens = append(s.result.Rows.Opens, benchmark.Open{Cache: warm, Time: v})
	if err != nil {
		return err
	}
	cold, err := s.canBeCold(ctx)
	if err != nil || !cold {
		return err
	}
	v, err = s.opens(ctx, &s.sample, true, s.time)
	s.result.Rows.Opens = append(s.result.Rows.Opens, benchmark.Open{Cache: cachesDropped, Time: v})
	if errors.Is(err, errNotCold) {
		s.abstain(report.ProbeOpen, "opening, cold: "+err.Error(), "")
		return nil
	}
	return err
}

var errNoneOpens = errors.New("none of the sampled files could be opened")

// opens measures the time per file. With an error comes what was measured before it.
func (s *session) opens(ctx context.Context, sample *dataset.Sample, cold bool, within span) (stat.Summary, error) {
	w := way{what: "opening files", sample: sample, handle: handleReopened, openOnly: true, cold: cold}
	for i, item := range sample.Items { // in storage order: those of a file follow each other
		if i == 0 || sample.Items[i-1].File != item.File {
			w.items = append(w.items, i)
		}
	}
	shuffle(w.items, s.options.Seed, 1) // folders lie together: a short round should see several
	r, err := s.measure(ctx, w, within)
	s.short(ctx, r.time, w.what)
	return r.time, err
}
