package evidence

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// modelConfidence is that of the shares which the model of a step begins with, and so of what it derives.
const modelConfidence = 0.95

// lead applies the model of a step to each trainer and orders them: the one whose device starves most comes first, and
// among equals the one that waits most.
func (b *builder) lead() {
	for _, r := range b.ranks {
		b.model(r)
	}
	b.collectives()
	stall := func(r *rank) float64 {
		if r.step == nil {
			return 0
		}
		return r.step.Stall.Likely
	}
	slices.SortStableFunc(b.ranks, func(x, y *rank) int {
		return cmp.Or(cmp.Compare(stall(y), stall(x)), cmp.Compare(y.wait.Center, x.wait.Center))
	})
	for _, r := range b.ranks {
		out := Rank{Name: cmp.Or(r.Rank, "pid "+strconv.Itoa(r.PID)), PID: r.PID, Step: r.step}
		if r.wait.N > 0 && (!r.noLoader || r.hook != nil) {
			out.InputWait = &Value{Summary: r.wait, Basis: r.basis}
		}
		if r.rate.N > 0 {
			out.BatchRate = &Value{Summary: r.rate, Basis: metric.Measured}
		}
		b.ev.Ranks = append(b.ev.Ranks, out)
	}
	if len(b.ranks) == 0 {
		b.warn("no trainer was recognised: only figures of the machine are given")
	}
}

// sight says what can be seen of a trainer's device.
func (r *rank) sight() step.Sight {
	switch {
	case r.busy != nil:
		return step.Counted
	case r.Accelerator != "":
		return step.Unseen
	}
	return step.NoDevice
}

// model decides what a trainer waits and applies the model of a step to what was seen of it. Its step stays nil where
// its main thread was not sampled, or what it waits is unknown.
func (b *builder) model(r *rank) {
	running, asleep, waits := b.mainStates(r)
	storage := b.trainingMean(r, waits)
	seen := step.Seen{
		Device:   r.sight(),
		Running:  b.trainingMean(r, running),
		Asleep:   b.trainingMean(r, asleep),
		OnDevice: b.trainingMean(r, r.ofSamples(b.Grow(r.Entity, metric.ThreadDevice))),
		Loads:    r.noLoader && r.hook == nil,
	}
	if seen.Loads {
		remote, timer := b.networkWait(r), b.asleepByTimer(r, seen.Device)
		seen.Asleep.Lo = max(seen.Asleep.Lo-remote.Hi-timer.Hi, 0)
		seen.Asleep.Likely = max(seen.Asleep.Likely-remote.Likely-timer.Likely, 0)
	}
	if seen.Device == step.Counted {
		seen.Busy = b.trainingMean(r, r.busy)
		seen.Copy = b.trainingPart(r, b.copies(r), b.gpuMeans(metric.GPUPcieRx, r.gpus))
		if len(r.gpus) > 0 {
			seen.Others = b.range_(b.gpuMeans(metric.GPUOthersUtil, r.gpus)) // whatever the trainer does
		}
	}
	perSec := func(d metric.Desc) []float64 { return stat.Quotients(b.Grow(r.Entity, d), b.Length) }
	next := b.inNext(r)
	if next != nil {
		r.delayed = stat.Over(stat.Sum(next)*b.delayPerCPU(r), stat.Sum(r.hook.Reported))
	}
	seen.Delay = b.trainingPart(r, b.delay(r, b.range_(running).Likely-b.gil(r).Likely), perSec(metric.ProcRunDelay))
	seen.GIL = b.gilOfLoading(r)
	works := perSec(metric.ProcMainCPU)
	for i, own := range next {
		works[i] -= stat.Divide(own, r.hook.Reported[i])
	}
	seen.Works = max(b.trainingMean(r, works).Likely, 0)
	seen.Spin, seen.SpinTold = b.spin(r, seen)
	b.inputWait(r, seen, storage)
	if stat.Sum(r.samples) == 0 || r.wait.N == 0 {
		return
	}
	r.drawing = b.drawing(r)
	sampled, untold := rangeOf(r.wait), b.untold(r)
	r.wait.Center, r.wait.Lo, r.wait.Hi = r.wait.Center+untold.Likely, r.wait.Lo+untold.Lo, r.wait.Hi+untold.Hi
	r.wait = stat.Clamped(r.wait, 0, 1)
	seen.Wait = rangeOf(r.wait)
	if !seen.Loads && r.waited != nil {
		seen.Together = b.together(r)
	}
	if seen.Device == step.Counted && r.waited != nil && r.rate.N > 0 {
		rest := stat.Each(len(r.clock), func(i int) float64 { return 1 - stat.Divide(r.waited[i], r.watched[i]) })
		seen.PerStep = &step.PerStep{Busy: b.perStep(r, r.busy, seen.Busy),
			Rest: b.perStep(r, rest, step.Share(1-sampled.Hi, 1-sampled.Likely, 1-sampled.Lo)).Minus(untold)}
	}
	if s, ok := b.starved(r); ok {
		seen.Starved, seen.Device = &s, max(seen.Device, step.Unseen)
	}
	r.seen, r.step = seen, new(step.Of(seen))
}

