package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	s.result.Rows.Opens = append(s.result.Rows.Opens, benchmark.Open{Cache: chilled, Time: v})
	if errors.Is(err, errNotCold) {
		s.abstain(report.ProbeOpen, "opening, cold: "+err.Error(), "")
		return nil
	}
	return err
}

// Cold opens are made so many at a time, each file once: a pass that drops thousands of files' pages would spend its
// time on that.
const coldOpens = 32

// opens measures the time per file. With an error comes what was measured before it.
func (s *session) opens(ctx context.Context, sample *dataset.Sample, cold bool, within span) (stat.Summary, error) {
	o := openers{session: s, sample: sample, process: s.process(sample, within.left()), cold: cold}
	defer o.process.close()
	within, err := o.process.begin(ctx, within)
	if err != nil {
		return stat.Summary{}, err
	}
	first := map[[2]uint64]int{}
	for i := range sample.Files {
		if cold && isLink(sample, i, first) {
			continue // its pages are there once the other one is opened
		}
		o.files = append(o.files, i)
	}
	shuffle(o.files, s.options.Seed, 1) // folders lie together: a short round should see several
	o.seconds = within.pass().Seconds()
	v, rounds, err := s.repeat(ctx, within, func() (round, error) { return o.round(ctx) })
	if err != nil {
		v = perUnit(rounds)
	}
	if not := unopened(o.passes); cold && not != nil && ctx.Err() == nil {
		return stat.Summary{}, not
	}
	if v.N > 0 && v.Confidence == 0 {
		s.short(ctx, "opening files")
	}
	return v, err
}

// openers is a measurement of opening under way.
type openers struct {
	*session
	sample  *dataset.Sample
	process *process
	files   []int
	cold    bool
	seconds float64 // of a round
	next    int
	passes  []pass // cold ones
}

func (o *openers) round(ctx context.Context) (round, error) {
	share := 0.0
	for range coldTries {
		out, err := o.ask(ctx)
		if err != nil {
			return round{}, err
		}
		p := out.Pass
		switch {
		case o.cold && p.Cached == nil:
			return round{}, fmt.Errorf("%w: it could not be told any more", errNotCold)
		case o.cold && *p.Cached > coldShare:
			share = *p.Cached
		case p.Items > 0:
			if o.cold {
				o.passes = append(o.passes, p)
			}
			return round{Units: float64(p.Items), Seconds: p.Seconds}, nil
		}
	}
	if o.cold && share > 0 {
		return round{}, fmt.Errorf("%w: %s", errNotCold, stays(share))
	}
	return round{}, errNoneOpens
}

var errNoneOpens = errors.New("none of the sampled files could be opened")

// ask opens those files that could be opened so far, in a fresh process after it died.
func (o *openers) ask(ctx context.Context) (opened, error) {
	var asked opening
	out, err := attended(ctx, o.process, openWork, func() (opening, error) {
		o.files = slices.DeleteFunc(o.files, func(i int) bool { return o.faults.files[string(o.sample.Files[i].Path)] })
		if len(o.files) == 0 {
			return opening{}, o.nothingLeft(errNoneOpens)
		}
		asked = opening{Files: o.files, From: o.next % len(o.files), Seconds: o.seconds}
		if o.cold {
			asked = opening{Files: rotated(o.files, o.next, coldOpens), Seconds: o.seconds, Drop: true}
		}
		return asked, nil
	}, func(_ opening, death error) error {
		return o.survive(ctx, rotated(o.files, o.next, len(o.files)), death)
	})
	if err != nil {
		return opened{}, err
	}
	o.note(o.sample, out.Failures)
	if o.next = out.Next; o.cold {
		o.next = asked.From + len(asked.Files)
	}
	return out, nil
}

// survive finds the file whose opening ended a worker process, names it and leaves it out.
func (o *openers) survive(ctx context.Context, files []int, death error) error {
	return o.find(ctx, death, len(files), "opened the same files", func(first int) error {
		p := o.session.process(o.sample, slowest)
		defer p.close()
		_, err := openWork.ask(ctx, p, opening{Files: files[:first]})
		return err
	}, func(at int) { o.shun(string(o.sample.Files[files[at]].Path), death.Error()) })
}

// rotated is at most so many of a list, round and round from a place on, none twice.
func rotated(list []int, from, most int) []int {
	from %= len(list)
	return slices.Concat(list[from:], list[:from])[:min(most, len(list))]
}
