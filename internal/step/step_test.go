package step

import (
	"math"
	"math/rand/v2"
	"testing"
)

// loop is a training loop as a timeline: the truth that the model is held to.
type loop struct {
	load, host, device float64 // seconds a batch
	sync               int     // it waits for its device every so many steps; 0: never
	late               bool    // work is launched at the end of the host's part, not at its beginning
	queue              int     // launches that fit before the host is held up
	copies             float64 // seconds of each batch to the device
	beside             bool    // they run beside the kernels of the step before, else in one queue with all kernels
	// seconds without a CPU for each on one, while batches are loaded: of the host's part, and how many times that
	// where it spins on its device: 1 to 1.2, as for one loop of 25 ms beside four workers on two CPUs 1 gives 25.1 and
	// 25.3
	crowd, spun float64
}

// timeline is what happened in a run.
type timeline struct{ total, wait, busy, copied, blocked, starved, running, delayed float64 }

// run follows steps batches of one worker that is two batches ahead at most.
func (l loop) run(steps int, free bool) (t timeline) {
	now, end, ready, copied := 0.0, 0.0, 0.0, 0.0 // of the trainer, the device's queue, the next batch, the last copy
	host := l.host
	if !free {
		host *= 1 + l.crowd
	}
	var ends []float64
	taken := []float64{}
	for i := range steps {
		if !free {
			begin := ready
			if i >= 2 {
				begin = max(ready, taken[i-2])
			}
			ready = begin + l.load
			if ready > now {
				t.wait += ready - now
				t.starved += max(ready-max(now, end), 0)
				now = ready
			}
		}
		taken = append(taken, now)
		launch := now
		if l.late {
			launch += host
		}
		if !l.beside {
			copied = max(copied, end)
		}
		copied = max(copied, now) + l.copies
		end = max(end, launch, copied) + l.device
		ends = append(ends, end)
		now += host
		t.running += host
		t.delayed += host - l.host
		t.busy += l.device
		t.copied += l.copies
		held := 0.0
		if l.sync > 0 && (i+1)%l.sync == 0 {
			held = end
		} else if l.queue > 0 && i >= l.queue {
			held = ends[i-l.queue]
		}
		if held > now {
			t.blocked += held - now
			if !free {
				t.delayed += (held - now) * l.crowd * l.spun / (1 + l.crowd*l.spun)
			}
			now = held
		}
	}
	t.total = max(now, end)
	return t
}

// seen is what a watch makes of a run: spins are told from Python or not.
func (t timeline) seen(told bool) Seen {
	share := func(x float64) Range { return Range{x / t.total, x / t.total, x / t.total} }
	s := Seen{Device: Counted, Wait: share(t.wait), Busy: share(t.busy), Copy: share(t.copied),
		Running: share(t.running + t.blocked), Delay: share(t.delayed)}
	s.Spin = Range{0, 0, min(s.Running.Hi, s.Busy.Hi+s.Copy.Hi)}
	if told {
		s.Spin = share(t.blocked)
	}
	return s
}

const slack = 0.02 // of a share: the ends of a run

// The truth lies within the model's ranges for every loop of the family, and a promise is at most a tenth above it.
func TestHoldsTheTruth(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 1))
	for range 20000 {
		l := loop{load: dice.Float64(), host: dice.Float64(), device: dice.Float64(), late: dice.IntN(2) == 0,
			sync: []int{0, 1, 1, 2, 5, 20}[dice.IntN(6)], queue: 50, spun: 1 + dice.Float64()/5,
			crowd: []float64{0, 0, dice.Float64()}[dice.IntN(3)], beside: dice.IntN(2) == 0,
			copies: []float64{0, 0, dice.Float64()}[dice.IntN(3)]}
		const steps = 1000
		now, free := l.run(steps, false), l.run(steps, true)
		for _, told := range []bool{false, true} {
			got := Of(now.seen(told))
			stall, share := now.starved/now.total, free.total/now.total
			if stall < got.Stall.Lo-slack || stall > got.Stall.Hi+slack {
				t.Fatalf("%+v told %v: stall %.3f outside %+v", l, told, stall, got.Stall)
			}
			if share < got.Free.Lo-slack || share > got.Free.Hi+slack {
				t.Fatalf("%+v told %v: free step %.3f outside %+v, of %+v", l, told, share, got.Free, now)
			}
			if promise := 1 / got.Free.Likely; promise > (1+0.1+slack)/share {
				t.Fatalf("%+v told %v: promises %.2f times, true %.2f", l, told, promise, 1/share)
			}
			if got.Promised < got.Free.Lo || got.Promised > got.Free.Likely {
				t.Fatalf("%+v told %v: %+v, and %.3f is promised", l, told, got.Free, got.Promised)
			}
			// Without a wait of the host for its device only copies leave open how long its queues take.
			if l.sync == 0 && l.crowd == 0 && told {
				if !l.beside && 1/got.Promised > (1+slack)/share {
					t.Fatalf("%+v: promises up to %.2f times, true %.2f", l, 1/got.Promised, 1/share)
				}
				if now.busy+now.copied > (1+slack)*now.total && got.Free.Likely > 1.1*share+slack {
					t.Fatalf("%+v: free step %+v, true %.3f: the copies are seen to run beside", l, got.Free, share)
				}
			}
			if sum := got.Stall.Likely + got.Device.Likely + got.Host.Likely; sum > 1.03 {
				t.Fatalf("%+v: parts add up to %.3f: %+v", l, sum, got)
			}
		}
	}
}

