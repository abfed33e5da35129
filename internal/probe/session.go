package probe

import (
	"context"
	"errors"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// session is one run: what is to be measured, and what was.
type session struct {
	runner  *isolate.Runner
	sample  dataset.Sample
	options Options
	clock   func() time.Time

	result Result
	began  time.Time
	budget time.Duration // of the step under way
	ends   time.Time     // when the step under way should be over

	faults faults
	page   pageCache
	brief  brief
}

func newSession(runner *isolate.Runner, sample dataset.Sample, o Options) *session {
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	if o.CPUs <= 0 {
		o.CPUs = 1
	}
	return &session{runner: runner, sample: sample, options: o, clock: time.Now, faults: newFaults()}
}

func (s *session) wanted() []one {
	var out []one
	for _, p := range probes {
		if p.wants == nil || p.wants(s) {
			out = append(out, p)
		}
	}
	return out
}

func (s *session) plan() []Step {
	list := s.wanted()
	total := 0.0
	for _, p := range list {
		total += p.weight
	}
	steps := make([]Step, len(list))
	for i, p := range list {
		steps[i] = Step{Probe: p.name, What: p.what, Budget: time.Duration(float64(s.options.Budget) * p.weight / total)}
	}
	return steps
}

// errNothing says that no probe gave a figure.
var errNothing = errors.New("nothing could be measured")

// run does the steps in order. What a step leaves of its share goes to those after it.
func (s *session) run(ctx context.Context, at func(Step, time.Duration)) (Result, error) {
	s.began = s.clock()
	list, left := s.wanted(), 0.0
	for _, p := range list {
		left += p.weight
	}
	var first error
	var unfinished []string
	for _, p := range list {
		if ctx.Err() != nil {
			unfinished = append(unfinished, p.name)
			continue
		}
		remaining := s.options.Budget - s.clock().Sub(s.began)
		s.budget = max(0, time.Duration(float64(remaining)*p.weight/left))
		s.ends = s.clock().Add(s.budget)
		left -= p.weight
		if at != nil {
			at(Step{Probe: p.name, What: p.what, Budget: s.budget}, s.clock().Sub(s.began))
		}
		err := p.run(ctx, s)
		switch {
		case ctx.Err() != nil:
			unfinished = append(unfinished, p.name)
		case err != nil:
			s.abstain(p.name, err.Error(), "")
			if first == nil {
				first = err
			}
		}
	}
	if len(unfinished) > 0 {
		s.result.Abstained = append(s.result.Abstained, report.Abstained{Missing: unfinished, Reason: "the run was interrupted"})
	}
	s.result.Used = s.clock().Sub(s.began)
	s.result.Interrupted = ctx.Err() != nil
	if len(s.result.Rows.Measurements()) > 0 {
		return s.result, nil
	}
	return s.result, errors.Join(errNothing, first, ctx.Err())
}

// abstain says that a probe, or a part of it, could not run.
func (s *session) abstain(probe, reason, cure string) {
	s.result.Abstained = append(s.result.Abstained, report.Abstained{Missing: []string{probe}, Reason: reason, Cure: cure})
}

func (s *session) warn(text string) { s.result.Warnings = append(s.result.Warnings, text) }

// left is what remains of the step's share, never less than nothing.
func (s *session) left() time.Duration { return max(0, s.ends.Sub(s.clock())) }

// Rounds of a measurement: repeated until the 95 % interval is within ±5 % of its center, the share of the budget is spent or there were
// enough.
const (
	leastRounds = 6 // the fewest whose median or ratio has a 95 % interval
	mostRounds  = 200
	longRound   = 0.1 // seconds: a first round of so long is not made again when the time is up
)

// round is one repeat: how much was done and how long it took.
type round struct {
	Units   float64 // items, files, requests
	Seconds float64
}

// repeat calls once until the time per unit is known well enough or the time is up; the first call is a warm-up and does not count, unless
// it was long and the time is up by then: one round of pictures that take seconds each is a figure, two of them are twice the budget. It
// returns seconds per unit and all counted rounds.
func (s *session) repeat(ctx context.Context, limit time.Duration, once func() (round, error)) (stat.Summary, []round, error) {
	end := s.clock().Add(limit)
	var rounds []round
	for warm := false; ; warm = true {
		r, err := once()
		if err != nil {
			return stat.Summary{}, rounds, err
		}
		if !warm && (r.Seconds < longRound || s.clock().Before(end)) {
			continue
		}
		rounds = append(rounds, r)
		v := perUnit(rounds)
		if len(rounds) >= leastRounds && (precise(v) || len(rounds) >= mostRounds) || !s.clock().Before(end) {
			return v, rounds, nil
		}
		if err := ctx.Err(); err != nil {
			return v, rounds, err
		}
	}
}

// perUnit is the time that a unit takes, over all rounds.
func perUnit(rounds []round) stat.Summary {
	return over(rounds, func(r round) float64 { return r.Seconds }, func(r round) float64 { return r.Units })
}

// precise tells whether a figure is known as well as it is to be.
func precise(v stat.Summary) bool { return !report.Rough(v.Center, v.Lo, v.Hi, v.Confidence) }

// inverse turns seconds per unit into units per second.
func inverse(v stat.Summary) stat.Summary {
	if v.Lo <= 0 {
		return stat.Summary{}
	}
	v.Center, v.Lo, v.Hi = 1/v.Center, 1/v.Hi, 1/v.Lo
	return v
}
