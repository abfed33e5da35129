package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
)

// comparing is a sample that is held against another: read in random order, decoded as a job does, warm and, where possible, cold.
type comparing struct {
	probe  string
	what   string // for people
	keep   func(benchmark.Read)
	sample *dataset.Sample
	key    string // what reading it may get stuck on
	cold   bool
}

// leastCompare is what reading a sample may take however little of the budget is left.
const leastCompare = 300 * time.Millisecond

func (s *session) readBoth(ctx context.Context, c comparing, limit time.Duration) error {
	caches := []string{warm}
	if c.cold {
		caches = append(caches, chilled)
	}
	was := s.ends
	defer func() { s.ends = was }()
	s.ends = s.clock().Add(limit)
	for i, cache := range caches {
		w := way{probe: c.probe, what: fmt.Sprintf("%s: %s, random reads, %s", c.probe, c.what, cache), keep: c.keep,
			row: benchmark.Way{Cache: cache, Order: random}, sample: c.sample, items: inOrder(c.sample, random, s.options.Seed),
			handle: handleKept, decode: c.sample.Kind == dataset.Image || c.sample.Kind == dataset.Tar, cold: cache == chilled, apart: true}
		if c.sample.ItemIsFile() {
			w.handle = handleReopened
		}
		var err error
		s.on(c.key, func() { err = s.figure(ctx, w, len(caches)-i) })
		if err != nil {
			return err
		}
	}
	return nil
}

// noRoom tells whether an error is that of a disk or a quota without room, or of a file beyond what is allowed.
func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
