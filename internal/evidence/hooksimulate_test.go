package evidence

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// launched plays a job with the hook in it: a trainer does one thing after the other, and reports its totals when a
// thing is done. Meanwhile the outside samples go on.
type launched struct {
	*simulation
	id      string  // the trainer
	samples moment  // what is seen from outside meanwhile
	now     float64 // seconds since the recording's start
	clock   float64 // up to which is reported
	totals  map[total]*tally
	order   []total
	unsent  []*tally
	lost    float64
	off     bool
	epochs  map[int]*recording.Epoch
	others  []*launched // trainers that run beside this one, in step with it
	also    func()      // what else is seen at each tick
}

type total struct {
	d      metric.Desc
	entity string
}

// tally is a total as it is, as it was sent, and as it was recorded since some moment.
type tally struct {
	now, sent, written, since float64
	told                      bool
}

func launch(t *testing.T, header recording.Header) *launched {
	t.Helper()
	header.Mode = "launch"
	s := simulate(t, header)
	s.trainer("100.1")
	return join(s, "100.1")
}

// launchTwo launches a trainer with one loader, which has two workers.
func launchTwo(t *testing.T, header recording.Header) *launched {
	t.Helper()
	l := launch(t, header)
	l.loader(0, 88, 2)
	l.bear("100.1", 2, 50)
	return l
}

// join lets a trainer of a simulation tell.
func join(s *simulation, id string) *launched {
	l := &launched{simulation: s, id: id, samples: moment{asleep: 1, gpu: -1}, totals: map[total]*tally{},
		epochs: map[int]*recording.Epoch{}}
	s.r.Event(recording.EventHook, "process/"+id, map[string]string{"state": "loaded", "torch": "2.6.0",
		"python": "3.13.5"})
	return l
}

// loader makes a DataLoader at a line.
func (l *launched) loader(n, line, workers int, attrs ...string) {
	a := map[string]string{"class": "DataLoader", "dataset": "train.Pictures", "sampler": "RandomSampler",
		"file": "train.py", "line": strconv.Itoa(line), "num_workers": strconv.Itoa(workers), "batch_size": "32",
		"persistent_workers": "0", "pin_memory": "0", "iterable": "0", "items": "5000"}
	if workers > 0 {
		a["prefetch_factor"], a["start_method"] = "4", "fork"
	}
	for i := 0; i+1 < len(attrs); i += 2 {
		a[attrs[i]] = attrs[i+1]
	}
	l.r.Event(recording.EventLoader, l.loop(n), a)
}

func (l *launched) loop(n int) string { return fmt.Sprintf("loop/%s.%d", l.id, n) }

func (l *launched) grow(d metric.Desc, entity string, by float64) {
	key := total{d, entity}
	if l.totals[key] == nil {
		l.totals[key], l.order = &tally{}, append(l.order, key)
	}
	l.totals[key].now += by
	l.unsent = append(l.unsent, l.totals[key])
}

// pass lets time go by, and records what was reported at each tick before its end.
func (l *launched) pass(seconds float64) {
	l.now += seconds
	l.ticks(l.now - 1e-6)
}

func (l *launched) ticks(until float64) {
	for l.at+l.tick <= until {
		ids := []string{l.id}
		for _, o := range l.others {
			ids = append(ids, o.id)
		}
		l.run(l.tick, l.samples, ids...)
		if l.also != nil {
			l.also()
		}
		for _, o := range append([]*launched{l}, l.others...) {
			o.record()
		}
	}
}

// finish ends the watch at the moment reached.
func (l *launched) finish() *recording.Recording {
	l.ticks(l.now + 1e-6)
	return l.recording("duration")
}

func (l *launched) evidence() *Evidence { return l.derive(l.finish()) }

func (l *launched) record() {
	if l.clock == 0 {
		return
	}
	l.r.Add(metric.HookClock, "process/"+l.id, bootSeconds+l.clock)
	l.r.Add(metric.HookLost, "process/"+l.id, l.lost)
	for _, key := range l.order {
		x := l.totals[key]
		if x.written != x.sent || x.since == 0 {
			x.written, x.since = x.sent, l.at
		}
		if x.told && l.at-x.since < 2 { // the receiver leaves out what has no news
			l.r.Add(key.d, key.entity, x.sent)
		}
	}
}

// send sends the totals as they are.
func (l *launched) send() {
	if l.off {
		return
	}
	l.clock = l.now
	for _, x := range l.unsent {
		x.sent, x.told = x.now, true
	}
	l.unsent = l.unsent[:0]
}

