package sampler

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
)

// TestTensorsOfALoader drives a starved loader of three tensors per batch and reads its batches off the names.
func TestTensorsOfALoader(t *testing.T) {
	m := newJob(t, 2)
	w := m.watch()
	w.samples(1)
	for batch := range 400 {
		for _, pid := range []int{101, 102} {
			for k := range 3 {
				m.link(pid, 20+k, fmt.Sprintf("/dev/shm/torch_%d_%d_%d (deleted)", pid, batch*7+k, batch*3+k))
			}
			m.writes(pid, int64(batch*13), int64(batch*900))
		}
		w.samples(3)
		if batch%4 == 0 {
			w.book()
		}
	}
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderTensorsPer: 3, metric.LoaderQueued: 6,
		metric.LoaderNamed: 0})
	// 800 batches, less the few of before the first listing.
	if got := b.get(t, metric.LoaderBatches, loader100); got < 780 || got > 800 {
		t.Errorf("%v batches were counted of 800", got)
	}
	if got := b.get(t, metric.LoaderTensors, loader100); got < 2340 || got > 2400 {
		t.Errorf("%v tensors were counted of 2400", got)
	}
}

// TestOldWorkersAreNotNewborn: a worker that is recognised late, or lost and found again, had handed over batches
// before the watch, and those do not count.
func TestOldWorkersAreNotNewborn(t *testing.T) {
	const before = 5000 // batches each worker had handed over when the watch began
	for name, unseen := range map[string]struct{ from, to int }{
		"seen throughout":       {0, 0},
		"recognised late":       {0, 40},
		"lost and found again":  {200, 240},
		"lost for half a watch": {100, 300},
	} {
		m := newJob(t, 2)
		m.uptime(1500)
		var back func()
		if unseen.to > 0 && unseen.from == 0 {
			back = m.hide(102)
		}
		w := m.watch()
		w.samples(1)
		missing := 0
		for batch := range 400 {
			if unseen.to > 0 && batch == unseen.from && back == nil {
				back = m.hide(102)
			}
			if back != nil && batch == unseen.to {
				back()
			}
			if batch >= unseen.from && batch < unseen.to {
				missing++
			}
			for _, pid := range []int{101, 102} {
				for k := range 2 {
					m.link(pid, 20+k, fmt.Sprintf("/dev/shm/torch_%d_%d_%d (deleted)", pid, batch*7+k, (before+batch)*2+
						k))
				}
				m.writes(pid, int64((before+batch)*9), int64((before+batch)*900))
			}
			w.samples(3)
			if batch%4 == 0 {
				w.book()
			}
		}
		b := w.book()
		b.want(t, loader100, map[metric.Desc]float64{metric.LoaderTensorsPer: 2})
		least := 800.0 - 20
		if unseen.from == 0 {
			least -= float64(missing)
		}
		if got := b.get(t, metric.LoaderBatches, loader100); got < least || got > 800 {
			t.Errorf("%s: %v batches were counted, want %v to 800", name, got, least)
		}
	}
}

// TestTensorsOfNamedFilesAreLookedForAgain: tensors shared as named files show no descriptor, and /dev/shm, listed when
// none was on its way, is listed again.
func TestTensorsOfNamedFilesAreLookedForAgain(t *testing.T) {
	m := newJob(t, 2)
	m.put(100, "mountinfo", "30 1 0:25 / /dev/shm rw - tmpfs tmpfs rw\n")
	m.put(100, "root/dev/shm/other", "")
	w := m.watch()
	w.samples(1)
	for batch := range 400 {
		for _, pid := range []int{101, 102} {
			for k := range 2 {
				name := func(batch int) string {
					return fmt.Sprintf("root/dev/shm/torch_%d_%d_%d", pid, batch, 2*batch+k)
				}
				if batch > 40 {
					m.put(100, name(batch), strings.Repeat("x", 164))
				}
				if batch > 41 {
					m.Remove(fmt.Sprintf("proc/100/%s", name(batch-1)))
				}
			}
			m.writes(pid, int64(batch*3), int64(batch*900))
		}
		w.samples(3)
		w.book()
	}
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderTensorsPer: 2, metric.LoaderNamed: 1})
	if got := b.get(t, metric.LoaderBatches, loader100); got < 700 || got > 800 {
		t.Errorf("%v batches were counted of 800", got)
	}
}
