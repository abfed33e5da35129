package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
	"github.com/pipetune/pipetune/internal/timeline"
)

// How finely a watch is drawn: a picture some 900 pixels wide shows no more buckets, and 15 windows in each tell its
// least and its most from its mean.
const (
	mostBuckets   = 240
	mostPerBucket = 15
	mostShares    = 120 // of a row of shares, whose columns have to be distinguished
	mostRows      = 8   // of workers; more are drawn as one
)

// Timeline returns the whole watch as it went, warm-up included, of the trainer that the report's step is of; nil for a
// recording without readings.
func Timeline(rec *recording.Recording) *timeline.Timeline {
	b, _, end, err := begin(rec)
	if err != nil {
		return nil
	}
	lead, steady := b.top(), b.Steady
	b.Steady = watched.Span{From: 0, To: end}
	// Windows of about a second, longer ones where there would be too many or readings were thinned.
	width := max(watched.UsualWindow*float64(max(rec.OneOf, 1)), end/(mostBuckets*mostPerBucket))
	b.Cut([]watched.Span{b.Steady}, width)
	d := drawing{builder: b}
	d.windows = stat.Each(len(b.Spans), func(i int) timeline.Span { return exported(b.Spans[i]) })
	d.Timeline = timeline.Timeline{To: end, Steady: exported(steady), WholeEpochs: b.Epochs > 0, OneOf: rec.OneOf,
		Per: max((len(b.Spans)+mostBuckets-1)/mostBuckets, 1)}
	if len(b.Length) > 0 {
		d.Window = b.Length[0]
	}
	for _, x := range b.Lost {
		d.Gaps = append(d.Gaps, exported(x))
	}
	if lead != nil {
		d.trainer(lead)
	}
	d.machine()
	return &d.Timeline
}

func exported(s watched.Span) timeline.Span { return timeline.Span{From: s.From, To: s.To} }

// drawing is a timeline in the making.
type drawing struct {
	*builder
	timeline.Timeline
	windows []timeline.Span
}

// line draws a ratio of two sums by windows, unless nothing of it was seen.
func (d *drawing) line(of metric.Desc, num, den []float64) {
	if buckets := timeline.Thin(d.windows, num, den, d.Per); len(buckets) > 0 {
		d.Lines = append(d.Lines, timeline.Line{Signal: of.Name, Buckets: buckets})
	}
}

// trainer draws what the leading trainer waited and got, its device, and who makes its batches.
func (d *drawing) trainer(lead *rank) {
	r := d.rankOf(lead.Process)
	if r.hook != nil || !r.noLoader { // a load of its own looks like any other work from outside
		d.inputWait(r, step.Seen{}, step.Range{})
		seen := slices.Clone(r.watched)
		for i := range seen {
			if r.evaluates() > 0 && seen[i] < leastPart { // too little of training for a share
				seen[i] = 0
			}
		}
		d.line(metric.InputWait, r.waited, seen)
	}
	if r.hook != nil {
		l := r.hook.Training
		starved := l.Of(metric.HookDeviceStarved)
		d.line(metric.Starved, starved, stat.Plus(starved, l.Of(metric.HookDeviceTime)))
	}
	if lead.busy != nil {
		d.line(metric.GPUBusy, d.lasting(d.busyOf(lead.gpus)), d.Length)
	}
	d.line(metric.BatchesPerS, r.batches, r.clock)
	d.epochsSeen(r)
	d.workerSet(r)
}

// machine draws how busy CPUs and storage are.
func (d *drawing) machine() {
	d.countCores()
	busy, all := d.Grow(host, metric.CPUBusy, metric.CPUSteal), d.allCPUs()
	for _, x := range []struct {
		d metric.Desc
		f figure
	}{
		{metric.UsableBusy, d.usableBusy(busy, all, d.jobCPU())},
		{metric.CPUPressure, d.rate(metric.PressureCPUSome, group, host)},
		{metric.IOPressure, d.rate(metric.PressureIOSome, group, host)},
	} {
		d.line(x.d, x.f.num, x.f.den)
	}
	read, seen := d.GrowAll(d.Tracks(metric.DiskReadBytes))
	d.line(metric.DiskByteRate, read, seen)
}