// What the device's clock says of some steps does not outweigh what was seen of all of them.
func TestStarvedStaysWithinWhatWasSeen(t *testing.T) {
	seen := Seen{Device: Counted, Wait: Range{0.78, 0.78, 0.78}, Busy: Range{0.2, 0.2, 0.2}, Running: Range{0.22, 0.22,
		0.22}}
	for starved, want := range map[float64]float64{0.07: 0.58, 0.7: 0.7, 0.95: 0.78} {
		s := Range{starved, starved, starved}
		seen.Starved = &s
		if got := Of(seen).Stall; math.Abs(got.Likely-want) > 1e-9 || got.Lo > got.Likely || got.Likely > got.Hi {
			t.Errorf("%.2f of some steps: %+v, want %.2f", starved, got, want)
		}
	}
}

// What is known by the step narrows the free step, and nothing else; it still holds the truth.
func TestRangesByTheStep(t *testing.T) {
	l := loop{load: 0.05, host: 0.005, device: 0.02, sync: 1, queue: 50}
	now, free := l.run(1000, false), l.run(1000, true)
	seen := now.seen(true)
	wide := func(r Range) Range { return Share(r.Lo*0.9, r.Likely, r.Hi*1.1) }
	exact := &PerStep{Rest: seen.Wait.rest(), Busy: seen.Busy}
	seen.Wait, seen.Busy = wide(seen.Wait), wide(seen.Busy)
	by := seen
	by.PerStep = exact
	shares, steps, truth := Of(seen), Of(by), free.total/now.total
	if steps.Free.Width() >= shares.Free.Width()/2 || truth < steps.Free.Lo-slack || truth > steps.Free.Hi+slack ||
		steps.Stall != shares.Stall {
		t.Errorf("free %.3f: %+v by shares, %+v by the step; stall %+v, %+v", truth, shares.Free, steps.Free,
			shares.Stall, steps.Stall)
	}
}

// What is launched while a copy runs holds nothing up: 29 ms of copies and 21 ms of kernels, one after the other, with
// 9 ms of launching beside them, as measured on an H100.
func TestLaunchesBesideACopy(t *testing.T) {
	seen := Seen{Device: Counted, Busy: Range{0.42, 0.42, 0.42}, Running: Range{1, 1, 1},
		Spin: Range{0.8, 0.82, 0.84}}
	if s := Of(seen); math.Abs(s.Host.Likely-0.18) > 1e-9 {
		t.Errorf("without copies the host is %+v", s.Host)
	}
	if seen.Copy = (Range{0.55, 0.58, 0.61}); Of(seen).Host.Likely > 1e-9 || Of(seen).Host.Hi < 0.15 {
		t.Errorf("with copies the host is %+v", Of(seen).Host)
	}
}

// A trainer that waits most of the time is ready without a CPU at the ends of its waits, too: what it works is no
// delay, and remains of a step.
func TestDelayLeavesTheStepItsWork(t *testing.T) {
	s := Of(Seen{Wait: Range{0.93, 0.94, 0.95}, Running: Range{0.05, 0.06, 0.07}, Delay: Range{0, 0.078, 0.1},
		Works: 0.033})
	if s.Free.Likely < 0.033 || s.Delay.Likely > 0.06-0.033+1e-9 || s.Wait.Likely+s.Delay.Likely > 1 {
		t.Errorf("free %+v, delay %+v", s.Free, s.Delay)
	}
	if s := Of(Seen{Wait: Range{0.5, 0.5, 0.5}, Running: Range{0.5, 0.5, 0.5}, Delay: Range{0, 0.2, 0.2},
		Works: 0.1}); s.Delay.Likely != 0.2 {
		t.Errorf("a delay that has room is cut to %+v", s.Delay)
	}
}