// begin makes an iterator; workers of before are gone.
func (l *launched) begin(n int, create float64, born int) {
	e := l.loop(n)
	number := 0
	if before := l.epochs[n]; before != nil {
		number = before.Number + 1
	}
	l.epochs[n] = &recording.Epoch{Number: number, Begun: l.now, Create: create, WorkersBorn: born}
	l.pass(create)
	for _, d := range []metric.Desc{metric.HookSteps, metric.HookGradSteps, metric.HookSamples, metric.HookWait,
		metric.HookFirstWait, metric.HookDrain, metric.HookStepTime, metric.HookNested, metric.HookEpochs} {
		l.grow(d, e, 0)
	}
	l.grow(metric.HookBegun, e, 1)
	l.grow(metric.HookCreate, e, create)
	l.send()
}

// step takes a batch and works on it; nested is what happens within the work.
func (l *launched) step(n int, grad bool, wait, work float64, nested ...func()) {
	e := l.loop(n)
	l.pass(wait)
	l.grow(metric.HookWait, e, wait)
	if x := l.epochs[n]; x.FirstWait == nil {
		x.FirstWait = new(wait)
		l.grow(metric.HookFirstWait, e, wait)
	}
	before := l.now
	for _, f := range nested {
		f()
	}
	l.grow(metric.HookNested, e, l.now-before)
	l.pass(work)
	l.grow(metric.HookSteps, e, 1)
	if grad {
		l.grow(metric.HookGradSteps, e, 1)
		l.epochs[n].Grad = true
	}
	l.grow(metric.HookSamples, e, 32)
	l.grow(metric.HookStepTime, e, wait+work)
	l.send()
}

// end runs an epoch to its end.
func (l *launched) end(n int, drain float64) {
	e, x := l.loop(n), l.epochs[n]
	l.pass(drain)
	l.grow(metric.HookDrain, e, drain)
	l.grow(metric.HookEpochs, e, 1)
	l.send()
	x.Drain, x.Wall = new(drain), l.now-x.Begun
	l.r.Event(recording.EventEpoch, e, recording.Attrs(*x))
}

// over goes over a loader once.
func (l *launched) over(n int, grad bool, steps int, wait, work float64) {
	l.begin(n, 0, 0)
	for range steps {
		l.step(n, grad, wait, work)
	}
	l.end(n, 0)
}

// trainAndHold launches a trainer with a loader for training and one for a held-out dataset, whose workers persist.
func trainAndHold(t *testing.T, held int, attrs ...string) *launched {
	t.Helper()
	l := launch(t, recording.Header{})
	l.loader(0, 88, 2, "persistent_workers", "1", "sampler", hooked.AtRandom)
	l.loader(1, 95, held, append([]string{"persistent_workers", "1", "dataset", "train.Held"}, attrs...)...)
	l.bear("100.1", 2+held, 50)
	return l
}

// make lets workers make batches of 32 items that take 80 ms of a worker each, 50 ms of them on a CPU.
func (l *launched) make(n int, batches float64) {
	e := l.loop(n)
	for d, by := range map[metric.Desc]float64{metric.HookFetches: 1, metric.HookItems: 32, metric.HookFetchTime: 0.080,
		metric.HookFetchCPU: 0.050, metric.HookItemTime: 0.072, metric.HookCollate: 0.008, metric.HookOpens: 32,
		metric.HookOpenTime: 0.016, metric.HookReads: 32, metric.HookReadTime: 0.032, metric.HookDecodes: 0,
		metric.HookDecodeTime: 0, metric.HookDecodedValues: 32 * 2 * 5 << 20 / 32} {
		l.grow(d, e, by*batches)
	}
	spread := "spread/" + e[len("loop/"):] + "/"
	l.grow(metric.HookFetchSpread, spread+"97", batches*0.95)
	l.grow(metric.HookFetchSpread, spread+"101", batches*0.05)
	l.grow(metric.HookSiteCalls, "site/"+e[len("loop/"):]+"/0", 32*batches)
	l.grow(metric.HookSiteTime, "site/"+e[len("loop/"):]+"/0", 0.016*batches)
}

// plain is 25 s of steady training, after 5 s of warm-up: steps of 50 ms of which 30 ms are waiting.
func (l *launched) plain(n int, seconds float64, wait, work float64) {
	for until := l.now + seconds; l.now < until-1e-6; {
		l.make(n, 1)
		l.step(n, true, wait, work)
	}
}

var afterFive = recording.Header{Warmup: 5 * time.Second}
