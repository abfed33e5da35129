package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// One worker with two batches, one made each second, a step of a quarter. By hand: batches come at 1 and 2 s, the
// second step is over at 2.25 s; in a pause of 3 s the worker makes the two that are asked of it, at 3 and 4 s, and
// nothing more. They are taken at 5.25 and 5.5 s. The last one was asked for at 5.25 s and is made in the second pause,
// from 5.75 to 8.75 s; its step ends at 9 s.
func TestPauseByHand(t *testing.T) {
	e, out := constant(costs{step: 0.25, other: 1, pause: Pause{Every: 2, Length: 3}}, Setting{Workers: 1, Prefetch: 2},
		extent{epoch: 5, steps: 5, cold: true})
	if want := []float64{1, 0.75, 0, 0, 0}; !slices.Equal(e.tally.waits, want) || e.t != 9 || e.tally.paused != 6 {
		t.Errorf("waits of %v in %g s, of them %g in pauses, want %v in 9 s, 6 of them", e.tally.waits, e.t,
			e.tally.paused, want)
	}
	if math.Abs(out.Rate-5.0/3) > 1e-12 || math.Abs(out.PauseShare-6.0/9) > 1e-12 ||
		math.Abs(out.WaitRatio-1.75/3) > 1e-12 {
		t.Errorf("five steps in 3 s outside of pauses, 1.75 of them waiting: %+v", out)
	}
}

// A pause as long as filling the queue takes, or longer, leaves num_workers × prefetch_factor batches and no more: so
// many steps wait for nothing, and those that follow for the workers, once a round.
func TestLongPauseFillsTheQueue(t *testing.T) {
	const work, step, rounds, pauses = 0.5, 1e-6, 3, 40
	for _, workers := range []int{1, 2, 4, 7} {
		for _, prefetch := range []int{1, 2, 5} {
			for _, longer := range []float64{1.001, 10} {
				every := workers*prefetch + rounds*workers
				c := costs{step: step, other: work, pause: Pause{Every: float64(every),
					Length: work * float64(prefetch) * longer}}
				e, out := constant(c, Setting{Workers: workers, Prefetch: prefetch},
					extent{steps: pauses * every, cold: true})
				if want := float64(every) / (rounds * work); math.Abs(out.Steady/want-1) > 1e-3 {
					t.Errorf("%d workers × %d, pauses %g times as long as filling: %g/s, want %g/s", workers, prefetch,
						longer, out.Steady, want)
				}
				waited := 0
				for _, w := range e.tally.waits {
					if w > work/2 {
						waited++
					}
				}
				if want := rounds*pauses + prefetch; waited != want { // before the first pause no queue was filled
					t.Errorf("%d workers × %d, pauses %g times as long as filling: %d steps waited, want %d", workers,
						prefetch, longer, waited, want)
				}
			}
		}
	}
}

// A pause between epochs finds nothing asked for, and one of a loader without workers nobody to make anything.
func TestPauseWithNothingOutstanding(t *testing.T) {
	for _, set := range []Setting{{Workers: 3, Prefetch: 2, Persistent: true}, {}} {
		c, x := costs{step: 0.1, other: 1}, extent{epoch: 20, steps: 200}
		_, without := constant(c, set, x)
		c.pause = Pause{Every: 20, Length: 60, CPU: 30}
		_, with := constant(c, set, x)
		if math.Abs(with.Rate/without.Rate-1) > 1e-9 || math.Abs(with.WaitRatio-without.WaitRatio) > 1e-9 {
			t.Errorf("%+v: %+v with pauses between epochs, %+v without", set, with, without)
		}
	}
}

