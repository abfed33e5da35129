// Package step is the model of one training step: a loader that hands batches over, copies, a host that launches work,
// and a device that does it in order. From what was seen of each as a share of the same time it derives the data stall,
// the time in which the device has nothing to do because the batch is not there, and the free step, which is what a
// step would take if data were free.
//
// It promises that what the shares leave open stays a range, and that no range is narrower than its inputs allow. It
// reads no signals and grades nothing.
//
// # The arithmetic
//
// All figures are shares of wall time. The trainer waits for batches a share w of it, and not N = 1 - w. Its device is
// busy u. Of N, the trainer is blocked on its device b (it spins or sleeps in a synchronise); b is a part of what the
// device does.
//
// Data stall s. Of two shares of the same time only bounds follow, and what is blocked on the device lies outside the
// wait:
//
//	max(0, w - (u - b) - c) <= s <= min(w, 1 - max(u, c))
//
// with c the share in which its copy engine is busy: a device that waits for a copy has its batch.
//
// Copies run beside the kernels of the step before where the job has a stream for them, else in one queue with all
// kernels, and while each batch is waited for the two look the same. So the device's work d is a range:
//
//	max(u, c) <= d <= min(u + c, 1)
//
// Free step F, as a share of the present step. Batches that come earlier shorten nothing of what the trainer does
// beside waiting, and nothing of the device's work; and what the device starves is gained at least:
//
//	max(N, d) <= F <= 1 - s
//
// Of loops that synchronise every k-th step more is known. With h = N - b the host's own part, such a step takes at
// most d + h/k, with d at its upper end: what copies still gain there, they lose at each k-th step. As k is at least
// d/b, F <= max(N, d + b (N - b) / d), which is at most 1.25 max(N, d) whatever b is. A loop that synchronises each
// step has b = d, and F = N; one that never does has b = 0, and F = max(h, d).
//
// Ranks exchange gradients each step, and a device that waits for the others' in a collective is busy. If data were
// free for all, what a rank waits there for the data of others, p, is gone: u and, as far as the trainer is blocked
// meanwhile, N are less by it in F. A rank waits in a collective for others' data only while another device starves.
// With s' the stall of each other rank,
//
//	max(s') - s <= p <= sum(s')
//
// On the left all steps starve alike, on the right no two ranks ever starve at the same time. See Peers for what lies
// between.
//
// Who makes the batches may keep the trainer off the CPUs: of N, it is ready to run and has none D. While it would spin
// on its device anyway nothing is lost by that. Of the share r in which it runs or is ready to, it spins q, and a
// scheduler that is fair keeps it off no less there than where it launches, right after its wait. So its own part of a
// step is kept off by
//
//	max(0, D - q) <= d <= D (1 - q / r)
//
// With free data nobody loads, and N is less by d in F, or by nothing, as nobody knows who else would run there. So it
// is with Python's global lock, where threads of the trainer's own process load (PyTorch's, which pins batches, or a
// prefetcher): of N, its main thread waits for that g, and N is less by g in F, or by nothing, if others hold it.
package step

import (
	"math"

	"github.com/pipetune/pipetune/internal/stat"
)

// Sight is what can be seen of the trainer's device.
type Sight int

// The sights.
const (
	// the trainer has none open: what its main thread sleeps through beside its loader stands for one
	NoDevice Sight = iota
	Unseen         // it has one, and no counter of it could be read
	Counted        // its busy time was read
)

// Seen is what a watch saw of one trainer, as shares of the same time.
type Seen struct {
	Device Sight

	Wait Range // the trainer waits for a batch; with Loads, it may be making one
	// the trainer makes its batches itself, and from outside that looks like any other work: Wait is a range
	Loads    bool
	Together *Range // the data stall from short windows, where steps are longer than those; nil without
	Starved  *Range // the data stall by the device's own clock; nil without

	PerStep *PerStep // Wait and Busy by what a step takes; nil without

	Busy     Range // the device runs work of anybody; only where it is Counted
	Others   Range // of this, work of processes outside the job
	Peers    Peers // of this, collectives that wait for the data of other ranks
	Copy     Range // the copy engine moves batches to the device; 0 where it is not known
	SpinTold bool  // Spin is from samples of the code that runs
	Running  Range // main or autograd thread on a CPU and not taking a batch; with Loads, loading included
	Spin     Range // of this, within the device's own library
	// of Running, ready without a CPU, which those who load its batches have; its Lo is 0 where others might take their
	// place
	Delay Range
	// of Running, the main thread waits for Python's global lock, which threads that load may hold
	GIL      Range
	Works    float64 // of Running, CPU time of the main thread, which no delay is a part of; 0 where it is not known
	OnDevice Range   // main thread asleep in a call on the device
	Asleep   Range   // main thread asleep elsewhere, beside its loader and storage
}

