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
		FreeStep: around(span(1e-3, 10), spread), CPU: around(span(1e-4, 10), spread),
		Wait: around(span(1e-5, 10), spread), TrainerCPU: around(span(1e-4, 1), spread), CPUs: around(span(0.5, 128),
			spread),
		Storage: around(span(1e6, 1e10), spread), FromStore: around(span(1, 1e9), spread), UsableCPUs: span(0.5, 128),
		BatchBytes: span(1, 1e9), WorkerBytes: span(1e6, 1e10), ShmFree: span(1e6, 1e12), Available: span(1e8, 1e12),
	}
}

func forecast(t *testing.T, p Pipeline, set Setting, r Remedy) Forecast {
	t.Helper()
	out, ok := NewForecaster(p, Options{}).Forecast(set, r)
	if !ok {
		t.Fatalf("no forecast of %+v", set)
	}
	return out
}

// Whatever is known of a loader, what comes out is in order and below what bounds it.
func TestForecastsAreInOrder(t *testing.T) {
	for seed := range uint64(60) {
		dice := rand.New(rand.NewPCG(seed, 0))
		p := Pipeline{Loader: loader(dice, 0.2*dice.Float64()), Fetch: Lognormal(dice.Float64()),
			Epoch: dice.IntN(3) * 700, StorageShare: dice.Float64()}
		p.StepRange = seed%2 == 0
		f := NewForecaster(p, Options{Resamples: 20, Steps: 1000})
		r := Saving(0, dice.Float64())
		r.Unthrottled = seed%3 == 0
		for _, w := range []int{0, 1, 3, 8} {
			one, ok := f.Forecast(Setting{Workers: w}, r)
			if s := one.StepsPerS; !ok || !(s.Lo <= one.Least*(1+1e-9) && one.Least <= s.Center &&
				s.Center <= one.Most && one.Most <= s.Hi*(1+1e-9) && s.Lo > 0) {
				t.Fatalf("seed %d, %d workers: interval out of order: %+v, %g to %g", seed, w, s, one.Least, one.Most)
			}
			if most := f.Cap(one.Setting, r); one.Most > most*(1+1e-9) {
				t.Fatalf("seed %d, %d workers: %g/s where costs at their cheapest allow %g/s", seed, w, one.Most, most)
			}
			if b := one.Bounds[0]; one.Rate > b.Rate*(1+1e-9) {
				t.Fatalf("seed %d, %d workers: %g/s is above the %s bound of %g/s", seed, w, one.Rate, b.Term, b.Rate)
			}
		}
	}
}

func TestMoreWorkersAreNoSlowerWithCoresToSpare(t *testing.T) {
	last := 0.0
	for w := 1; w < 16; w++ {
		one := forecast(t, slow(), Setting{Workers: w, Persistent: true}, Remedy{})
		if one.Rate < 0.99*last {
			t.Errorf("%d workers make %g/s, one less %g/s", w, one.Rate, last)
		}
		last = one.Rate
	}
}

func TestNoWorkersIsTheSerialSum(t *testing.T) {
	p := Pipeline{Loader: Loader{FreeStep: stat.Exact(0.03), CPU: stat.Exact(0.05), Wait: stat.Exact(0.02)}}
	one := forecast(t, p, Setting{}, Remedy{})
	if math.Abs(one.Rate-10) > 1e-9 || one.Limit != Serial || one.Next != Step {
		t.Errorf("got %+v, want 10 batches/s, limited by taking turns, then by the step", one)
	}
}

