package sampler

import (
	"math"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/recording"
)

// changes are the changeovers of a trainer that were reported since the last call.
func (w *watcher) changes() []recording.Changeover {
	var out []recording.Changeover
	for _, d := range w.trainers[0].change.done {
		out = append(out, d.row)
	}
	w.book()
	return out
}

// TestChangeover ends a set of workers and begins another, as a new epoch does: the trainer forks for two samples,
// waits for three, and works; the tree hears of the new worker a sample after its first batch.
func TestChangeover(t *testing.T) {
	m := newJob(t, 1)
	w := m.watch()
	born := func(pid int, ago time.Duration) {
		m.uptime(10*pid + int(ago/(10*time.Millisecond)))
		m.process(pid, job.Worker, 100)
	}
	works := func(n int) {
		m.thread(100, 100, inSleep, "hrtimer_nanosleep", 'S')
		w.samples(n)
	}
	change := func(forks, waits int) {
		m.thread(100, 100, running, "0", 'R')
		w.samples(forks)
		m.thread(100, 100, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
		w.samples(waits)
	}
	works(10)
	m.thread(101, 101, inFault, "0", 'Z')
	works(1) // finds its end
	change(2, 3)
	works(2)
	born(102, 5*SampleInterval)
	works(1)
	m.remove(101)
	const took = 5.5 * float64(SampleInterval) / float64(time.Second)
	if got := w.changes(); len(got) != 1 || math.Abs(got[0].Took-took) > 1e-9 || got[0].Samples != 5 ||
		got[0].Running != 2 || got[0].Waiting != 0 {
		t.Errorf("got %+v, want %v s, 5 samples, 2 of them on a CPU", got, took)
	}

	// Known before its first batch came: waits are counted as such from then on.
	m.thread(102, 102, inFault, "0", 'Z')
	works(1)
	change(2, 1)
	born(103, SampleInterval)
	change(0, 4)
	works(3)
	m.remove(102)
	if got := w.changes(); len(got) != 1 || got[0].Samples != 7 || got[0].Waiting != 4 {
		t.Errorf("a slower start: %+v", got)
	}

	// A trainer that does not wait is at work already, or its first batch cannot be told.
	m.thread(103, 103, inFault, "0", 'Z')
	works(1)
	born(104, 0)
	works(30)
	if got := w.changes(); len(got) != 0 || w.trainers[0].change.starting {
		t.Errorf("nothing was waited for, and %+v", got)
	}

	// A worker that is added to a set, as a validation loader's, changes nothing.
	born(105, 0)
	change(1, 3)
	works(3)
	if got := w.changes(); len(got) != 0 {
		t.Errorf("a second loader: %+v", got)
	}
}
