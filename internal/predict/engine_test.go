package predict

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// given is chances that are known: seconds for unit costs.
func given(service, step []float64) *draws { return &draws{service: service, step: step} }

// constant is a run whose batches, and whose steps, all take the same.
func constant(c costs, set Setting, x extent) (*engine, Outcome) {
	var e engine
	out := e.simulate(c, set, given([]float64{1}, nil), x)
	return &e, out
}

// The times are worked out by hand from _try_put_index, _next_data and _process_data of torch/utils/data/dataloader.py:
// two workers with two batches each. In order, batch 4 holds up 5 and 7, which are ready; without order the other
// worker's batches go round it.
func TestTwelveBatchesByHand(t *testing.T) {
	service := []float64{3, 1, 1, 1, 6, 1, 1, 1, 1, 1, 1, 1}
	for _, tt := range []struct {
		name      string
		unordered bool
		waits     []float64
		total     float64
	}{
		{"in order", false, []float64{3, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0}, 18},
		{"in_order=False", true, []float64{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 13},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e engine
			e.run(costs{step: 1, other: 1}, Setting{Workers: 2, Prefetch: 2, Unordered: tt.unordered},
				given(service, nil), extent{epoch: 12, steps: 12, cold: true}, 0)
			if !slices.Equal(e.tally.waits, tt.waits) || e.t != tt.total {
				t.Errorf("waits %v in %g s, want %v in %g s", e.tally.waits, e.t, tt.waits, tt.total)
			}
		})
	}
}

// Two epochs of three batches with one worker: starting takes 1 s in the trainer and 2 s of CPU in the worker, ending
// 0.5 s. By hand: the worker is there at 3 s, batches are ready at 4, 5 and 6 s, each step takes 0.25 s, and the last
// is over at 6.25 s. Drawing the first indices takes the trainer 0.5 s of each epoch, and 2 s more for a new worker,
// which then has to wait for half a second, as it starts meanwhile.
func TestEpochsByHand(t *testing.T) {
	c := costs{step: 0.25, other: 1, start: StartCost{Trainer: 1, Worker: 2, End: 0.5}, resume: 0.125}
	for _, tt := range []struct {
		name         string
		set          Setting
		cold         bool
		draw, redraw float64
		total        float64
	}{
		{"restarted", Setting{Workers: 1, Prefetch: 2}, true, 0, 0, 2 * 6.75},
		{"kept", Setting{Workers: 1, Prefetch: 2, Persistent: true}, true, 0, 0, 6.25 + 0.125 + 3.25},
		{"kept, later epochs", Setting{Workers: 1, Prefetch: 2, Persistent: true}, false, 0, 0, 2 * (0.125 + 3.25)},
		{"restarted, drawing", Setting{Workers: 1, Prefetch: 2}, true, 0.5, 2, 2 * 7.25},
		{"kept, drawing", Setting{Workers: 1, Prefetch: 2, Persistent: true}, true, 0.5, 2, 6.75 + 0.5 + 0.125 + 3.25},
		{"no workers, drawing", Setting{}, true, 0.5, 2, 2 * (0.5 + 3*1.25)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.draw, c.redraw = tt.draw, tt.redraw
			e, out := constant(c, tt.set, extent{epoch: 3, steps: 6, cold: tt.cold})
			if math.Abs(e.t-tt.total) > 1e-12 || math.Abs(3/out.Rate-tt.total/2) > 1e-12 || out.Steps != 6 {
				t.Errorf("took %g s, epoch %g s, %d steps, want %g s for 6", e.t, 3/out.Rate, out.Steps, tt.total)
			}
		})
	}
}

func exponential(seed uint64, n int) []float64 {
	dice := rand.New(rand.NewPCG(seed, 99))
	out := make([]float64, n)
	for i := range out {
		out[i] = dice.ExpFloat64()
	}
	s, _ := unit(out, n)
	return s.values
}