// rangeOf takes a figure's interval for what is known of it.
func rangeOf(s stat.Summary) step.Range { return step.Share(s.Lo, s.Center, s.Hi) }

// summaryOf takes what is known of a figure for its interval.
func (b *builder) summaryOf(r step.Range) stat.Summary {
	return stat.Summary{Center: r.Likely, Lo: r.Lo, Hi: r.Hi, Confidence: modelConfidence, N: len(b.Spans)}
}

// range_ is the mean of a share over the windows with its interval; 0 where no window has it.
func (b *builder) range_(shares []float64) step.Range {
	return rangeOf(b.mean(shares).Summary)
}

// perStep is a share of time by what a step takes of it, where its range is narrower than the share's own.
func (b *builder) perStep(r *rank, share []float64, of step.Range) step.Range {
	s := b.Quotient(stat.Products(share, r.clock), r.batches)
	if s.Confidence == 0 || s.Center <= 0 {
		return of
	}
	scale := of.Likely / s.Center
	if narrow := step.Share(s.Lo*scale, of.Likely, s.Hi*scale); narrow.Width() < of.Width() {
		return narrow
	}
	return of
}

// ofSamples turns seconds in which a state was seen into shares of the time in which the main thread was sampled.
func (r *rank) ofSamples(seconds []float64) []float64 { return stat.Quotients(seconds, r.samples) }

// asleepOutside are the places where a main thread sleeps that are neither its loader nor storage: with a GPU at work
// it is there that it waits for it, and jobs that only act as if they had one sleep there too.
var asleepOutside = []metric.Desc{metric.ThreadFutexTimed, metric.ThreadFutex, metric.ThreadSleep, metric.ThreadDevice,
	metric.ThreadOther}

