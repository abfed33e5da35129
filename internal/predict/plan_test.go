package predict

import (
	"math"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

func knobs(p Plan) []Knob {
	var all []Knob
	for _, c := range p.Changes {
		all = append(all, c.Knob)
	}
	return all
}

func edited(f func(*Pipeline)) Pipeline {
	p := slow()
	f(&p)
	return p
}

func TestPlans(t *testing.T) {
	for _, tt := range []struct {
		name     string
		pipeline Pipeline
		outcome  string
		plan     string // the first plan
		knobs    []Knob // of it, in this order
		most     int    // workers of it, at most
		clamp    Clamp
	}{
		{"more workers", slow(), report.OutcomeWorthwhile, "conservative", []Knob{NumWorkers}, 10, NoClamp},
		{"shards end first", edited(func(p *Pipeline) { p.Shards = 4 }), report.OutcomeWorthwhile, "conservative",
			[]Knob{NumWorkers}, 4, ByShards},
		{"cores end first", edited(func(p *Pipeline) { p.UsableCPUs, p.CPUs = 4, stat.Exact(4) }),
			report.OutcomeWorthwhile, "conservative", []Knob{NumWorkers}, 4, ByCPUs},
		{"/dev/shm ends first", edited(func(p *Pipeline) { p.ShmFree = 64e6 }), report.OutcomeWorthwhile,
			"conservative", []Knob{NumWorkers}, 3, ByShm},
		{"memory ends first", edited(func(p *Pipeline) { p.WorkerBytes, p.Available = 4e9, 40e9 }),
			report.OutcomeWorthwhile, "moderate", []Knob{NumWorkers}, 5, ByMemory},
		{"no workers yet", edited(func(p *Pipeline) {
			p.Setting = Setting{}
			p.Start = StartCost{Trainer: 0.01, End: 0.005}
		}), report.OutcomeWorthwhile, "conservative", []Knob{NumWorkers}, 10, NoClamp},
		{"the step is the limit", edited(func(p *Pipeline) { p.FreeStep, p.Setting.Workers = stat.Exact(1), 4 }),
			report.OutcomeStep, "", nil, 0, NoClamp},
		{"one core", edited(func(p *Pipeline) { p.UsableCPUs, p.CPUs, p.Wait = 1, stat.Exact(1), stat.Exact(0) }),
			report.OutcomeNothing, "", nil, 0, NoClamp},
		{"epochs of twelve batches", edited(func(p *Pipeline) {
			p.Setting, p.Epoch, p.CPU, p.Wait = Setting{Workers: 4, Prefetch: 2}, 12, stat.Exact(0.1),
				stat.Exact(0.1)
			p.Start = StartCost{Trainer: 0.05, Worker: 1.5, End: 0.1}
		}), report.OutcomeWorthwhile, "conservative", []Knob{PersistentWorkers}, 4, NoClamp},
		{"workers for batches of no work", edited(func(p *Pipeline) {
			p.Setting.Workers, p.CPU, p.Wait, p.Receive, p.FreeStep = 4, stat.Exact(1e-5), stat.Exact(0), 1e-3,
				stat.Exact(1e-3)
		}), report.OutcomeWorthwhile, "conservative", []Knob{NumWorkers}, 0, NoClamp},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := NewForecaster(tt.pipeline, Options{Resamples: 20, Steps: 2000})
			plans, ok := f.Plans(false, nil)
			if !ok || plans.Outcome != tt.outcome {
				t.Fatalf("outcome %q, want %q: %+v", plans.Outcome, tt.outcome, plans.Now)
			}
			if tt.plan == "" {
				if len(plans.Plans) != 0 {
					t.Errorf("%d plans where nothing is worth changing", len(plans.Plans))
				}
				return
			}
			first := plans.Plans[0]
			set := first.After.Setting
			if first.Name != tt.plan || !slices.Equal(knobs(first), tt.knobs) || set.Workers > tt.most ||
				first.Clamp != tt.clamp {
				t.Errorf("%s plan turns %v to %+v, clamp %q; want %s, %v, at most %d workers, %q", first.Name,
					knobs(first), set, first.Clamp, tt.plan, tt.knobs, tt.most, tt.clamp)
			}
			if g := f.Gain(plans.Now, first.After); !(g.Lo <= g.Center && g.Center <= g.Hi && g.Center > 1/enough) {
				t.Errorf("gain %+v", g)
			}
			if last := first.Changes[len(first.Changes)-1].Then; last.Setting != set || last.Rate != first.After.Rate {
				t.Errorf("the changes lead to %+v, the plan to %+v", last.Setting, set)
			}
		})
	}
}

func TestStepBoundSaysByHowMuch(t *testing.T) {
	p := edited(func(p *Pipeline) { p.FreeStep, p.Setting.Workers, p.Receive, p.Dispatch = stat.Exact(1), 4, 0, 0 })
	plans, _ := NewForecaster(p, Options{Resamples: -1}).Plans(true, nil)
	if want := 4 / 0.8; math.Abs(plans.Headroom/want-1) > 0.1 {
		// four workers, 0.8 s a batch, and what order costs of it
		t.Errorf("the loader gives %g times what the step takes, want about %g", plans.Headroom, want)
	}
}