// PerStep are figures whose unit is the mean step. What a step needs varies less than how long it waits for its batch,
// so ranges of them may be narrower than those of shares of time.
type PerStep struct {
	Rest Range // what Wait leaves
	Busy Range
}

// Step is where a step's time goes, as shares of it. On the device's side Stall, Device, Host and Other add up to 1.
type Step struct {
	Sight   Sight
	Wait    Range // the trainer waits for data
	Stall   Range // the device has nothing to do because the batch is not there
	Device  Range // the device works; where there is none, the main thread sleeps beside its loader
	Host    Range // the device has nothing to do, copies included, while the trainer's own threads run
	Copies  Range // the copy engine works, beside the device or with the trainer waiting for it
	Blocked Range // the trainer waits for the device
	Spin    Range // of this, its main thread spins
	Delay   Range // its threads are ready to run and would not spin, and those who load have the CPUs
	GIL     Range // its main thread waits for Python's global lock, which threads that load may hold
	Free    Range // the step if data were free, as a share of the present one
	// the least of Free that is promised: with copies in one queue with the kernels, where that is not ruled out
	Promised float64

	SpinTold bool // it was seen what code the trainer's main thread runs
}

// Headroom is the rate with free data over the present rate, at least 1.
func (s Step) Headroom() Range {
	return Range{1 / s.Free.Hi, 1 / s.Free.Likely, 1 / s.Free.Lo}
}

// promise is by how much the likely rate with free data may lie above the one that the slowest loop of its kind would
// reach: a tenth, which is what a prediction may be off.
const promise = 0.1

// resolved is how wide the range of the time in the device's library may be for its likely figure to be believed, as a
// part of what the trainer does not wait: with half of that taken for the device's wrongly, the free step is off by
// less than promise (TestHoldsTheTruth).
const resolved = 0.15

// leastFree keeps the free step a step where no time at all was seen beside waiting: 1/1000 of it, which is what 50
// samples a second cannot tell from nothing in 20 s.
const leastFree = 1e-3

// Of applies the model to what was seen.
func Of(seen Seen) Step {
	seen.Delay = seen.delayed(seen.Wait.rest())
	s := Step{Sight: seen.Device, Wait: seen.Wait, Copies: seen.Copy, Spin: seen.Spin, SpinTold: seen.SpinTold,
		Delay: seen.held(), GIL: seen.GIL}
	switch seen.Device {
	case NoDevice:
		s.Stall, s.Free = s.Wait, seen.undelayed(s.Wait.rest())
		s.Host = seen.hostAlone(s)
		s.Device = seen.Asleep.plus(seen.OnDevice).atMost(stat.Share(1 - s.Stall.Likely - s.Host.Likely))
	case Unseen:
		s.Blocked = seen.blocked(Range{0, 0, 1})
		s.Stall = Share(0, seen.Wait.Likely, seen.Wait.Hi)
		least, most := max(seen.undelayed(seen.Wait.rest()).Lo, s.Blocked.Lo), 1.0
		if seen.Starved != nil {
			s.Stall, most = *seen.Starved, 1-seen.Starved.Lo
		}
		s.Free = Share(least, most, most)
		s.Device = Share(s.Blocked.Lo, s.Blocked.Likely, 1-s.Stall.Lo)
		s.Host = seen.hostAlone(s)
	case Counted:
		s.Device, s.Blocked = seen.Busy, seen.blocked(seen.works(seen.Busy))
		s.Stall, s.Free, s.Promised = seen.stallAndFree(s.Blocked)
		// no kernel runs, and the trainer is in the driver: a copy
		s.Copies.Lo = max(s.Copies.Lo, s.Blocked.Lo-seen.Busy.Hi)
		s.Copies = Share(s.Copies.Lo, s.Copies.Likely, max(s.Copies.Lo, s.Copies.Hi))
		s.Host = seen.hostAlone(s)
	}
	if s.Promised == 0 {
		s.Promised = s.Free.Lo
	}
	s.Free = Share(max(s.Free.Lo, leastFree), max(s.Free.Likely, leastFree), max(s.Free.Hi, leastFree))
	return s
}

// blocked is the share of time in which the trainer waits for its device, which is busy then.
func (s Seen) blocked(busy Range) Range {
	sure := s.Spin.Lo + s.OnDevice.Lo
	if s.Device == Counted { // what it sleeps longer than the device idles, it sleeps while the device works
		sure += max(s.Asleep.Lo-(1-busy.Lo), 0)
	}
	most := s.Spin.Hi + s.OnDevice.Hi + s.Asleep.Hi
	likely := s.Spin.Likely + s.OnDevice.Likely
	if s.Device == Counted {
		most = min(most, max(busy.Hi, sure))
		likely += min(s.Asleep.Likely, max(busy.Likely-likely, 0))
	}
	return Share(sure, likely, most)
}

