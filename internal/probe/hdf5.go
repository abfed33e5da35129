package probe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// measureLayout measures what an HDF5 file's layout costs: the filters, opening the file for each item, the file lock,
// and what a chunk cache of another size brings. Read amplification is seen by read.
func measureLayout(ctx context.Context, s *session) error {
	list := []one{
		{what: "reading stored chunks without decompressing them", weight: 2, run: filters},
		{what: "opening the file for each item", weight: 2, run: reopened},
		{what: "opening with and without the file lock", weight: 2, run: locks},
	}
	for _, c := range s.sweep() {
		list = append(list, one{what: c.what, weight: c.weight(*s.options.Layout.Dataset.ChunkBytes),
			run: func(ctx context.Context, s *session) error { return s.cached(ctx, c) }})
	}
	var reasons []string
	without := map[string][]string{} // by reason, what gave no figure: one broken file fails all parts alike
	part := s.time.among(weights(list)...)
	for _, p := range list {
		s.time = part()
		err := p.run(ctx, s)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			reason := err.Error()
			if without[reason] == nil {
				reasons = append(reasons, reason)
			}
			without[reason] = append(without[reason], p.what)
		}
	}
	for _, reason := range reasons {
		s.abstain(report.ProbeHDF5, strings.Join(without[reason], "; ")+": "+reason, "")
	}
	return ctx.Err()
}

// shuffled is the way items are read here unless the order matters: warm, at random, with the file kept open.
func (s *session) shuffled(what string) way {
	return way{probe: report.ProbeHDF5, what: what, handle: handleKept,
		items: keptOpen(&s.sample, inOrder(&s.sample, random, s.options.Seed))}
}

// filters measures the CPU time that filters take: reading items less reading their chunks raw, at random.
func filters(ctx context.Context, s *session) error {
	if l := s.options.Layout; l != nil && len(l.Dataset.Filters) == 0 {
		return nil // nothing to undo
	}
	whole, err := s.measure(ctx, s.shuffled("reading items for the cost of filters"), s.time.part(0.5))
	if err != nil {
		return err
	}
	w := s.shuffled("reading chunks raw")
	w.raw = true
	raw, err := s.measure(ctx, w, s.time)
	if err != nil {
		return err
	}
	s.result.Rows.Filters = append(s.result.Rows.Filters, benchmark.Filter{Order: random,
		Time: difference(perItemCPU(whole.passes), perItemCPU(raw.passes))})
	return nil
}

func perItemCPU(passes []pass) stat.Summary {
	return over(passes, func(p pass) float64 { return p.CPU }, func(p pass) float64 { return float64(p.Items) })
}

// difference of two independent figures, at least 0; the half widths of their intervals add up as standard errors do.
func difference(a, b stat.Summary) stat.Summary {
	if a.N == 0 || b.N == 0 {
		return stat.Summary{}
	}
	v := stat.Summary{Center: max(0, a.Center-b.Center), N: min(a.N, b.N), Confidence: min(a.Confidence, b.Confidence)}
	v.Lo = max(0, v.Center-math.Hypot(a.Center-a.Lo, b.Hi-b.Center))
	v.Hi = v.Center + math.Hypot(a.Hi-a.Center, b.Center-b.Lo)
	return v
}

// reopened measures opening the file for each item, beside keeping it open.
func reopened(ctx context.Context, s *session) error {
	part := s.time.evenly(2)
	for _, handle := range []string{handleReopened, handleKept} {
		w := s.shuffled("random reads, file " + handle)
		w.handle = handle
		w.row = benchmark.Way{Cache: warm, Order: random, Handle: handle}
		w.keep = func(r benchmark.Read) { s.result.Rows.Handles = append(s.result.Rows.Handles, r) }
		if err := s.figure(ctx, w, part()); err != nil {
			return err
		}
	}
	return nil
}

// settled is how long ago a file must have been written to for its lock to be taken. A writer opens its file at any
// moment, and HDF5 refuses an open for writing (errno 11) as long as anybody reads with a lock; of a file that is as it
// was an hour ago there is no writer, or a rare one.
const settled = time.Hour

// unsettled is how long ago the newest of the sampled files was written to; false where all are settled.
func (s *session) unsettled() (time.Duration, bool) {
	newest := int64(0)
	for _, f := range s.sample.All() {
		newest = max(newest, f.Written)
	}
	age := s.clock().Sub(time.Unix(newest, 0))
	return max(age, 0), age < settled
}

// locks measures opening with the library's file lock, which h5py takes unless it is told not to, and without.
// Files that cannot be locked are no faulty files.
func locks(ctx context.Context, s *session) error {
	part := s.time.evenly(2)
	keep := func(mode string, v stat.Summary) {
		s.result.Rows.Locks = append(s.result.Rows.Locks, benchmark.Open{Cache: warm, Mode: mode, Time: v})
	}
	v, err := s.opens(ctx, &s.sample, false, part())
	keep(benchmark.Unlocked, v)
	if err != nil {
		return err
	}
	if age, young := s.unsettled(); young {
		s.abstain(metric.BenchLock.Name, fmt.Sprintf("what a file lock costs was not measured: the files were written "+
			"to %s ago, and a reader with a lock keeps a writer out", age.Round(time.Second)), "")
		return ctx.Err()
	}
	sample := s.sample
	sample.Locked = true
	faults, unread := s.faults, slices.Clone(s.result.Unread)
	s.faults = faults.clone()
	v, _ = s.opens(ctx, &sample, false, part())
	if refused := len(s.faults.files) - len(faults.files); refused > 0 && ctx.Err() == nil {
		row := slices.IndexFunc(s.result.Unread, func(u report.Unread) bool {
			return strings.HasPrefix(u.Reason, string(dataset.Locked))
		})
		if row < 0 { // not the lock refused it
			row = len(s.result.Unread) - 1
		}
		reason := s.result.Unread[row].Reason
		why := fmt.Sprintf("%d of %d sampled HDF5 files cannot be opened with file locking, as h5py opens them by "+
			"default (%s)", refused, len(sample.Files), reason)
		s.warn(why)
		s.abstain(metric.BenchLock.Name, why, "")
	}
	s.faults, s.result.Unread = faults, unread
	keep(benchmark.Locked, v)
	return ctx.Err()
}
