package predict

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
)

// around is a figure with an interval of ± part of it.
func around(x, part float64) stat.Summary {
	return stat.Summary{Center: x, Lo: x * (1 - part), Hi: x * (1 + part), Confidence: 0.95, N: 20}
}

// any loader a machine could show, from a seed.
func loader(dice *rand.Rand, spread float64) Loader {
	span := func(lo, hi float64) float64 { return math.Exp(math.Log(lo) + dice.Float64()*math.Log(hi/lo)) }
	return Loader{
		Workers: 1 + dice.IntN(8), FreeStep: around(span(1e-3, 10), spread), CPU: around(span(1e-4, 10), spread),
		Wait: around(span(1e-5, 10), spread), TrainerCPU: around(span(1e-4, 1), spread), CPUs: around(span(0.5, 128), spread),
		Storage: around(span(1e6, 1e10), spread), FromStore: around(span(1, 1e9), spread), UsableCPUs: span(0.5, 128),
		BatchBytes: span(1, 1e9), WorkerBytes: span(1e6, 1e10), ShmFree: span(1e6, 1e12), Available: span(1e8, 1e12),
	}
}

func TestRateNeverExceedsABound(t *testing.T) {
	for seed := range uint64(100) {
		l := loader(rand.New(rand.NewPCG(seed, 0)), 0)
		for w := range 20 {
			p, ok := l.Rate(w)
			if !ok {
				t.Fatalf("seed %d: no prediction", seed)
			}
			for _, b := range l.Bounds(w) {
				if p.Rate.Hi > b.Rate*(1+1e-12) {
					t.Fatalf("seed %d, %d workers: %g/s is above the %s bound of %g/s", seed, w, p.Rate.Hi, b.Term, b.Rate)
				}
			}
			if !(p.Rate.Lo <= p.Rate.Center && p.Rate.Center <= p.Rate.Hi && p.Rate.Lo > 0) {
				t.Fatalf("seed %d, %d workers: interval out of order: %+v", seed, w, p.Rate)
			}
		}
	}
}

func TestRateNeverFallsWithWorkers(t *testing.T) {
	for seed := range uint64(60) {
		l := loader(rand.New(rand.NewPCG(seed, 1)), 0.2)
		last := stat.Summary{}
		for w := 1; w < 24; w++ {
			p, _ := l.Rate(w)
			if p.Rate.Center < last.Center-1e-12 || p.Rate.Hi < last.Hi-1e-12 {
				t.Fatalf("seed %d: %d workers are slower than %d: %+v after %+v", seed, w, w-1, p.Rate, last)
			}
			last = p.Rate
		}
	}
}

func TestNoWorkersIsTheSerialSum(t *testing.T) {
	l := Loader{FreeStep: stat.Exact(0.03), CPU: stat.Exact(0.05), Wait: stat.Exact(0.02)}
	p, ok := l.Rate(0)
	if !ok || math.Abs(p.Rate.Center-10) > 1e-9 || p.Limit != Serial {
		t.Errorf("got %+v, want 10 batches/s, limited by taking turns", p)
	}
	if p.Next != Step {
		t.Errorf("next limit is %q, want the step", p.Next)
	}
}

func TestIntervalWidensWithTheInputs(t *testing.T) {
	l := Loader{FreeStep: stat.Exact(0.1), CPU: stat.Exact(0.4), Wait: stat.Exact(0.01)}
	exact, _ := l.Rate(2)
	l.CPU = around(0.4, 0.3)
	loose, _ := l.Rate(2)
	if loose.Rate.Hi-loose.Rate.Lo <= exact.Rate.Hi-exact.Rate.Lo {
		t.Errorf("a looser input gave a tighter result: %+v, then %+v", exact.Rate, loose.Rate)
	}
}

func TestWorkersNeeded(t *testing.T) {
	base := Loader{Workers: 1, FreeStep: stat.Exact(0.1), CPU: stat.Exact(0.35), Wait: stat.Exact(0.02), CPUs: stat.Exact(16), UsableCPUs: 16}
	edit := func(f func(*Loader)) Loader { l := base; f(&l); return l }
	tests := []struct {
		name   string
		loader Loader
		want   int
		clamp  Clamp
		limit  Term
	}{
		{"the step is reached", base, 4, NoClamp, Step},
		{"cores end first", edit(func(l *Loader) { l.CPUs, l.UsableCPUs = stat.Exact(2), 2 }), 2, ByCPUs, Workers},
		{"the trainer's own need counts", edit(func(l *Loader) { l.CPUs, l.UsableCPUs, l.TrainerCPU = stat.Exact(3), 3, stat.Exact(0.35) }), 2, NoClamp, CPUs},
		{"/dev/shm ends first", edit(func(l *Loader) { l.BatchBytes, l.ShmFree = 10e6, 64e6 }), 3, ByShm, Workers},
		{"memory ends first", edit(func(l *Loader) { l.WorkerBytes, l.Available = 4e9, 10e9 }), 2, ByMemory, Workers},
		{"storage ends first", edit(func(l *Loader) { l.Storage, l.FromStore = stat.Exact(1e8), stat.Exact(2e7) }), 2, NoClamp, Storage},
		{"workers that wait may outnumber cores", edit(func(l *Loader) {
			l.CPU, l.Wait, l.CPUs, l.UsableCPUs = stat.Exact(0.02), stat.Exact(0.35), stat.Exact(2), 2
		}), 4, NoClamp, Step},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tt.loader.WorkersNeeded()
			if !ok || got.Workers != tt.want || got.Clamp != tt.clamp || got.Limit != tt.limit {
				t.Errorf("got %d workers, clamp %q, limit %q, want %d, %q, %q", got.Workers, got.Clamp, got.Limit, tt.want, tt.clamp, tt.limit)
			}
		})
	}
}

func TestNothingKnownPredictsNothing(t *testing.T) {
	if p, ok := (Loader{}).Rate(2); ok {
		t.Errorf("predicted %+v from nothing", p)
	}
	if n, ok := (Loader{}).WorkersNeeded(); ok {
		t.Errorf("chose %+v from nothing", n)
	}
}
