package probe

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/stat"
)

func rate(center, spread float64) stat.Summary {
	return stat.Summary{Center: center, Lo: center - spread, Hi: center + spread, Confidence: 0.95, N: 8}
}

const (
	noBend   = benchmark.BoundNone
	byCPU    = benchmark.BoundCPU
	byLock   = benchmark.BoundLock
	byDevice = benchmark.BoundDevice
)

func TestBound(t *testing.T) {
	one := step{workers: 1, rate: rate(100, 2), cores: rate(1, 0.01), ready: 1}
	of := func(workers int, center, cores float64, s step) step {
		s.workers, s.rate, s.cores = workers, rate(center, 4), rate(cores, 0.01)
		return s
	}
	for name, c := range map[string]struct {
		step
		usable float64
		want   string
	}{
		"one process":                          {one, 2, noBend},
		"twice as much":                        {of(2, 196, 2, step{}), 2, noBend},
		"no gain, all CPUs busy":               {of(4, 200, 1.9, step{}), 2, byCPU},
		"a limit of half a CPU":                {of(2, 100, 0.5, step{}), 0.5, byCPU},
		"each on a busy half of a core":        {of(4, 240, 3.9, step{}), 8, byCPU},
		"a neighbour takes the CPUs":           {of(2, 100, 1, step{ready: 0.98}), 2, byCPU},
		"waiting for storage":                  {of(4, 110, 0.4, step{ready: 0.1, stored: 1.2}), 4, byDevice},
		"waiting for each other":               {of(4, 110, 1.1, step{ready: 0.3, waiting: 0.7}), 4, byLock},
		"waiting for who knows what":           {of(4, 110, 1.1, step{ready: 0.3}), 4, ""},
		"ready all the time, hardly any CPU":   {of(2, 100, 0.065, step{ready: 1}), 2, ""},
		"ready all the time, reads storage":    {of(2, 100, 0.065, step{ready: 1, stored: 1}), 2, byDevice},
		"super-linear: each has its own cache": {of(4, 500, 4, step{}), 4, noBend},
		"nothing measured":                     {step{workers: 4}, 4, ""},
		"waiting for a server": {of(4, 110, 1.1, step{ready: 0.3, waiting: 0.7, remote: true}), 4,
			byDevice},
		"waiting for storage, locks as well": {of(4, 110, 0.4, step{ready: 0.1, stored: 1.2, waiting: 0.9}), 4,
			byDevice},
		"perhaps below, perhaps not": {step{workers: 4, rate: rate(310, 40), cores: rate(4, 0.01), ready: 1}, 4,
			noBend},
		"no interval": {step{workers: 4, rate: stat.Summary{Center: 310, Lo: 310, Hi: 310, N: 2},
			cores: rate(4, 0.01)}, 4, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.step.bound(one, c.usable); got != c.want {
				t.Errorf("%q, want %q; efficiency %+v", got, c.want, c.step.efficiency(one))
			}
		})
	}
}
func TestBounds(t *testing.T) {
	of := func(workers int, center float64) step {
		return step{workers: workers, rate: rate(center, 2), cores: rate(0.1, 0.01), stored: 1}
	}
	single := step{workers: 4, rate: stat.Summary{Center: 496, Lo: 496, Hi: 496, N: 1}}
	for name, c := range map[string]struct {
		steps []step
		want  []string
	}{
		"no step":                  {nil, []string{}},
		"bends for good":           {[]step{of(1, 100), of(2, 110), of(4, 120)}, []string{noBend, byDevice, byDevice}},
		"a later one does better":  {[]step{of(1, 100), of(2, 110), of(4, 496)}, []string{noBend, "", noBend}},
		"a later one, no interval": {[]step{of(1, 100), of(2, 110), single}, []string{noBend, "", ""}},
		"pays first, bends then":   {[]step{of(1, 100), of(2, 190), of(4, 200)}, []string{noBend, noBend, byDevice}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, bounds(c.steps, 2)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCrowdRoundCountsNoMoreThanItsTime(t *testing.T) {
	of := func(cpu, delay float64) loaded {
		return loaded{Pass: pass{Items: 10, Seconds: 1, CPU: cpu}, Delay: delay}
	}
	r, ok := added([]loaded{of(0.1, 5), of(0.1, 0)})
	if !ok || math.Abs(r.ready-0.55) > 1e-9 {
		t.Errorf("one process was ready all the time, the other a tenth of it: %v, %v", r.ready, ok)
	}
}

func TestEfficiency(t *testing.T) {
	one := step{workers: 1, rate: rate(100, 10)}
	got := step{workers: 4, rate: rate(300, 30)}.efficiency(one)
	want := stat.Summary{Center: 0.75, Lo: 270. / 440, Hi: 330. / 360, Confidence: 0.95, N: 8}
	if math.Abs(got.Center-want.Center)+math.Abs(got.Lo-want.Lo)+math.Abs(got.Hi-want.Hi) > 1e-12 || got.N != 8 ||
		got.Confidence != 0.95 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := one.efficiency(one); got.Center != 1 || got.Lo != 1 || got.Hi != 1 {
		t.Errorf("one process: %+v", got)
	}
	if got := (step{workers: 2, rate: rate(100, 1)}).efficiency(step{}); got.N != 0 {
		t.Errorf("over nothing: %+v", got)
	}
}