// One worker and the trainer are a queue with room for prefetch_factor batches and the one in the step: M/M/1/K with K
// = prefetch + 1.
func TestOneWorkerIsAnMM1KQueue(t *testing.T) {
	const n, arrive, serve = 400_000, 0.9, 1.0
	for _, prefetch := range []int{1, 2, 4, 8} {
		var e engine
		out := e.simulate(costs{step: 1 / serve, other: 1 / arrive}, Setting{Workers: 1, Prefetch: prefetch},
			given(exponential(1, n), exponential(2, n)), extent{steps: n, cold: true})
		rho, k := arrive/serve, float64(prefetch+1)
		full := (1 - rho) * math.Pow(rho, k) / (1 - math.Pow(rho, k+1))
		if want := arrive * (1 - full); math.Abs(out.Rate/want-1) > 0.005 {
			t.Errorf("prefetch %d: %g/s, want %g/s", prefetch, out.Rate, want)
		}
	}
}

// With a deep queue and a constant step it is M/D/1, whose server is idle 1-ρ of the time.
func TestDeepQueueIsMD1(t *testing.T) {
	const n = 400_000
	for _, rho := range []float64{0.3, 0.5, 0.7, 0.8} {
		var e engine
		out := e.simulate(costs{step: rho, other: 1}, Setting{Workers: 1, Prefetch: 200},
			given(exponential(3, n), nil), extent{steps: n, cold: true})
		// A step waits as long as its batch is away after the last step: 1 - ρ on average.
		if math.Abs(out.Wait/(1-rho)-1) > 0.01 {
			t.Errorf("load %g: input wait %g s, want %g s", rho, out.Wait, 1-rho)
		}
	}
}

func TestConstantTimesReachTheLowestBound(t *testing.T) {
	for _, tt := range []struct {
		name    string
		costs   costs
		workers int
		want    float64
	}{
		{"step", costs{step: 0.1, other: 0.2}, 4, 10},
		{"workers", costs{step: 0.01, other: 0.2}, 4, 20},
		{"cores", costs{step: 0.01, cpu: 0.2, cores: 2}, 4, 10},
		{"workers on two cores each", costs{step: 0.01, cpu: 0.2, beside: 1, cores: 8}, 2, 20},
		{"and fewer than they take", costs{step: 0.01, cpu: 0.2, beside: 1, cores: 2}, 4, 10},
		{"half a core", costs{step: 0.01, cpu: 0.2, cores: 0.5}, 4, 2.5},
		{"cores shared with the trainer", costs{step: 0.1, compute: 0.1, cpu: 0.2, cores: 2}, 4, 2 / 0.3},
		{"a trainer on two threads", costs{step: 0.1, compute: 0.2, cpu: 0.1, cores: 2}, 3, 2 / 0.3},
		{"storage that gives one reader and a half", costs{step: 0.01, storage: 0.2, readers: 1.5}, 4, 7.5},
		{"receiving", costs{step: 0.01, other: 0.01, receive: 0.03, dispatch: 0.01}, 4, 20},
		{"pinning", costs{step: 0.01, other: 0.01, receive: 0.05, pin: true}, 4, 20},
		{"handing over", costs{step: 0.01, other: 0.15, handover: 0.05}, 2, 10},
		{"no workers", costs{step: 0.01, cpu: 0.2, other: 0.03, dispatch: 0.01}, 0, 4},
		{"no workers and half a core", costs{step: 0.1, compute: 0.1, cpu: 0.2, cores: 0.5}, 0, 1 / 0.6},
	} {
		for _, prefetch := range []int{1, 2, 8} { // constant times: depth changes nothing
			_, out := constant(tt.costs, Setting{Workers: tt.workers, Prefetch: prefetch},
				extent{steps: 3000, cold: true})
			if math.Abs(out.Steady/tt.want-1) > 0.005 {
				t.Errorf("%s, prefetch %d: %g/s, want %g/s", tt.name, prefetch, out.Steady, tt.want)
			}
		}
	}
}

