package evidence

import (
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestBatchesToldLate has the count of batches begin when it is known how many tensors one has.
func TestBatchesToldLate(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	for i := range 300 {
		s.run(0.1, inputBound)
		if i >= 100 {
			s.r.Add(metric.LoaderBatches, "loader/100.1", 20*s.at)
		}
	}
	want(t, s.evidence(), map[metric.Desc]float64{metric.BatchesPerS: 20})
}

// TestTensorsPerBatch: how many tensors make a batch, and how they are shared, are known from outside; a launched job's
// hook finds more where they are in lists, and knows the strategy itself.
func TestTensorsPerBatch(t *testing.T) {
	for _, c := range []struct {
		seen, named, listed float64
		all                 float64 // 0: an older hook
		reported            string
		tensors             float64
		sharing             string
	}{
		{11, 0, -1, 0, "", 11, ByDescriptor},
		{11, 1, -1, 0, "", 11, ByName},
		{45, 0, 224, 0, ByDescriptor, 224, ByDescriptor},
		{225, 0, 224, 0, ByName, 225, ByName},
		{11, 0, 0, 0, "", 11, ByDescriptor},
		{1, 0, 0, 12, ByName, 12, ByName},
		{45, 0, 224, 226, ByDescriptor, 226, ByDescriptor},
	} {
		l := launch(t, recording.Header{})
		l.tensors, l.samples = c.seen, inputBound
		l.also = func() { l.r.Add(metric.LoaderNamed, "loader/100.1", c.named) }
		l.bear("100.1", 2, 50)
		if c.listed >= 0 {
			l.loader(0, 88, 2, "sharing", c.reported)
			l.begin(0, 0.1, 2)
			l.grow(metric.HookBatchSize, l.loop(0), 5<<20)
			l.grow(metric.HookTensors, l.loop(0), c.listed)
			if c.all > 0 {
				l.grow(metric.HookAllTensors, l.loop(0), c.all)
			}
			l.plain(0, 29.9, 0.03, 0.02)
		}
		l.pass(30 - l.now)
		e := l.evidence()
		want(t, e, map[metric.Desc]float64{metric.TensorsPerBatch: c.tensors})
		if e.Facts.Sharing != c.sharing {
			t.Errorf("%+v: sharing %q", c, e.Facts.Sharing)
		}
	}
}

// TestTensorsPerBatchToldWrong lets the number of tensors per batch be told as a multiple for a third of the watch, in
// which too few batches are counted, as a real job on full cores showed.
func TestTensorsPerBatchToldWrong(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	batches := 0.0
	for i := range 300 {
		s.run(0.1, inputBound)
		by := 2.0
		if i >= 100 && i < 200 {
			s.r.Add(metric.LoaderTensorsPer, "loader/100.1", 16)
			by = 0.25
		}
		batches += by
		s.r.Add(metric.LoaderBatches, "loader/100.1", batches)
	}
	want(t, s.evidence(), map[metric.Desc]float64{metric.BatchesPerS: 20, metric.QueueBatches: 1})
}

// TestPickledBatchesToldLate has batches that pass no shared memory, which are reported from the tenth second on but
// counted from the start.
func TestPickledBatchesToldLate(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	for i := range 300 {
		s.run(0.1, inputBound)
		switch {
		case i == 99: // as a real sampler did
			s.r.Add(metric.LoaderBatches, "loader/100.1", 0)
		case i >= 100:
			s.r.Add(metric.LoaderBatches, "loader/100.1", 20*s.at)
		}
	}
	want(t, s.derive(s.withoutTensors()), map[metric.Desc]float64{metric.BatchesPerS: 20, metric.StepTime: 0.05})
}

// TestWorkersWithData lets one of three persistent workers make all batches while the others wait for work.
func TestWorkersWithData(t *testing.T) {
	s := withWorkers(t, 3, recording.Header{})
	workerSet := s.workers["100.1"]
	for range 300 {
		s.workers["100.1"] = workerSet[:1]
		s.run(0.1, inputBound)
		s.sums[metric.LoaderAliveSum.Name+" loader/100.1"] += s.samples * 2
		s.r.Add(metric.LoaderWorkers, "loader/100.1", 3)
		for _, w := range workerSet[1:] {
			s.worker("process/"+w, s.tick, s.samples, moment{idle: 1})
		}
	}
	want(t, s.evidence(), map[metric.Desc]float64{metric.WithData: 1, metric.NumWorkers: 3, metric.HeadOfLine: absent})
}

// TestFeedingRanks has rank 1's workers wait for work, as those do of whom nobody takes a batch.
func TestFeedingRanks(t *testing.T) {
	for name, feeding := range map[string]float64{"one": 1, "both": 2, "inherited": 0} {
		s := simulate(t, recording.Header{})
		s.trainer("100.1", "rank", "0")
		second := "1"
		if name == "inherited" {
			second = "0" // a program that rank 0 has started
		}
		s.trainer("101.1", "rank", second)
		s.bear("100.1", 2, 50)
		s.bear("101.1", 2, 50)
		other := inputBound
		if name != "both" {
			other = moment{asleep: 1, idle: 1}
		}
		for range 300 {
			s.at += s.tick
			s.r.Tick(time.Duration(s.at*1e9 + 0.5))
			s.step(1, inputBound, []string{"100.1"})
			s.step(1, other, []string{"101.1"})
		}
		if e := s.evidence(); feeding > 0 {
			want(t, e, map[metric.Desc]float64{metric.FeedingRanks: feeding})
		} else if v, ok := e.Get(metric.FeedingRanks); ok {
			t.Errorf("%s: %v ranks feed, though both are called 0", name, v.Center)
		}
	}
}

// TestTensorsSeenLate attaches to workers whose tensors are first seen some seconds later: their numbers then tell all
// that came since the workers' birth at once, most of it before the watch. A real job with pinned batches was told 26
// batches/s where it had 16.
func TestTensorsSeenLate(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.sums[metric.LoaderTensors.Name+" loader/100.1"] = 4000
	s.run(30, inputBound)
	rec := s.recording("duration")
	edit(rec, metric.LoaderTensors, func(points []recording.Point) []recording.Point {
		for i := range points {
			if points[i].At < 10*time.Second {
				points[i].Value = 0
			}
		}
		return points
	})
	want(t, s.derive(rec), map[metric.Desc]float64{metric.BatchesPerS: 20})
}

// TestShapeOfABatchKnownLate has workers that are found one after the other, each with all that it has made, before it
// is known what a batch looks like.
func TestShapeOfABatchKnownLate(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.run(30, inputBound)
	rec := s.recording("duration")
	late := func(p recording.Point) bool { return p.At >= 12*time.Second }
	edit(rec, metric.LoaderTensorsPer, func(points []recording.Point) []recording.Point {
		return points[slices.IndexFunc(points, late):]
	})
	edit(rec, metric.LoaderTensors, func(points []recording.Point) []recording.Point {
		for i := range points[:slices.IndexFunc(points, late)] {
			if points[i].Value /= 2; points[i].At < 8*time.Second { // the second is not found yet
				points[i].Value = 0
			}
		}
		return points
	})
	want(t, s.derive(rec), map[metric.Desc]float64{metric.BatchesPerS: 20})
}

// TestRunningBetweenEpochs may be the drawing of an order, for which the loop waits, where the loader is asked for
// nothing meanwhile: the queue is empty and all workers are idle. A pause within an epoch finds the queue full.
func TestRunningBetweenEpochs(t *testing.T) {
	trains := moment{run: 0.2, asleep: 0.8, idle: 0.8, work: 0.2, ahead: 0.9, batches: 20, queued: 8, gpu: -1}
	for _, c := range []struct {
		queued float64
		pins   bool
		lo, hi float64 // of the wait's upper end
	}{{queued: 0, lo: 0.33, hi: 0.45}, {queued: 8, hi: 0.05}, {queued: 0, pins: true, hi: 0.05}} {
		s := twoWorkers(t, recording.Header{})
		s.pins, s.takes = c.pins, "main"
		for range 10 {
			s.run(2, trains)
			s.run(1, moment{run: 1, idle: 1, ahead: 1, queued: c.queued, gpu: -1})
		}
		wait, ok := s.evidence().Get(metric.InputWait)
		if !ok || wait.Center > 0.05 || wait.Hi < c.lo || wait.Hi > c.hi {
			t.Errorf("%+v: wait %.3f (%.3f to %.3f), %v", c, wait.Center, wait.Lo, wait.Hi, ok)
		}
	}
}