// delayed is how long the trainer goes without a CPU beside its wait: it is ready as the wait ends, too, and what it
// works is no delay.
func (s Seen) delayed(n Range) Range {
	room := func(n float64) float64 { return max(n-s.Works, 0) }
	likely := min(s.Delay.Likely, room(n.Likely))
	return Range{min(s.Delay.Lo, likely), likely, max(min(s.Delay.Hi, n.Hi), likely)}
}

// held is how much of the delay holds a step up: where the trainer would not spin on its device.
func (s Seen) held() Range {
	least := max(s.Delay.Lo-s.Spin.Hi, 0)
	most := max(s.Delay.Hi*s.beside(s.Spin.Lo), least)
	return Range{least, min(max(s.Delay.Likely*s.beside(s.Spin.Likely), least), most), most}
}

// beside is the part of the time in which the trainer runs, or is ready to, that is no spin.
func (s Seen) beside(spin float64) float64 {
	if s.Running.Likely <= 0 {
		return 1
	}
	return 1 - min(spin/s.Running.Likely, 1)
}

// undelayed is what the trainer does beside waiting if nobody loaded beside it.
func (s Seen) undelayed(n Range) Range { return n.Minus(s.held()).Minus(s.GIL) }

// stallAndFree applies the bounds of the package's comment.
func (s Seen) stallAndFree(blocked Range) (stall, free Range, promised float64) {
	w, u := s.Wait, s.Busy.Minus(s.Others) // a device that works for somebody else does not have this trainer's batch
	d := s.works(u)
	b := Range{min(blocked.Lo, d.Hi), min(blocked.Likely, d.Likely), min(blocked.Hi, d.Hi)}
	lo, hi := max(0, w.Lo-(u.Hi-min(b.Lo, u.Hi))-s.Copy.Hi), min(w.Hi, 1-d.Lo)
	if s.Together != nil {
		lo, hi = max(lo, s.Together.Lo), min(hi, s.Together.Hi)
	}
	hi = max(hi, lo)
	if s.Starved != nil { // of some steps only, which may be unlike the others
		lo, hi = min(max(s.Starved.Lo, lo), hi), max(min(s.Starved.Hi, hi), lo)
	}
	n := w.rest()
	likely := 1 - max(n.Likely, d.Likely)
	if s.Starved != nil {
		likely = s.Starved.Likely
	}
	if s.PerStep != nil {
		n, u = s.PerStep.Rest, s.PerStep.Busy.Minus(s.Others)
	}
	n = s.undelayed(n)
	if s.Peers.Known { // what follows is of data that are free for all ranks
		n, u, b = n.Minus(s.Peers.Waits.within(b)), s.Peers.Work.Minus(s.Others), b.Minus(s.Peers.Waits)
	}
	d = s.works(u)
	one := min(u.Lo+s.Copy.Lo, d.Likely, max(1-lo, n.Lo))
	least := min(max(n.Lo, d.Lo), max(1-lo, n.Lo))
	most := max(least, min(1-lo, max(n.Hi, synced(d.Hi, n.Hi, b.Lo, b.Hi))))
	near := min(max(n.Likely, d.Likely), max(1-lo, n.Likely))
	// The slowest loop that looks so: if it spins much, little of the delay holds a step up.
	spin := s.Spin.Hi
	if s.Spin.Width() <= resolved*n.Likely {
		spin, b.Lo, b.Hi = s.Spin.Likely, b.Likely, b.Likely
	}
	slow := n.Likely + s.held().Likely - s.Delay.Likely*s.beside(spin)
	queues := d.Likely
	if u.Lo+s.Copy.Lo > 1 && b.Hi > 0 { // what copies gain beside kernels is lost at each wait for the device
		queues = d.Hi
	}
	far := max(near, min(1-lo, synced(queues, max(slow, n.Likely), b.Lo, b.Hi)))
	free = Share(least, max(near, far/(1+promise)), most)
	return Share(lo, min(max(likely, lo), hi), hi), free, min(max(least, one), free.Likely)
}

// works is what the device's queues have to do, kernels and copies, of which kernels take u. Most likely one queue has
// both, but for what cannot be: more than all of the time. Of several ranks and of a device that others use the link's
// traffic is no measure of this trainer's copies.
func (s Seen) works(u Range) Range {
	c := s.Copy
	all := Range{max(u.Lo, c.Lo), u.Likely + c.Likely, min(u.Hi+c.Hi, 1)}
	if u.Lo+c.Lo > 1 || s.Peers.Known || s.Others.Likely > 0 {
		all.Likely = max(u.Likely, c.Likely)
	}
	return Range{all.Lo, min(all.Likely, all.Hi), all.Hi}
}