// Each plan reaches further than the one before, and is there only where that brings something.
func TestPlansReachFurther(t *testing.T) {
	p := edited(func(p *Pipeline) {
		p.FreeStep, p.CPU, p.Wait, p.Setting.Workers = stat.Exact(0.012), stat.Exact(0.005), stat.Exact(0.039), 2
		p.Fetch, _ = unit(factors("bursty", 2000), 2000) // one batch of twenty takes 21 times as long
		p.CPUs, p.UsableCPUs, p.TrainerCPU = stat.Exact(4), 4, stat.Exact(0.001)
	})
	with, _ := NewForecaster(p, Options{Resamples: 20}).Plans(true, nil)
	without, _ := NewForecaster(p, Options{Resamples: 20}).Plans(false, nil)
	last := with.Now.Rate
	for _, plan := range with.Plans {
		if plan.After.Rate < 1.02*last {
			t.Errorf("%s: %g/s after %g/s", plan.Name, plan.After.Rate, last)
		}
		last = plan.After.Rate
		t.Logf("%s: %+v %.1f/s", plan.Name, plan.After.Setting, plan.After.Rate)
	}
	if n := len(with.Plans); n < 2 || with.Plans[n-1].Name != "aggressive" ||
		!with.Plans[n-1].After.Setting.Unordered || with.Plans[n-1].Risk != "high" {
		t.Errorf("plans %+v", with.Plans)
	}
	for _, plan := range without.Plans {
		if plan.After.Setting.Unordered {
			t.Errorf("%s: in_order=False for a PyTorch without it", plan.Name)
		}
	}
}

// The search must find what trying every setting finds.
func TestSearchAgainstAllSettings(t *testing.T) {
	reach := Reach{Memory: 0.5, PerCore: 1, Waiting: 2, Prefetches: []int{1, 2, 4, 8}}
	for seed := range uint64(6) {
		p := slow()
		p.UsableCPUs, p.CPUs = 8, stat.Exact(8)
		p.Fetch = Lognormal(0.2 * float64(seed%5))
		p.CPU, p.Wait = stat.Exact(0.1*float64(1+seed)), stat.Exact(0.3)
		p.FreeStep = stat.Exact(0.05 * float64(1+seed%3))
		f := NewForecaster(p, Options{Seed: seed, Resamples: -1})
		found, ok := f.search(reach, Remedy{})
		if !ok {
			t.Fatal("nothing found")
		}
		best := found.Now.Rate
		all := f.candidates(reach)
		rates := make([]float64, len(all))
		for i, set := range all {
			one, _ := f.ask(set, Remedy{}, quick)
			rates[i] = one.Rate
			best = max(best, one.Rate)
		}
		if found.Now.Rate < enough*best {
			smallest := math.MaxInt
			for i, set := range all {
				if rates[i] >= enough*best && set.Prefetch >= p.Setting.Prefetch {
					smallest = min(smallest, int(f.size(set)))
				}
			}
			if int(f.size(found.Chosen.Setting)) > smallest {
				t.Errorf("seed %d: chose %+v, where a smaller one does", seed, found.Chosen.Setting)
			}
		}
		if found.Best.Rate != best || found.Chosen.Rate < enough*best {
			t.Errorf("seed %d: best %g/s, chosen %g/s of %g/s", seed, found.Best.Rate, found.Chosen.Rate, best)
		}
		if p.Limit(found.Chosen.Setting, reach) != NoClamp {
			t.Errorf("seed %d: %+v does not fit", seed, found.Chosen.Setting)
		}
	}
}

func TestChanges(t *testing.T) {
	full := Setting{Workers: 4, Prefetch: 4, Persistent: true, Unordered: true}
	for _, tt := range []struct {
		name     string
		from, to Setting
		want     []Knob
	}{
		{"none", full, full, nil},
		{"to PyTorch's defaults", Setting{}, Setting{Workers: 2}, []Knob{NumWorkers}},
		{"to no workers", full, Setting{}, []Knob{NumWorkers}},
		{"all", Setting{Workers: 1}, full, []Knob{NumWorkers, PrefetchFactor, PersistentWorkers, InOrder}},
	} {
		got := changes(tt.from, tt.to)
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		at := tt.from.plain()
		for _, k := range got {
			at = k.set(at, tt.to)
		}
		if at != tt.to.plain() {
			t.Errorf("%s: the changes lead to %+v, not to %+v", tt.name, at, tt.to.plain())
		}
	}
}

func TestMemoryOfASetting(t *testing.T) {
	p := Pipeline{Loader: Loader{BatchBytes: 38e6, WorkerBytes: 300e6}}
	set := Setting{Workers: 4, Prefetch: 2}
	if got, want := p.Memory(set), (Memory{Workers: 1.2e9, Shm: 12 * 38e6}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	p.Pin = true // 38 MB come in blocks of 64 MiB
	if got, want := p.Memory(set), (Memory{Workers: 1.2e9, Shm: 4 * 38e6, Pinned: 8 * 64 << 20}); got != want {
		t.Errorf("pinned: %+v, want %+v", got, want)
	}
	if got := p.Memory(Setting{}); got != (Memory{}) {
		t.Errorf("no workers take %+v", got)
	}
}

// TestLoadersMadeAnewKeepNoWorkers: where each epoch has a loader of its own, no plan turns persistent_workers on.
func TestLoadersMadeAnewKeepNoWorkers(t *testing.T) {
	f := NewForecaster(edited(func(p *Pipeline) {
		p.Setting, p.Epoch, p.CPU, p.Wait, p.Anew = Setting{Workers: 4, Prefetch: 2}, 12, stat.Exact(0.1),
			stat.Exact(0.1), true
		p.Start = StartCost{Trainer: 0.05, Worker: 1.5, End: 0.1}
	}), Options{Resamples: 20, Steps: 2000})
	plans, ok := f.Plans(true, nil)
	if !ok {
		t.Fatal("nothing was predicted")
	}
	for _, p := range plans.Plans {
		if slices.Contains(knobs(p), PersistentWorkers) {
			t.Errorf("the %s plan turns %v", p.Name, knobs(p))
		}
	}
}