// What is saved of a batch's cost comes back as rate until the next limit; a range of it is a range of the rate.
func TestRemedies(t *testing.T) {
	p := Pipeline{Loader: Loader{FreeStep: stat.Exact(0.1), CPU: stat.Exact(0.4), CPUs: stat.Exact(2)},
		Setting: Setting{Workers: 1}, Others: 2}
	throttled := p
	throttled.CPU, throttled.Wait, throttled.Storage, throttled.FromStore = stat.Exact(0.1), stat.Exact(0.3),
		stat.Exact(5e6), stat.Exact(1e6)
	throttled.Setting.Workers, throttled.CPUs = 4, stat.Exact(8)
	alone := Remedy{Cores: 2}
	for _, c := range []struct {
		name   string
		of     Pipeline
		remedy Remedy
		rate   float64
		limit  Term
	}{
		{"beside others", p, Remedy{}, 1 / 0.6, CPUs},
		{"alone", p, alone, 2.5, Workers},
		{"half as dear", p, Remedy{Cores: 2, Saved: 0.5, SavedLo: 0.5, SavedHi: 0.5}, 5, Workers},
		{"a tenth", p, Remedy{Cores: 2, Saved: 0.9, SavedLo: 0.9, SavedHi: 0.9}, 10, Step},
		{"throttled", throttled, Remedy{}, 5, Storage},
		{"from elsewhere", throttled, Remedy{Unthrottled: true}, 10, Step},
	} {
		if one := forecast(t, c.of, c.of.Setting, c.remedy); math.Abs(one.Rate/c.rate-1) > 0.03 ||
			one.Limit != c.limit {
			t.Errorf("%s: %g/s, limited by %s, want %g/s by %s", c.name, one.Rate, one.Limit, c.rate, c.limit)
		}
	}
	alone.Saved, alone.SavedHi = 0.25, 0.5
	one := forecast(t, p, p.Setting, alone)
	if s := one.StepsPerS; math.Abs(s.Lo/2.5-1) > 0.01 || math.Abs(s.Hi/5-1) > 0.01 || s.Center < 3 || s.Center > 3.6 {
		t.Errorf("up to a half saved of 2.5/s: %+v", s)
	}
}

// Of a step that lies in a range, the upper end of a rate holds the shortest one and the lower end the longest.
func TestStepInARange(t *testing.T) {
	p := slow()
	p.CPU, p.Wait, p.Epoch, p.Fetch, p.TrainerCPU = stat.Exact(0.3), stat.Exact(0), 0, Spread{}, stat.Exact(0.01)
	p.FreeStep, p.StepRange = stat.Summary{Center: 0.1, Lo: 0.05, Hi: 0.2, N: 20}, true
	f := NewForecaster(p, Options{})
	now, _ := f.Forecast(Setting{Workers: 1}, Remedy{})
	many, _ := f.Forecast(Setting{Workers: 12}, Remedy{})
	if s := now.StepsPerS; s.Hi/s.Lo > 1.01 {
		t.Errorf("the workers limit whatever the step is, and yet %+v", s)
	}
	if s := many.StepsPerS; math.Abs(s.Lo/5-1) > 0.03 || math.Abs(s.Hi/20-1) > 0.03 || math.Abs(s.Center/10-1) > 0.03 {
		t.Errorf("twelve workers: %+v, want 10 (5 to 20)", s)
	}
	if g := f.Gain(now, many); math.Abs(g.Lo/1.5-1) > 0.04 || math.Abs(g.Hi/6-1) > 0.04 {
		t.Errorf("gain %+v, want 1.5 to 6", g)
	}
	kept, _ := f.Forecast(Setting{Workers: 13}, Remedy{})
	if g := f.Gain(many, kept); g.Hi > 1.01 || g.Lo < 0.99 {
		t.Errorf("one worker more of a loader that the step limits: %+v", g)
	}
}

// What taking a batch costs is not known where there are no workers yet: the lower end of what some bring allows for
// it.
func TestTakingABatchUntried(t *testing.T) {
	p := slow()
	p.CPU, p.Wait, p.Epoch, p.Fetch, p.TrainerCPU = stat.Exact(0.01), stat.Exact(0), 0, Spread{}, stat.Exact(0.01)
	p.FreeStep, p.Setting, p.Untried = stat.Exact(0.02), Setting{}, 0.005
	f := NewForecaster(p, Options{})
	none, _ := f.Forecast(Setting{}, Remedy{})
	two, _ := f.Forecast(Setting{Workers: 2}, Remedy{})
	if s := none.StepsPerS; s.Hi/s.Lo > 1.01 {
		t.Errorf("without workers no batch is taken from one, and yet %+v", s)
	}
	if s := two.StepsPerS; math.Abs(s.Lo/s.Center-20./25) > 0.03 || s.Hi/s.Center > 1.02 {
		t.Errorf("two workers: %+v, want a step of 20 ms, or 25", s)
	}
}