// mainStates are the shares of each window in which a thread of the trainer that may hold the step up runs, in which
// its main thread sleeps beside its loader, storage and device, and in which it waits for storage. What belongs to its
// loader is in none of them: waiting for a batch, taking one, starting workers, and what the hook timed as loading.
func (b *builder) mainStates(r *rank) (running, asleep, storage []float64) {
	ran := b.Grow(r.Entity, metric.ThreadHostRunning)
	if b.Track(metric.ThreadHostRunning, r.Entity) == nil {
		ran = b.Grow(r.Entity, metric.ThreadRunning)
	}
	running = r.ofSamples(ran)
	asleep = r.ofSamples(b.Grow(r.Entity, asleepOutside...))
	storage = r.ofSamples(b.Grow(r.Entity, metric.ThreadDisk, metric.ThreadFileRead, metric.ThreadFileOpen))
	// receiving a batch is waiting for it
	polls := r.ofSamples(b.Grow(r.Entity, metric.ThreadQueuePoll, metric.ThreadPipeRead))
	told := stat.Times(b.inNext(r), 1+b.delayPerCPU(r)) // ready to run looks like running
	for i := range running {
		start := 0.0 // of the main thread's running, it started workers
		if len(r.startRan) > 0 && r.samples[i] > 0 {
			start = r.startRan[i] / r.samples[i]
		}
		switch {
		case len(told) > 0:
			wait := stat.Share(stat.Divide(r.hook.Waits()[i], r.hook.Reported[i]))
			own := min(wait, stat.Share(stat.Divide(told[i], r.hook.Reported[i])+start), running[i])
			running[i] -= own
			within := polls[i]
			if r.hook.Training.LoadsItself() {
				within = storage[i]
			}
			asleep[i] = max(asleep[i]-max(wait-own-stat.OrNothing(within), 0), 0)
		case !r.noLoader && r.joint != nil:
			running[i] = max(running[i]-start-stat.Divide(r.receiving[i], r.samples[i]), 0)
			// With a pinning thread the wait for a batch is a timed lock wait of the main thread, and no time outside
			// the loader.
			asleep[i] -= max(stat.Divide(r.polled[i]+r.aside[i], r.samples[i])-polls[i], 0)
			asleep[i] -= stat.Divide(r.startSlept[i], r.samples[i])
			asleep[i] = max(asleep[i], 0)
		}
	}
	return running, asleep, storage
}

// together bounds the data stall window by window, where steps are so long that a window holds less than half of one:
// then windows differ, and what waits and what works is distinguished by time. Shorter steps are all alike, and noise
// would pass for a difference.
func (b *builder) together(r *rank) *step.Range {
	if r.busy == nil || r.joint == nil || r.rate.N == 0 || r.rate.Center*stat.Sum(b.Length) > float64(len(b.Spans))/2 {
		return nil
	}
	lo, hi, whole := 0.0, 0.0, 0.0
	for i := range b.Spans {
		w, u := stat.Divide(r.waiting[i], r.joint[i]), r.busy[i]
		if !stat.Finite(w) || !stat.Finite(u) {
			continue
		}
		lo, hi, whole = lo+max(w-u, 0)*b.Length[i], hi+min(w, 1-u)*b.Length[i], whole+b.Length[i]
	}
	if whole == 0 {
		return nil
	}
	return new(step.Share(lo/whole, hi/whole, hi/whole))
}

// starved is the data stall by the device's own clock, from the steps that the hook timed with its events: what the
// trainer waits, less what of that lies behind queued work in a step, which is how much longer it waits in the timed
// ones than they starve. Hooks of before did not tell their waits: there the starved part of those steps stands for all
// time, which leaves out waits between epochs.
func (b *builder) starved(r *rank) (step.Range, bool) {
	timed := b.ownClock(r)
	if timed.N == 0 || !r.hook.Training.Known(metric.HookDeviceWaited) || r.waited == nil {
		return rangeOf(timed), timed.N > 0
	}
	l := r.hook.Training
	waits, lacks := l.Of(metric.HookDeviceWaited), l.Of(metric.HookDeviceStarved)
	n, steps := l.Of(metric.HookDeviceSteps), l.Of(metric.HookSteps)
	usual := stat.Divide(stat.Sum(waits)-stat.Sum(lacks), stat.Sum(n))
	starved := stat.Each(len(steps), func(i int) float64 {
		hidden := usual
		if n[i] > 0 { // a longer wait is as much longer behind the work
			hidden = (waits[i] - lacks[i]) / n[i]
		}
		return r.waited[i] - max(hidden, 0)*steps[i]
	})
	return rangeOf(stat.Clamped(b.Quotient(starved, r.watched), 0, 1)), true
}

// ownClock is the share of the timed steps in which the device lacked the next batch; nothing where none was timed.
func (b *builder) ownClock(r *rank) stat.Summary {
	if r.hook == nil || stat.Sum(r.hook.Training.Of(metric.HookDeviceSteps)) <= 0 {
		return stat.Summary{}
	}
	l := r.hook.Training
	starved := l.Of(metric.HookDeviceStarved)
	return b.Quotient(starved, stat.Plus(l.Of(metric.HookDeviceTime), starved))
}