// synced is the longest step, as a share of the present one, of a loop that waits for its device every k-th step, where
// a share from lo to hi of the time was spent in that and the device works d.
func synced(d, n, lo, hi float64) float64 {
	if d <= 0 {
		return n
	}
	b := min(max(n/2, lo), hi, d, n) // the worst is half of what the trainer does not wait
	return max(d+b*(n-b)/d, d)
}

// hostAlone is the share in which the device idles while the trainer's own threads run.
func (s Seen) hostAlone(at Step) Range {
	own := s.Running.Minus(s.Spin).Minus(s.held())
	if s.Loads {
		own.Lo, own.Likely = 0, max(own.Likely-s.Wait.Likely, 0)
	}
	switch s.Device {
	case NoDevice:
		return Share(own.Lo, min(own.Likely, 1-at.Stall.Likely), min(own.Hi, 1-at.Stall.Lo))
	case Unseen:
		return Share(0, min(own.Likely, 1-at.Device.Likely), min(own.Hi, 1-at.Device.Lo))
	}
	idle := Range{max(1-s.Busy.Hi-at.Stall.Hi, 0), max(1-s.Busy.Likely-at.Stall.Likely, 0),
		max(1-s.Busy.Lo-at.Stall.Lo, 0)}
	// A copy that the idle time has room for is likely not beside a kernel, and what is launched meanwhile waits for
	// it.
	idle.Likely = max(idle.Likely-s.Copy.Likely, 0)
	return Share(max(own.Lo-s.Busy.Hi, 0), min(own.Likely, idle.Likely), min(own.Hi, idle.Hi))
}

// Range is what is known of a figure: it lies between Lo and Hi, most likely at Likely. A range is no noise: where its
// ends differ, what was seen allows every value between them. The zero Range is the figure 0.
type Range struct{ Lo, Likely, Hi float64 }

// Share is a range within 0..1, its ends in order around Likely.
func Share(lo, likely, hi float64) Range {
	lo, hi = stat.Share(lo), stat.Share(hi)
	if lo > hi {
		lo, hi = hi, lo
	}
	return Range{lo, min(max(likely, lo), hi), hi}
}

// Width is how far the ends are apart.
func (r Range) Width() float64 { return r.Hi - r.Lo }

// rest is what a share leaves of 1.
func (r Range) rest() Range { return Range{1 - r.Hi, 1 - r.Likely, 1 - r.Lo} }

func (r Range) plus(o Range) Range { return Range{r.Lo + o.Lo, r.Likely + o.Likely, r.Hi + o.Hi} }

// Minus subtracts a figure that is a part of this one: it stays at least 0.
func (r Range) Minus(o Range) Range {
	return Range{max(r.Lo-o.Hi, 0), max(r.Likely-o.Likely, 0), max(r.Hi-o.Lo, 0)}
}

// within is as much of a figure as fits into another one, end by end.
func (r Range) within(o Range) Range {
	return Range{min(r.Lo, o.Lo), min(r.Likely, o.Likely), min(r.Hi, o.Hi)}
}

// atMost holds all of a range to a ceiling.
func (r Range) atMost(x float64) Range { return Range{min(r.Lo, x), min(r.Likely, x), min(r.Hi, x)} }

// Peers is what a rank's device does in collectives. The zero value is a trainer that has no others beside it.
type Peers struct {
	Known bool
	Waits Range // its collectives wait for the data of other ranks
	Work  Range // the device works on anything else
}

// Awaits returns the least and the most likely share of some time in which a rank, whose data stall is own, waits in
// collectives for the data of the other ranks, whose stalls are others. The stalls of longer times differ from rank to
// rank by spread (a standard deviation), and such a time has so many steps.
//
// Where the steps of a rank vary independently, their differences vary by the root of their number more than its means
// do: normally distributed differences give the likely figure, and no more than exponential ones would. Where they vary
// together, by no more than the means: that is the least.
func Awaits(own float64, others []float64, spread, steps float64) (least, likely float64) {
	longest := 0.0
	for _, o := range others {
		longest += beyond(o, longest) // of two, the longer one
	}
	most := beyond(longest, own)
	return min(positive(longest-own, spread), most), min(positive(longest-own, spread*math.Sqrt(max(steps, 1))), most)
}

// beyond is by how much, on average, an exponential time with the mean a is longer than one with the mean b; 0 where it
// is not.
func beyond(a, b float64) float64 {
	if !(a > 0) {
		return 0
	}
	return a * a / (a + max(b, 0))
}

// positive is the mean of what is positive of a normally distributed figure.
func positive(mean, deviation float64) float64 {
	if !(deviation > 0) {
		return max(mean, 0)
	}
	z := mean / deviation
	return max(mean*math.Erfc(-z/math.Sqrt2)/2+deviation*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi), 0)
}
