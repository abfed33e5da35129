package probe

import (
	"context"
	"errors"
	"fmt"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/pkg/report"
)

// batches measures gathering a whole batch in one process, as a sampler that shuffles names its items.
func batches(ctx context.Context, s *session) error {
	items := s.sound(&s.sample, inOrder(&s.sample, random, s.options.Seed))
	if len(items) < s.options.BatchSize {
		s.abstain(report.ProbeBatch, fmt.Sprintf("the sample has %d items that can be read, fewer than a batch of %d",
			len(items), s.options.BatchSize), "give a smaller --batch-size")
		return nil
	}
	c := &workerGroup{session: s, items: items}
	defer c.close()
	if err := c.warmUp(ctx, s.time.part(warmUpShare)); err != nil {
		return err
	}
	ways := []string{benchmark.ByItem}
	// Patches, and datasets that are an item each, are read one by one in any case.
	if s.sample.Kind == dataset.HDF5 && s.sample.ItemShape == nil && !s.sample.Members {
		ways = append(ways, benchmark.BySelection)
	}
	part := s.time.evenly(len(ways))
	for i, way := range ways {
		err := c.gatherWay(ctx, way, part())
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && i > 0:
			s.warn(fmt.Sprintf("gathering batches by %s: %v", way, err))
		case err != nil:
			return err
		}
	}
	return nil
}

// gatherWay measures one way. With an error nothing was measured.
func (c *workerGroup) gatherWay(ctx context.Context, way string, within span) error {
	c.pass = within.pass()
	from := 0
	v, _, err := c.repeat(ctx, within, func() (r round, err error) {
		r, from, err = c.gatherRound(ctx, way, from)
		return r, err
	})
	if err != nil {
		return err
	}
	row := benchmark.Batch{Way: benchmark.Way{Cache: warm, Order: random}, Size: int64(c.options.BatchSize),
		Gather: way, Time: v, Item: v.Scaled(1 / float64(c.options.BatchSize))}
	if !c.sample.ItemIsFile() {
		row.Handle = handleKept
	}
	c.result.Rows.Batches = append(c.result.Rows.Batches, row)
	c.short(ctx, v, "batches gathered by "+way)
	return nil
}

var errTooFewItems = errors.New("fewer items can be read than a batch has")

// gatherRound gathers for the time of a pass, beginning at an item, and says where it stopped.
func (c *workerGroup) gatherRound(ctx context.Context, way string, from int) (round, int, error) {
	if err := c.startUpTo(ctx, 1); err != nil {
		return round{}, 0, err
	}
	for {
		out, err := attended(ctx, c.processes[0], gatherWork, func() (gather, error) {
			if c.items = c.sound(&c.sample, c.items); len(c.items) < c.options.BatchSize {
				return gather{}, errTooFewItems
			}
			return gather{Items: c.items, From: from % len(c.items), Size: c.options.BatchSize,
				Seconds: c.pass.Seconds(), Selection: way == benchmark.BySelection,
				Decode: holdsPictures(&c.sample)}, nil
		}, func(q gather, death error) error {
			// Read one by one, the same items end a process as well.
			return c.survive(ctx, &c.sample, load{Items: q.Items, From: q.From, Seconds: q.Seconds,
				Handle: usualHandle(&c.sample), Decode: q.Decode}, death)
		})
		if err != nil {
			return round{}, 0, err
		}
		c.note(&c.sample, out.Failures)
		if out.Batches > 0 {
			return round{Units: float64(out.Batches), Seconds: out.Seconds}, out.Next, nil
		}
		from = out.Next
		if len(out.Failures) == 0 {
			return round{}, 0, errOneByOne
		}
	}
}
