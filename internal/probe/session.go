package probe

import (
	"context"
	"errors"
	"math"
	"slices"
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
	time   span // of the step under way

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
	return &session{runner: runner, sample: sample, options: o, clock: time.Now, faults: faults{
		map[spot]bool{}, map[string]bool{}, map[trouble]bool{}, map[string]int{}, 0}}
}

func (s *session) wanted() []one {
	return slices.DeleteFunc(slices.Clone(probes), func(p one) bool { return p.wants != nil && !p.wants(s) })
}

func (s *session) plan() []Step {
	list := s.wanted()
	at := time.Time{} // nothing takes time here
	part := begin(func() time.Time { return at }, s.options.Budget).among(weights(list)...)
	steps := make([]Step, len(list))
	for i, p := range list {
		within := part()
		steps[i] = Step{Probe: p.name, What: p.what, Budget: within.left()}
		at = within.ends
	}
	return steps
}

func weights(list []one) []float64 {
	out := make([]float64, len(list))
	for i, p := range list {
		out[i] = p.weight
	}
	return out
}

var errNothing = errors.New("nothing could be measured")

// run does the steps in order. What a step leaves of its share goes to those after it.
func (s *session) run(ctx context.Context, at func(Step, time.Duration)) (Result, error) {
	began, list := s.clock(), s.wanted()
	part := begin(s.clock, s.options.Budget).among(weights(list)...)
	var first error
	var unfinished []string
	for _, p := range list {
		if ctx.Err() != nil {
			unfinished = append(unfinished, p.name)
			continue
		}
		s.time = part()
		if at != nil {
			at(Step{Probe: p.name, What: p.what, Budget: s.time.left()}, s.clock().Sub(began))
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
		s.result.Abstained = append(s.result.Abstained, report.Abstained{Missing: unfinished,
			Reason: "the run was interrupted"})
	}
	s.result.UnreadItems = len(s.sample.Items) - len(s.sound(&s.sample, inOrder(&s.sample, sequential, 0)))
	s.result.Used = s.clock().Sub(began)
	s.result.Interrupted = ctx.Err() != nil
	if len(s.result.Rows.Measurements()) > 0 {
		return s.result, nil
	}
	return s.result, errors.Join(errNothing, first, ctx.Err())
}

// abstain says that a probe, or a part of it, could not run.
func (s *session) abstain(probe, reason, cure string) {
	s.result.Abstained = append(s.result.Abstained, report.Abstained{Missing: []string{probe}, Reason: reason,
		Cure: cure})
}

func (s *session) warn(text string) { s.result.Warnings = append(s.result.Warnings, text) }

// Rounds are repeated until the 95 % interval is within ±5 % of its center, or there is time for no more.
const (
	leastRounds = 6 // the fewest whose median or ratio has a 95 % interval
	mostRounds  = 200
)

// round is one repeat: how much was done and how long it took.
type round struct {
	Units   float64 // items, files, requests
	Seconds float64
}

// repeat calls once until the time per unit is known well enough or no other round fits; the first call is a warm-up
// and does not count, unless no second one fits: one round of pictures that take seconds each is a figure, two of them
// are twice the budget. It returns seconds per unit and all counted rounds.
func (s *session) repeat(ctx context.Context, within span, once func() (round, error)) (stat.Summary, []round, error) {
	var rounds []round
	quickest := math.Inf(1) // one that was held up says nothing of the next
	for warm := false; ; warm = true {
		r, err := once()
		if err != nil {
			return stat.Summary{}, rounds, err
		}
		quickest = min(quickest, r.Seconds)
		if !warm && within.fits(r.Seconds) {
			continue
		}
		rounds = append(rounds, r)
		v := perUnit(rounds)
		if len(rounds) >= leastRounds && (precise(v) || len(rounds) >= mostRounds) || within.left() == 0 ||
			!within.fits(quickest) {
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

// precise reports whether a figure is known as well as it is to be.
func precise(v stat.Summary) bool { return !report.Rough(v.Center, v.Lo, v.Hi, v.Confidence) }

func inverse(v stat.Summary) stat.Summary {
	if v.Lo <= 0 {
		return stat.Summary{}
	}
	v.Center, v.Lo, v.Hi = 1/v.Center, 1/v.Hi, 1/v.Lo
	return v
}
