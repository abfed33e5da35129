package probe

import (
	"context"
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/rewrite"
	"github.com/pipetune/pipetune/pkg/report"
)

func try(ctx context.Context, s *session) error {
	if s.sample.Members {
		s.abstain(report.ProbeTry, notRewritten, "")
		return nil
	}
	return rewrite.Layouts(ctx, s.rewriting(report.ProbeTry))
}

// notRewritten is why there are no copies of datasets that are an item each, or hold some.
const notRewritten = "items lie in datasets of their own, and such are not rewritten here"

func measureOtherPlace(ctx context.Context, s *session) error {
	if s.sample.Members {
		s.abstain(report.ProbeTier, notRewritten, "")
		return nil
	}
	return rewrite.Place(ctx, s.rewriting(report.ProbeTier))
}

func (s *session) rewriting(probe string) *rewrite.Job {
	o := &s.options
	return &rewrite.Job{Bench: bench{s, probe}, Runner: s.runner, Sample: &s.sample, Layout: o.Layout,
		Rows: &s.result.Rows, Key: o.Key, Seed: o.Seed, Scratch: o.Scratch, Other: o.Other}
}

// bench is the session as a probe that has the sample rewritten uses it.
type bench struct {
	*session
	probe string
}

func (b bench) Sound() []int { return b.sound(&b.sample, inOrder(&b.sample, sequential, 0)) }

func (b bench) Left() time.Duration                         { return b.time.left() }
func (b bench) Note(failures []dataset.Failure)             { b.note(&b.sample, failures) }
func (b bench) CanBeCold(ctx context.Context) (bool, error) { return b.canBeCold(ctx) }
func (b bench) Spare() int64                                { return b.spare() }
func (b bench) Warn(text string)                            { b.warn(text) }
func (b bench) Abstain(reason, cure string)                 { b.abstain(b.probe, reason, cure) }

// Read measures a sample in random order, decoded as a job does, warm and, where possible, cold.
func (b bench) Read(ctx context.Context, c rewrite.Copy, limit time.Duration) error {
	s, caches := b.session, []string{warm}
	if c.Cold {
		caches = append(caches, cachesDropped)
	}
	key, part := s.options.Key, begin(s.clock, limit).evenly(len(caches))
	defer func() { s.options.Key = key }()
	s.options.Key = c.Key
	for _, cache := range caches {
		w := way{probe: b.probe, what: fmt.Sprintf("%s: %s, random reads, %s", b.probe, c.What, cache), keep: c.Keep,
			row: benchmark.Way{Cache: cache, Order: random}, sample: c.Sample,
			items: inOrder(c.Sample, random, s.options.Seed), handle: usualHandle(c.Sample),
			decode: holdsPictures(c.Sample), cold: cache == cachesDropped, apart: true}
		if err := s.figure(ctx, w, part()); err != nil {
			return fmt.Errorf("%s: %w", w.what, err)
		}
	}
	return nil
}