// epochsSeen marks the beginnings of epochs as the job reported them; without that, of sets of new workers.
func (d *drawing) epochsSeen(r *rank) {
	add := func(e timeline.Epoch) {
		if e.At >= 0 && e.At < d.To {
			d.Epochs = append(d.Epochs, e)
		}
	}
	if r.hook != nil {
		for _, e := range r.hook.Epochs {
			add(timeline.Epoch{At: e.Begun, Number: e.Number, Reported: true})
		}
		return
	}
	for _, s := range r.starts {
		add(timeline.Epoch{At: s.Born, Number: -1})
	}
}

// workerStates are what makes batches may be found at, in the words of the report's phases. Being idle is what is left.
var workerStates = []struct {
	name   string
	states []metric.Desc
}{
	{"computing", []metric.Desc{metric.ThreadRunning}},
	{"waiting for storage", []metric.Desc{metric.ThreadDisk, metric.ThreadFileRead}},
	{"opening, closing files", []metric.Desc{metric.ThreadFileOpen, metric.ThreadFileLock}},
	{"waiting for a lock", []metric.Desc{metric.ThreadFutex, metric.ThreadFutexTimed}},
	{"handing a batch over", []metric.Desc{metric.ThreadPipeWrite}},
	{"waiting elsewhere", elsewhereStates},
	{"stopped", []metric.Desc{metric.ThreadStopped}},
	{"idle, ahead", nil},
}

// Of these, where a wait for own threads is seen, and what it is.
const computing, inLock = 0, 3

// workerSet draws what the workers did, or who else feeds the trainer: each of them where they are few, all together
// else. Workers of one set after the other share a row, each by its place in its set.
func (d *drawing) workerSet(r *rank) {
	c := &timeline.Workers{Of: "worker"}
	if r.fed != nil {
		c.Of = map[bool]string{true: "thread", false: "process"}[r.fed.Threads]
	}
	for _, s := range workerStates {
		c.States = append(c.States, s.name)
	}
	var places [][]*watched.Process
	for _, set := range watched.WorkerSets(r.workerSet) {
		for i, a := range set {
			if i == len(places) {
				places = append(places, nil)
			}
			places[i] = append(places[i], a)
		}
	}
	c.All = len(places)
	if c.All > mostRows {
		places = [][]*watched.Process{slices.Concat(places...)}
	}
	for i, place := range places {
		row := timeline.Row{Number: i + 1, Buckets: d.shares(r, place)}
		if c.All > mostRows {
			row.Number = 0
		}
		if len(row.Buckets) > 0 {
			c.Rows = append(c.Rows, row)
		}
	}
	if len(c.Rows) > 0 {
		d.Workers = c
	}
}

// shares is what the time of some of the workers went to, by buckets.
func (d *drawing) shares(r *rank, of []*watched.Process) (all []timeline.Shares) {
	samples := d.totals(of, metric.ThreadSamples)
	states := stat.Each(len(workerStates), func(k int) []float64 {
		return d.totals(of, r.busyStates(workerStates[k].states...)...)
	})
	if threads, known := d.center(metric.WorkerOwnThreads); known && threads > 0 {
		lock, _ := d.center(metric.WorkerLock)
		own := stat.Times(states[inLock], threads/(threads+lock))
		stat.Add(states[computing], own)
		stat.Add(states[inLock], stat.Times(own, -1))
	}
	per := max((len(d.Spans)+mostShares-1)/mostShares, 1)
	for from := 0; from < len(d.Spans); from += per {
		to := min(from+per, len(d.Spans))
		whole, left := stat.Sum(samples[from:to]), 1.0
		if !(whole > 0) {
			continue
		}
		s := timeline.Shares{Span: timeline.Span{From: d.Spans[from].From, To: d.Spans[to-1].To}}
		for k := range states {
			share := min(stat.Share(stat.Sum(states[k][from:to])/whole), left)
			left -= share
			s.Of = append(s.Of, share)
		}
		s.Of[len(s.Of)-1] = max(left, 0)
		if !math.IsNaN(left) {
			all = append(all, s)
		}
	}
	return all
}