// spin is the share of time in which the trainer's main thread runs within its device's library. Sampled code tells it;
// of the time in the kernel, which is not sampled, it is unknown. Without samples it is anything up to what runs while
// the device works, and most likely what the device works beyond the trainer's sleep: a thread that has nothing else to
// do waits.
func (b *builder) spin(r *rank, seen step.Seen) (spin step.Range, reported bool) {
	if seen.Device == step.NoDevice {
		return step.Range{}, false
	}
	all, within := stat.Sum(b.Grow(r.Entity, metric.HostSamples)), stat.Sum(b.Grow(r.Entity, metric.HostSamplesDevice))
	runs := r.ofSamples(b.Grow(r.Entity, metric.ThreadRunning))
	ran := b.range_(runs)
	if all >= fewestSamples {
		part := stat.Quotients(b.Grow(r.Entity, metric.HostSamplesDevice), b.Grow(r.Entity, metric.HostSamples))
		return b.trainingPart(r, b.inCode(r, ran, within, all), stat.Products(runs, part)), true
	}
	ran = b.trainingMean(r, runs)
	if seen.Device == step.Unseen {
		return step.Share(0, 0, ran.Hi), false
	}
	return step.Share(0, min(ran.Likely, max(seen.Busy.Likely-seen.Asleep.Likely-seen.OnDevice.Likely, 0)),
		min(ran.Hi, seen.Busy.Hi)), false
}

// inCode is the share of time that the trainer's main thread is in some code, of the time in which it runs and of its
// samples: within of all. Of the time in the kernel, which is not sampled, nothing is known.
func (b *builder) inCode(r *rank, ran step.Range, within, all float64) step.Range {
	part, side := within/all, 1.96*math.Sqrt(within*(all-within)/all)/all
	cpu := stat.Sum(b.Grow(r.Entity, metric.ProcMainCPU))
	system := stat.Share(stat.Divide(stat.Sum(b.Grow(r.Entity, metric.ProcMainSystem)), cpu))
	return step.Share(ran.Lo*(1-system)*max(part-side, 0), ran.Likely*part,
		ran.Hi*((1-system)*min(part+side, 1)+system))
}

// delay is the share of time in which threads of the trainer that may hold the step up are ready to run and the CPUs
// are taken by those who load: their part of the CPU time that others than the trainers use. How long it waits for a
// CPU is known of the main thread; what the process uses beside, as in autograd's threads, is delayed as long per CPU
// second at most, and likely as far as more is seen to be ready than runs.
func (b *builder) delay(r *rank, running float64) step.Range {
	loading, own, elapsed := 0.0, 0.0, stat.Sum(b.Length)
	for _, o := range b.ranks {
		made, _, _ := b.Total(o.cpu(), o.workerSet)
		loading += stat.Sum(made) + stat.Sum(b.programs(o.workerSet))
		if o == r {
			all, _, _ := b.Total(metric.ProcCPU, []*watched.Process{r.Process})
			if own = stat.Sum(all); r.fed != nil && r.fed.Threads {
				own -= stat.Sum(made)
			}
		}
	}
	others := b.otherCPU(b.jobCPU())
	part := stat.Over(loading, loading+others.Center*elapsed)
	main := max(stat.Over(stat.Sum(b.Grow(r.Entity, metric.ProcRunDelay)), elapsed)-r.delayed, 0)
	own = max((own-stat.Sum(b.inNext(r)))/elapsed, 0)
	most := max(b.delayPerCPU(r)*own, main)
	return step.Share(0, part*min(most, max(main, running-own)), part*most)
}

// fewestSamples of a thread's code tell its share in the driver to within 10 points (half of a 95 % interval at a share
// of 0.5).
const fewestSamples = 100