// Without contention, in order, every moment is a maximum of sums of times: with a shorter pause no batch comes later,
// and of what is left of the time the trainer waits no less.
func TestShorterPauseIsNeverSlower(t *testing.T) {
	paused := 0
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 7))
		c, set, d, x := anything(dice)
		c.cores, c.readers, set.Unordered, c.receive = 0, 0, false, 0
		p := Pause{Every: 1 + 60*dice.Float64(), Length: math.Exp(8*dice.Float64() - 4)}
		var e engine
		run := func(length float64) (all, trained float64) {
			q := p
			q.Length = length
			c := c
			c.pause = q
			e.simulate(c, set, d, x)
			return e.t, e.t - e.tally.paused
		}
		last, lastTrained := run(p.Length)
		if last > lastTrained {
			paused++
		}
		for range 6 {
			p.Length *= 0.5
			all, trained := run(p.Length)
			if all > last*(1+1e-9) || trained < lastTrained*(1-1e-9) {
				t.Fatalf("seed %d: with a pause of %g s instead of %g s it takes %g instead of %g s, without pauses "+
					"%g instead of %g s: %+v %+v", seed, p.Length, 2*p.Length, all, last, trained, lastTrained, c, set)
			}
			last, lastTrained = all, trained
		}
		c.pause = Pause{}
		e.simulate(c, set, d, x)
		if e.t > last*(1+1e-9) || e.t < lastTrained*(1-1e-9) {
			t.Fatalf("seed %d: %g s without pauses, with %g s, of them %g outside pauses", seed, e.t, last, lastTrained)
		}
	}
	if paused < 200 {
		t.Errorf("%d of 300 runs had pauses", paused)
	}
}

// What is made in pauses is within the bounds too, with cores shared and storage limited.
func TestNoRunWithPausesBeatsItsBounds(t *testing.T) {
	for seed := range uint64(300) {
		dice := rand.New(rand.NewPCG(seed, 8))
		c, set, _, _ := anything(dice)
		if set.Workers == 0 {
			continue
		}
		p := Pipeline{Loader: Loader{FreeStep: stat.Exact(c.step), CPU: stat.Exact(c.cpu),
			Wait: stat.Exact(c.other + c.storage), TrainerCPU: stat.Exact(c.compute),
			CPUs:  stat.Exact(max(c.cores, 0.5)),
			Pause: Pause{Every: 1 + 100*dice.Float64(), Length: math.Exp(6*dice.Float64() - 3)}}, Setting: set}
		p.Pause.CPU = p.Pause.Length * 2 * dice.Float64()
		got, ok := p.costs(p.center(), set)
		bounds := p.bounds(got, set)
		if !ok || len(bounds) == 0 {
			t.Fatalf("seed %d: no bounds of %+v", seed, p)
		}
		every := int(math.Ceil(p.Pause.Every))
		var e engine
		out := e.simulate(got, set, newDraws(seed, 1, Spread{}), extent{steps: 100 * max(every, set.outstanding()),
			cold: true})
		slack := 1.02 // steps between pauses are whole, and the queue at either end of a run is no rate
		if out.Steady > bounds[0].Rate*slack {
			t.Errorf("seed %d: %g/s of at most %+v: %+v %+v", seed, out.Steady, bounds, p, set)
		}
	}
}

// Without pauses, or with so few that they are nothing, a forecast is what it was.
func TestForecastWithoutPauses(t *testing.T) {
	p := slow()
	want, ok := NewForecaster(p, Options{}).Forecast(Setting{Workers: 3}, Remedy{})
	for _, none := range []Pause{{}, {Every: 0, Length: 5}, {Every: mostApart + 1, Length: 5}, {Every: 10},
		{Every: math.NaN(), Length: math.NaN(), CPU: math.NaN()}} {
		p.Pause = none
		got, _ := NewForecaster(p, Options{}).Forecast(Setting{Workers: 3}, Remedy{})
		if !ok || got.StepsPerS.Center != want.StepsPerS.Center || got.StepsPerS.Lo != want.StepsPerS.Lo ||
			got.StepsPerS.Hi != want.StepsPerS.Hi || got.WaitRatio != want.WaitRatio ||
			!slices.Equal(got.Bounds, want.Bounds) {
			t.Errorf("%+v: %+v, want %+v", none, got, want)
		}
	}
	p.Pause = Pause{Every: 40, Length: 30}
	got, _ := NewForecaster(p, Options{}).Forecast(Setting{Workers: 3}, Remedy{})
	deeper, _ := NewForecaster(p, Options{}).Forecast(Setting{Workers: 3, Prefetch: 8}, Remedy{})
	if !(got.Rate > 1.05*want.Rate) || !(deeper.Rate > 1.05*got.Rate) || !(got.PauseShare > 0) {
		t.Errorf("%g/s without pauses, %g/s with, %g/s with a deeper queue", want.Rate, got.Rate, deeper.Rate)
	}
}
