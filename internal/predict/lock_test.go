package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// Two workers that each wait a third of their time: with r the time that one holds the lock over that between two
// times, both are at it for a part r²/(1/2 + r + r²) of the time, which is 2/3 at r = 1 + √2, and nobody for
// 1/(1 + 2r + 2r²).
func TestLockUseOfTwoWorkersByHand(t *testing.T) {
	r := 1 + math.Sqrt2
	lo, likely, ok := LockUse(2.0/3, 2.0/3, 2)
	if want := 1 - 1/(1+2*r+2*r*r); !ok || lo != 2.0/3 || math.Abs(likely-want) > 1e-6 {
		t.Errorf("at least %g, likely %g, %t; want 2/3, likely %g", lo, likely, ok, want)
	}
}

func TestLockUseIsBounded(t *testing.T) {
	for workers := 2; workers <= 64; workers *= 2 {
		last := 0.0
		for _, each := range []float64{1e-6, 1e-3, 0.01, 0.05, 0.2, 0.5, 1 - 1/float64(workers)} {
			waiting := min(each*float64(workers), float64(workers-1))
			lo, likely, ok := LockUse(waiting, 0.9*waiting, workers)
			if !ok || lo < 0.9*waiting/float64(workers-1)-1e-9 || !(lo <= likely && likely <= 1) ||
				likely < last {
				t.Errorf("%d workers, %g waiting: at least %g, likely %g (before %g), %t", workers, waiting, lo,
					likely, last, ok)
			}
			last = likely
		}
	}
	if _, likely, _ := LockUse(0.002, 0.002, 2); likely > 0.1 {
		t.Errorf("waits of a thousandth of the time make a lock held for %g of it", likely)
	}
	for name, ok := range map[string]bool{
		"one worker": isLock(LockUse(0.5, 0.5, 1)), "nobody waits": isLock(LockUse(0, 0, 4)),
		"more wait than others are there": isLock(LockUse(1.5, 1.4, 2)),
	} {
		if ok {
			t.Errorf("%s: a lock that they share", name)
		}
	}
}

func isLock(_, _ float64, ok bool) bool { return ok }

// sleepers have workers that wait for 63 ms of a batch, 44 ms of them under a lock where they share one.
func sleepers(locked bool) Pipeline {
	p := Pipeline{Loader: Loader{FreeStep: stat.Exact(0.015), CPU: stat.Exact(0.007), Wait: stat.Exact(0.056),
		CPUs: stat.Exact(4), UsableCPUs: 4}, Setting: Setting{Workers: 2}, Fetch: Lognormal(0.05)}
	if locked {
		p.Lock = stat.Summary{Center: 0.044, Lo: 0.031, Hi: 0.047, N: 10}
	}
	return p
}

func TestMoreWorkersWaitForTheSameLock(t *testing.T) {
	f := NewForecaster(sleepers(true), Options{Steps: 4000})
	rate := func(workers int, r Remedy) Forecast {
		out, ok := f.Forecast(Setting{Workers: workers}, r)
		if !ok {
			t.Fatalf("%d workers: no forecast", workers)
		}
		return out
	}
	two, four, eight := rate(2, Remedy{}), rate(4, Remedy{}), rate(8, Remedy{})
	if four.Rate > 1.05*two.Rate || eight.Rate > 1.05*two.Rate || four.Rate < two.Rate {
		t.Errorf("%g, %g and %g/s with 2, 4 and 8 workers: the lock allows no more", two.Rate, four.Rate, eight.Rate)
	}
	if four.Limit != Lock || math.Abs(four.Bounds[0].Rate*0.044-1) > 1e-9 {
		t.Errorf("limited by %s at %g/s, want the lock at 1/44 ms", four.Limit, four.Bounds[0].Rate)
	}
	if gain := f.Gain(two, four); gain.Lo > 1 || gain.Hi < 1.1 || gain.Hi > 1.6 {
		t.Errorf("gain of %g to %g: how long the lock is held is known as a range", gain.Lo, gain.Hi)
	}
	free := rate(2, Remedy{Unlocked: true})
	if math.Abs(free.Rate*0.063/2-1) > 0.02 {
		t.Errorf("%g/s without the lock, want 2 batches in 63 ms", free.Rate)
	}
	if found, ok := f.WorkersNeeded(Setting{Workers: 2}, true); !ok || found.Chosen.Setting.Workers != 2 {
		t.Errorf("%d workers needed, want the two there are", found.Chosen.Setting.Workers)
	}
	without := NewForecaster(sleepers(false), Options{Resamples: -1, Steps: 4000})
	if out, ok := without.Point(Setting{Workers: 4}, Remedy{}); !ok || math.Abs(out.Rate*0.063/4-1) > 0.03 {
		t.Errorf("%g/s of four workers that share no lock, want 4 batches in 63 ms", out.Rate)
	}
	if out, ok := f.Point(Setting{Workers: 1}, Remedy{}); !ok || math.Abs(out.Rate*0.063-1) > 0.02 {
		t.Errorf("%g/s of one worker, which waits for nobody", out.Rate)
	}
}

// Whatever shares the cores and the storage, no rate is above the bound of the lock, all batches come, and workers that
// take turns are no faster than ones that do not.
func TestTurnsNeverBringMore(t *testing.T) {
	for seed := range uint64(40) {
		dice := rand.New(rand.NewPCG(seed, 11))
		p := Pipeline{Loader: loader(dice, 0), Fetch: Lognormal(dice.Float64()), StorageShare: dice.Float64(),
			Pin: dice.IntN(2) == 0}
		if dice.IntN(2) == 0 {
			p.Epoch = 20 + dice.IntN(50)
		}
		set := Setting{Workers: 2 + dice.IntN(6), Unordered: dice.IntN(2) == 0}
		free, _ := NewForecaster(p, Options{Resamples: -1, Steps: 1000}).Point(set, Remedy{})
		p.Lock = stat.Exact((p.CPU.Center + p.Wait.Center) * dice.Float64())
		held, ok := NewForecaster(p, Options{Resamples: -1, Steps: 1000}).Point(set, Remedy{})
		if !ok || held.Rate > 1.02/p.Lock.Center || held.Rate > 1.05*free.Rate || held.Steps < 900 {
			t.Errorf("seed %d: %g/s, locked for %g s, %g/s without, %d steps", seed, held.Rate, p.Lock.Center,
				free.Rate, held.Steps)
		}
	}
}