// The limit is named after the part that takes most of the step.
func TestStepIsNamedAfterItsPart(t *testing.T) {
	p := slow()
	for want, edit := range map[Term]func(*Pipeline){
		Step:   func(p *Pipeline) { p.Device, p.Copy = stat.Exact(0.05), stat.Exact(0.05) },
		Device: func(p *Pipeline) { p.Copy, p.Device = stat.Exact(0.01), stat.Exact(0.09) },
		Copy:   func(p *Pipeline) { p.Copy = stat.Exact(0.1) },
	} {
		q := p
		edit(&q)
		one := forecast(t, q, Setting{Workers: 12}, Remedy{})
		if one.Limit != want || !one.Limit.OfStep() {
			t.Errorf("limited by %q, want %q", one.Limit, want)
		}
	}
}

func TestWorkersNeeded(t *testing.T) {
	base := Pipeline{Loader: Loader{FreeStep: stat.Exact(0.1), CPU: stat.Exact(0.35), Wait: stat.Exact(0.02),
		CPUs: stat.Exact(16), UsableCPUs: 16},
		Setting: Setting{Workers: 1}}
	edit := func(f func(*Pipeline)) Pipeline { p := base; f(&p); return p }
	tests := []struct {
		name     string
		pipeline Pipeline
		want     int
		clamp    Clamp
		limit    Term
	}{
		{"the step is reached", base, 4, NoClamp, Step},
		{"cores end first", edit(func(p *Pipeline) { p.CPUs, p.UsableCPUs = stat.Exact(2), 2 }), 2, ByCPUs, Workers},
		{"the trainer's own need counts", edit(func(p *Pipeline) {
			p.CPUs, p.UsableCPUs, p.TrainerCPU = stat.Exact(3), 3, stat.Exact(0.35)
		}), 3, NoClamp, CPUs},
		{"/dev/shm ends first", edit(func(p *Pipeline) { p.BatchBytes, p.ShmFree = 10e6, 64e6 }), 3, ByShm, Workers},
		{"memory ends first", edit(func(p *Pipeline) { p.WorkerBytes, p.Available = 4e9, 10e9 }), 2, ByMemory, Workers},
		{"storage ends first", edit(func(p *Pipeline) {
			p.CPU, p.Wait, p.Storage, p.FromStore = stat.Exact(0.1), stat.Exact(0.27), stat.Exact(1e8), stat.Exact(2e7)
		}), 4, NoClamp, Storage}, // two would do if they never met at storage
		{"workers that wait may outnumber cores", edit(func(p *Pipeline) {
			p.CPU, p.Wait, p.CPUs, p.UsableCPUs = stat.Exact(0.02), stat.Exact(0.35), stat.Exact(2), 2
		}), 4, NoClamp, Step},
		{"where they do already, twice as many may", edit(func(p *Pipeline) {
			p.CPU, p.Wait, p.CPUs, p.UsableCPUs, p.Setting.Workers = stat.Exact(0.02), stat.Exact(0.7), stat.Exact(2),
				2, 4
		}), 7, NoClamp, Workers}, // the seventh is within 3 % of the step
		{"where they do, and compute, none more help", edit(func(p *Pipeline) {
			p.CPUs, p.UsableCPUs, p.Setting.Workers = stat.Exact(2), 2, 2
		}), 2, ByCPUs, Workers},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := NewForecaster(tt.pipeline, Options{})
			got, ok := f.WorkersNeeded(tt.pipeline.Setting, false)
			if n := got.Chosen; !ok || n.Setting.Workers != tt.want || got.Clamp != tt.clamp || n.Limit != tt.limit {
				t.Errorf("got %d workers, clamp %q, limit %q, want %d, %q, %q", n.Setting.Workers, got.Clamp, n.Limit,
					tt.want, tt.clamp, tt.limit)
			}
			if wish, _ := f.WorkersNeeded(tt.pipeline.Setting, true); tt.clamp == ByShm &&
				wish.Chosen.Setting.Workers != 4 {
				t.Errorf("%d workers wished for, had /dev/shm room, want 4", wish.Chosen.Setting.Workers)
			}
		})
	}
}

// The fewest workers that keep up are found, and none where it takes all of those allowed.
func TestKeepsUp(t *testing.T) {
	p := slow()
	p.FreeStep, p.Setting.Workers, p.Fetch = stat.Exact(0.3), 12, Spread{}
	f := NewForecaster(p, Options{Resamples: -1})
	if n, ok := f.KeepsUp(6); !ok || n != 4 {
		t.Errorf("%d workers keep up, %v, want 4: a batch takes 0.8 s, a step 0.3 s, and one is to spare", n, ok)
	}
	if n, ok := f.KeepsUp(3); ok {
		t.Errorf("%d workers keep up", n)
	}
}
