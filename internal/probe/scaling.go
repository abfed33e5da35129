package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

const (
	mostProcesses = 128 // scaling is not tried beyond, unless asked for
	coldPart      = 0.4 // of the probe's time, where reads can be cold
)

// usualHandle is how a job holds the files of this dataset.
func usualHandle(sample *dataset.Sample) string {
	if sample.ItemIsFile() {
		return handleReopened
	}
	return handleKept
}

// jobHandle is how processes that read at the same time hold files: opened for each item where a job must, so that one
// process takes what the parts of an item come to.
func jobHandle(sample *dataset.Sample) string {
	if sample.OpensEach {
		return handleReopened
	}
	return usualHandle(sample)
}

// scaling measures how the rate grows with processes, decoding included: warm and, where that is possible, cold.
func scaling(ctx context.Context, s *session) error {
	cold, err := s.canBeCold(ctx)
	if err != nil {
		return err
	}
	within := s.time
	if cold {
		within = within.part(1 - coldPart)
	}
	c := &workerGroup{session: s}
	err = c.curve(ctx, within)
	if errors.Is(err, errTooFewWarm) {
		s.abstain(report.ProbeScaling, "warm: "+err.Error(), "")
		err = nil
	}
	if err != nil || !cold {
		return err
	}
	if !s.time.fits(c.took) {
		s.abstain(report.ProbeScaling, fmt.Sprintf("cold: the budget of %v was spent", s.options.Budget), "--budget "+
			s.larger().String())
		return nil
	}
	c = &workerGroup{session: s, cold: true}
	err = c.curve(ctx, s.time)
	if err != nil && ctx.Err() == nil {
		s.abstain(report.ProbeScaling, "cold: "+err.Error(), "")
		return nil
	}
	return err
}

// groupSizes are powers of two up to the usable CPUs, rounded up, and one beyond to see a bend; or as asked for.
func groupSizes(cpus float64, most, items int) []int {
	last := most
	if most <= 0 {
		whole := uint(math.Ceil(min(max(2, cpus), mostProcesses)))
		last = min(mostProcesses, 2<<bits.Len(whole-1))
	}
	var sizes []int
	for n := 1; n < last; n *= 2 {
		sizes = append(sizes, n)
	}
	sizes = append(sizes, last)
	for len(sizes) > 1 && sizes[len(sizes)-1] > items {
		sizes = sizes[:len(sizes)-1]
	}
	return sizes
}

// curve measures each number of processes. An error comes only when nothing could be measured.
func (c *workerGroup) curve(ctx context.Context, within span) error {
	s := c.session
	c.items = s.sound(&s.sample, inOrder(&s.sample, random, s.options.Seed))
	defer c.close()
	if !c.cold {
		if err := c.warmUp(ctx, within.part(warmUpShare)); err != nil {
			return err
		}
	}
	sizes := groupSizes(s.options.CPUs, s.options.MaxWorkers, len(c.items))
	var steps []step
	defer func() { c.addSteps(steps) }()
	part := within.evenly(len(sizes))
	for i, count := range sizes {
		share := part()
		if len(steps) > 0 && !within.fits(c.took) {
			s.warn(c.endedAt(sizes[i:], step{}, fmt.Errorf("the budget of %v was spent; give --budget %v",
				s.options.Budget, s.larger())))
			return nil
		}
		c.pass = share.groupPass(lead(count))
		got, err := c.step(ctx, share, count)
		if got.rate.N > 0 {
			got.remote = c.processes[0].remote
			if err == nil && len(steps) > 0 && got.unexplained(steps[0], s.options.CPUs) {
				got.waiting, err = c.locked(ctx, count)
			}
			steps = append(steps, got)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && count == 1:
			return fmt.Errorf("reading in one process: %w", err)
		case err != nil:
			s.warn(c.endedAt(sizes[i:], got, err))
			return nil
		}
	}
	return nil
}

// endedAt says why the rest of the sizes was not measured, or the first of them not to its end.
func (c *workerGroup) endedAt(rest []int, got step, err error) string {
	which := fmt.Sprintf("%s reads by %s", c.cache(), unit.Count(int64(rest[0]), "process", "processes"))
	if got.rate.N > 0 {
		return fmt.Sprintf("%s ended early: %v", which, err)
	}
	if len(rest) > 1 {
		which += " and more"
	}
	return fmt.Sprintf("%s were left out: %v", which, err)
}

func (c *workerGroup) cache() string {
	if c.cold {
		return cachesDropped
	}
	return warm
}

// warmUp has one process read and decode every item once; later only what it read in its time is measured.
func (c *workerGroup) warmUp(ctx context.Context, within span) error {
	c.pass = within.left()
	if err := c.startUpTo(ctx, 1); err != nil {
		return err
	}
	out, err := attended(ctx, c.processes[0], loadWork, func() (load, error) {
		if c.items = c.sound(&c.sample, c.items); len(c.items) == 0 {
			return load{}, errNoneReadable
		}
		return load{Items: c.items, Once: true, Seconds: within.once(), Handle: jobHandle(&c.sample),
			Decode: holdsPictures(&c.sample)}, nil
	}, func(asked load, death error) error { return c.revive(ctx, c.processes[0], asked, death) })
	if err != nil {
		return err
	}
	c.note(&c.sample, out.Failures)
	if out.Next > 0 {
		if jobHandle(&c.sample) == handleKept && c.onlyCached(&c.sample, c.items[:out.Next], c.items) {
			return c.tooFewWarm()
		}
		c.items = c.items[:out.Next]
	}
	if c.items = c.sound(&c.sample, c.items); len(c.items) == 0 {
		return errNoneReadable
	}
	return nil
}

// step measures so many processes. With an error comes what was measured before it.
func (c *workerGroup) step(ctx context.Context, within span, count int) (step, error) {
	if err := c.startUpTo(ctx, count); err != nil {
		return step{}, err
	}
	var all []groupRound
	var seen []pass
	_, counted, err := c.repeat(ctx, within, func() (round, error) {
		r, err := c.round(ctx, count)
		if err == nil {
			all = append(all, r)
			seen = append(seen, r.passes...)
		}
		return round{Units: r.rate * r.seconds, Seconds: r.seconds}, err
	})
	if not := unfetched(seen, false); c.cold && !c.distant && not != nil && ctx.Err() == nil {
		return step{}, not
	}
	s := summary(count, all[len(all)-len(counted):])
	if err == nil {
		c.short(ctx, s.rate, fmt.Sprintf("%s reads by %s", c.cache(), unit.Count(int64(count), "process", "processes")))
	}
	return s, err
}

// addSteps puts the steps of a curve into the result, the first of which is one process.
func (c *workerGroup) addSteps(steps []step) {
	as := benchmark.Way{Cache: c.cache(), Order: random}
	if !c.sample.ItemIsFile() {
		as.Handle = jobHandle(&c.sample)
	}
	for i, bound := range bounds(steps, c.options.CPUs) {
		got := steps[i]
		c.result.Rows.Scaling = append(c.result.Rows.Scaling, benchmark.Processes{Way: as, Count: int64(got.workers),
			Bound: bound, Rate: got.rate, Efficiency: got.efficiency(steps[0]), Cores: got.cores})
	}
}
