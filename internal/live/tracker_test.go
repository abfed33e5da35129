package live

import (
	"math"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// watch is a recorder that a made-up job is recorded by, four times a second, and the tracker beside it.
type watch struct {
	*recording.Recorder
	tracker Tracker
	members []Member
	at      time.Duration
}

func newWatch(t *testing.T, members ...Member) *watch {
	t.Helper()
	return &watch{Recorder: must.Get(recording.NewRecorder(recording.Header{}, nil))(t), members: members}
}

// run records for some seconds and returns the last frame.
func (w *watch) run(seconds int, tick func(at float64)) (f *Frame) {
	for range 4 * seconds {
		w.at += 250 * time.Millisecond
		w.Tick(w.at)
		tick(w.at.Seconds())
		if w.tracker.Due(w.at) {
			f = w.tracker.Update(w.Recorder, w.members, w.at)
		}
	}
	return f
}

func (w *watch) job(at float64) {
	for i, entity := range []string{"process/2.1", "process/3.1"} {
		w.Add(metric.ThreadSamples, entity, 50*at)
		w.Add(metric.ThreadRunning, entity, 30*at)
		w.Add(metric.ThreadDisk, entity, 10*at)
		w.Add(metric.ThreadQueuePoll, entity, 10*at)
		w.Add(metric.ProcCPU, entity, at*float64(i+1)/4)
		w.Add(metric.ProcRSS, entity, 1<<20)
		w.Add(metric.ProcReadChars, entity, 1000*at)
	}
	w.Add(metric.ProcCPU, "process/1.1", at/10)
	w.Add(metric.LoaderSamples, "loader/1.1", 50*at)
	w.Add(metric.LoaderWaiting, "loader/1.1", 20*at)
	w.Add(metric.LoaderBatches, "loader/1.1", 8*at)
	w.Add(metric.LoaderQueued, "loader/1.1", 6)
	w.Add(metric.LoaderTensorsPer, "loader/1.1", 2)
	w.Add(metric.GPUUtil, "gpu/GPU-a", 0.75)
	w.Add(metric.CPUBusy, "host", at)
	w.Add(metric.CPUIdle, "host", 3*at)
	w.Add(metric.DiskReadBytes, "disk/sda", 4096*at)
}

var crew = []Member{{ID: "1.1", PID: 1, Rank: "0", Trains: true}, {ID: "2.1", PID: 2, Rank: "0", Trainer: "1.1"},
	{ID: "3.1", PID: 3, Rank: "0", Trainer: "1.1"}}

func TestAFrameSaysWhatIsGoingOn(t *testing.T) {
	w := newWatch(t, crew...)
	f := w.run(20, w.job)
	rank := Owner{Rank: "0"}
	for _, c := range []struct {
		d          metric.Desc
		of         Owner
		now, total float64
	}{
		{metric.InputWait, rank, 0.4, 0.4 * 19},
		{metric.BatchesPerS, rank, 8, 8 * 19},
		{metric.QueueBatches, rank, 3, 0},
		{metric.Workers, Owner{Rank: "0", State: "running"}, 1.2, 1.2 * 19},
		{metric.Workers, Owner{Rank: "0", State: "storage"}, 0.4, 0.4 * 19},
		{metric.Workers, Owner{Rank: "0", State: "idle"}, 0.4, 0.4 * 19},
		{metric.JobCPU, Owner{}, 0.85, 0.85 * 19},
		{metric.ReadBytes, Owner{}, 2000, 2000 * 19},
		{metric.GPUUtil, Owner{Device: "GPU-a"}, 0.75, 0.75 * 20},
		{metric.CPUBusyRatio, Owner{}, 0.25, 0.25 * 19},
		{metric.DiskByteRate, Owner{Device: "sda"}, 4096, 4096 * 19},
	} {
		g, ok := f.Get(c.d, c.of)
		if !ok || math.Abs(g.Now-c.now) > 1e-9*c.now || math.Abs(g.Total-c.total) > 0.08*c.total {
			t.Errorf("%s of %+v: %v (known %t), in all %v; want %v, %v", c.d.Name, c.of, g.Now, ok, g.Total, c.now,
				c.total)
		}
	}
	if len(f.Workers) != 2 || f.Workers[1].PID != 3 || math.Abs(f.Workers[1].CPU-0.5) > 1e-9 ||
		f.Workers[1].RSS != 1<<20 {
		t.Errorf("workers: %+v", f.Workers)
	}
}

// TestTheLoaderWithMostBatchesIsShown: that of an evaluation was gone over first.
func TestTheLoaderWithMostBatchesIsShown(t *testing.T) {
	w := newWatch(t, crew...)
	f := w.run(20, func(at float64) {
		w.job(at)
		w.Add(metric.LoaderWorkers, "loader/1.1.1", 4)
		w.Add(metric.LoaderBatches, "loader/1.1.1", 30*at)
	})
	rate, _ := f.Get(metric.BatchesPerS, Owner{Rank: "0"})
	workers, _ := f.Get(metric.NumWorkers, Owner{Rank: "0"})
	if workers.Now != 4 || math.Abs(rate.Now-30) > 1e-6 {
		t.Errorf("%v batches/s of %v workers", rate.Now, workers.Now)
	}
}

// TestWhatIsNotReadIsAbsent, and what was read once does not stand for ever; a total does not shrink by it.
func TestWhatIsNotReadIsAbsent(t *testing.T) {
	w := newWatch(t, crew...)
	f := w.run(1, func(float64) { w.Add(metric.ProcRSS, "process/2.1", 1) })
	if _, ok := f.Get(metric.InputWait, Owner{Rank: "0"}); ok {
		t.Error("a wait that nobody sampled")
	}
	f = w.run(20, w.job)
	before, _ := f.Get(metric.BatchesPerS, Owner{Rank: "0"})
	f = w.run(10, func(float64) { w.Add(metric.CPUBusy, "host", 1) })
	after, ok := f.Get(metric.BatchesPerS, Owner{Rank: "0"})
	if more := after.Total - before.Total; ok || more < 0 || more > 8 { // the last frame is up to a second old
		t.Errorf("10 s after the last reading: %v, in all %v of %v", after.Now, after.Total, before.Total)
	}
}

// TestACounterThatStartsAgainIsNoProgress: the number of a process is given to another, or a device is lost and found.
func TestACounterThatStartsAgainIsNoProgress(t *testing.T) {
	w := newWatch(t, crew...)
	w.run(10, w.job)
	f := w.run(10, func(at float64) { w.job(at - 10) })
	if g, ok := f.Get(metric.DiskByteRate, Owner{Device: "sda"}); !ok || math.Abs(g.Now-4096) > 1 || g.Total > 4096*20 {
		t.Errorf("%v, in all %v", g.Now, g.Total)
	}
}

// TestATrackerStaysSmall, however long it runs and however many workers come and go.
func TestATrackerStaysSmall(t *testing.T) {
	w := newWatch(t)
	for i := range 500 {
		id := string(rune('a'+i%26)) + "." + time.Duration(i).String()
		w.members = []Member{crew[0], {ID: id, Rank: "0", Trainer: "1.1"}}
		w.run(1, func(at float64) {
			w.Add(metric.ThreadSamples, "process/"+id, at)
			w.Add(metric.ProcCPU, "process/"+id, at)
		})
		w.Forget(w.at - time.Minute)
	}
	if n := len(w.tracker.before); n > 200 {
		t.Errorf("%d last readings are held", n)
	}
	for _, trace := range w.tracker.traces {
		if len(trace.Past) > frames || cap(trace.Past) > 2*frames {
			t.Errorf("%s holds %d values", trace.Signal.Name, len(trace.Past))
		}
	}
}