// A trainer that spins while it waits for the GPU takes cores from the workers and is not held up by them.
func TestSpinningTakesCores(t *testing.T) {
	rate := func(spin float64) float64 {
		_, out := constant(costs{step: 0.1, spin: spin, cpu: 0.4, cores: 2}, Setting{Workers: 2, Prefetch: 2},
			extent{steps: 2000, cold: true})
		return out.Steady
	}
	free, spinning := rate(0), rate(0.1)
	if math.Abs(free/5-1) > 0.01 || !(spinning < 0.95*free) || spinning < 2/0.5-0.01 {
		t.Errorf("%g/s without spinning, %g/s with, want 5/s and less, not below 4/s", free, spinning)
	}
}

// some costs and setting a machine could show.
func anything(dice *rand.Rand) (costs, Setting, *draws, extent) {
	span := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + dice.Float64()*math.Log(hi/lo)) }
	maybe := func(x float64) float64 {
		if dice.IntN(2) == 0 {
			return 0
		}
		return x
	}
	c := costs{step: span(1e-3, 1), compute: maybe(span(1e-4, 2)), spin: maybe(span(1e-3, 0.1)), cpu: span(1e-3, 1),
		storage: maybe(span(1e-3, 1)), other: maybe(span(1e-3, 1)), handover: maybe(1e-3), receive: maybe(1e-3),
		dispatch: maybe(1e-3), pin: dice.IntN(2) == 0, resume: 1e-3, cores: maybe(span(0.3, 32)),
		start: StartCost{Trainer: maybe(0.01), Worker: maybe(span(0.01, 1)), End: maybe(0.01)}, slices: 4}
	if c.storage > 0 && dice.IntN(2) == 0 {
		c.readers = 1 + 2*dice.Float64()
	}
	set := Setting{Workers: dice.IntN(9), Prefetch: 1 + dice.IntN(5), Persistent: dice.IntN(2) == 0,
		Unordered: dice.IntN(3) == 0}
	const steps = 300
	seed, spread := dice.Uint64(), Lognormal(maybe(span(0.1, 3)))
	d := newDraws(seed, steps, spread)
	d.step = slices.Repeat([]float64{1}, steps)
	Lognormal(maybe(0.5)).draw(rand.New(rand.NewPCG(seed, 2)), d.step)
	x := extent{epoch: 1 + dice.IntN(steps), cold: dice.IntN(2) == 0}
	x.steps = max(steps/x.epoch, 1) * x.epoch
	return c, set, d, x
}

// The work of a run is known exactly, so no run may take less time than the busiest resource needs for it.
func TestNoRunBeatsItsBounds(t *testing.T) {
	for seed := range uint64(800) {
		c, set, d, x := anything(rand.New(rand.NewPCG(seed, 5)))
		var e engine
		out := e.simulate(c, set, d, x)
		if out.Steps != x.steps || !(out.Rate > 0) || math.IsInf(out.Rate, 0) {
			t.Fatalf("seed %d: %d of %d steps, %g/s", seed, out.Steps, x.steps, out.Rate)
		}
		n := float64(out.Steps)
		service, steps := n*mean(d.service[:out.Steps]), n*mean(d.step[:out.Steps])
		cores := c.cores
		if cores == 0 {
			cores = math.Inf(1)
		}
		workers := float64(set.Workers)
		if set.Workers == 0 {
			workers = math.Inf(1)
		}
		storage := 0.0
		if c.readers > 0 && set.Workers > 0 {
			storage = service * c.storage / c.speedup(set.Workers)
		}
		least := []float64{steps * c.step, service * (c.cpu + c.storage + c.other) / workers,
			(service*c.cpu + steps*c.compute) / cores, storage}
		if set.Workers == 0 {
			least = append(least, service*(c.cpu+c.storage+c.other)+steps*c.step)
		}
		if e.t < slices.Max(least)*(1-1e-9) {
			t.Fatalf("seed %d: %g s for work that takes %v s: %+v %+v", seed, e.t, least, c, set)
		}
		if out.StartShare < 0 || out.StartShare > 1+1e-9 || out.WaitRatio > 1+1e-9 {
			t.Fatalf("seed %d: impossible: %+v", seed, out)
		}
	}
}

