package probe

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
)

// mostDeaths is how many times in one run a worker process may die of what it reads. Finding out which file it was
// takes as many processes as the sample has binary digits, 20 ms and a part of the reading each.
const mostDeaths = 8

// died reports whether a worker process ended instead of answering, by a crash or by nonsense on its pipe.
func died(err error) bool {
	return errors.As(err, new(*isolate.DeathError)) || errors.As(err, new(*isolate.GarbageError))
}

// crashingItem finds whose reading ends a worker process: the fewest first of n things that do, by halves, each try in
// a fresh process. It returns the place of the last of them; -1 when none does any more, as after the kernel's memory
// killer chose the process.
func crashingItem(ctx context.Context, n int, try func(first int) error) (int, error) {
	var other error
	dies := func(first int) bool {
		if other != nil || ctx.Err() != nil {
			return false
		}
		err := try(first)
		if err != nil && !died(err) {
			other = err
		}
		return died(err)
	}
	at := -1
	if dies(n) {
		at = sort.Search(n-1, func(k int) bool { return dies(k + 1) })
	}
	return at, errors.Join(other, ctx.Err())
}

// attended has a worker process do what next says. One that dies is renewed once blame has left out what ended it.
func attended[In, Out any](ctx context.Context, p *process, k work[In, Out], next func() (In, error),
	blame func(asked In, death error) error) (out Out, err error) {
	for {
		q, err := next()
		if err != nil {
			return out, err
		}
		if out, err = k.ask(ctx, p, q); !died(err) {
			return out, err
		}
		p.renew()
		if err := blame(q, err); err != nil {
			return out, err
		}
	}
}

// survive goes on after a worker process died reading q.Items: it finds the file that ended it, names it and leaves it
// out. Where there is no other file, only the item is left out. The error says that nothing more can be done.
func (s *session) survive(ctx context.Context, sample *dataset.Sample, q load, death error) error {
	s.faults.deaths++
	if s.faults.deaths > mostDeaths {
		return fmt.Errorf("worker processes died %d times, the last: %w", s.faults.deaths, death)
	}
	takes := time.Duration(2 * q.Seconds * float64(time.Second)) // the double: what went before its end must fit in
	q.Items = rotated(q.Items, q.From, len(q.Items))
	q.From, q.Seconds, q.Once, q.StartAt, q.Drop, q.Fresh = 0, takes.Seconds(), true, 0, false, false
	at, err := crashingItem(ctx, len(q.Items), func(first int) error {
		p := s.process(sample, takes)
		defer p.close()
		part := q
		part.Items = q.Items[:first]
		_, err := loadWork.ask(ctx, p, part)
		return err
	})
	switch {
	case err != nil:
		return errors.Join(death, err)
	case at < 0:
		s.warn(fmt.Sprintf("%v; asked again, another one read the same items", death))
		return nil
	}
	item := q.Items[at]
	ref := sample.Items[item]
	if len(sample.Files) > 1 || q.OpenOnly {
		s.exclude(string(sample.Files[ref.File].Path), dataset.Crashed, death.Error())
		return nil
	}
	s.note(sample, []dataset.Failure{{Item: item, Class: dataset.Crashed, Text: fmt.Sprintf("item %d: %v", ref.Index,
		death)}})
	return nil
}