// Without contention, in order, every moment is a maximum of sums of times: nothing can come later because something
// takes less. With contention a batch that is early can hold up another one, by little.
func TestLessWorkIsNeverSlower(t *testing.T) {
	for seed := range uint64(200) {
		dice := rand.New(rand.NewPCG(seed, 6))
		c, set, d, x := anything(dice)
		slack := 0.03
		if seed%2 == 0 {
			c.cores, c.readers, set.Unordered, slack = 0, 0, false, 1e-9
			c.receive = 0 // one takes batches as they come, and may be at the wrong one
		}
		var e engine
		before := e.simulate(c, set, d, x).Rate
		for name, less := range map[string]func(*costs){
			"step":    func(c *costs) { c.step, c.compute, c.spin = c.step*0.7, c.compute*0.7, c.spin*0.7 },
			"cpu":     func(c *costs) { c.cpu *= 0.7 },
			"storage": func(c *costs) { c.storage *= 0.7 },
			"other":   func(c *costs) { c.other *= 0.7 },
		} {
			cheaper := c
			less(&cheaper)
			if after := e.simulate(cheaper, set, d, x).Rate; after < before*(1-slack) {
				t.Errorf("seed %d: less %s makes %g/s of %g/s: %+v %+v", seed, name, after, before, c, set)
			}
		}
	}
}

func TestSimulationAllocatesNothing(t *testing.T) {
	c, set, d, x := costs{step: 0.01, cpu: 0.1, other: 0.02, cores: 6, slices: 4}, Setting{Workers: 16, Prefetch: 2},
		newDraws(1, 1000, Lognormal(1)), extent{steps: 1000, cold: true}
	var e engine
	e.simulate(c, set, d, x)
	if n := testing.AllocsPerRun(10, func() { e.simulate(c, set, d, x) }); n != 0 {
		t.Errorf("%g allocations a run", n)
	}
}

// Workers end side by side: on two cores, four take twice as long as one and two as long as one, whether the epoch is
// simulated whole or cut off. A real DataLoader took 7.5, 7.7 and 15.5 ms to end 1, 2 and 4 forked workers
// (testdata/loader_sleeps_1.13.tsv).
func TestWorkersEndSideBySide(t *testing.T) {
	for workers, want := range map[int]float64{1: 0.5, 2: 0.5, 4: 1} {
		for _, x := range []extent{{epoch: 40, steps: 40, cold: true}, {epoch: 40, steps: 30, cold: true}} {
			takes := func(end float64) float64 {
				_, out := constant(costs{step: 1, cores: 2, start: StartCost{End: end}},
					Setting{Workers: workers, Prefetch: 2}, x)
				return 40 / out.Rate
			}
			if got := takes(0.5) - takes(0); math.Abs(got-want) > 1e-9 {
				t.Errorf("%d workers, %d steps: ending takes %g s, want %g s", workers, x.steps, got, want)
			}
		}
	}
}

// A device of which the trainer does not wait goes on with the step before while the trainer waits for a late batch:
// steps of 10 ms on the device, of which 1 ms holds the trainer, batches that are ready each 8 ms, but for every third,
// which takes 12 ms. The device never stands still.
func TestTheDeviceWorksBehindTheTrainer(t *testing.T) {
	service := []float64{6, 6, 12, 6, 6, 12, 6, 6, 12, 6, 6, 12}
	total := func(behind float64) float64 {
		var e engine
		e.run(costs{step: 10, behind: behind, other: 1}, Setting{Workers: 1, Prefetch: 1}, given(service, nil),
			extent{epoch: 12, steps: 12, cold: true}, 0)
		return e.t
	}
	if held, free := total(0), total(9); free >= held || free < 6+11*10-9 {
		t.Errorf("12 steps of 10 ms take %g ms behind a trainer that goes on, %g ms of one that waits", free, held)
	}
}
