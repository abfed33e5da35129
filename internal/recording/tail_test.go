package recording

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// TestAWatchWithoutAnEndStaysBounded: of a job that starts workers anew for hours, what is held is the last stretch,
// and a worker of the last minute is there whole however many came before.
func TestAWatchWithoutAnEndStaysBounded(t *testing.T) {
	r := must.Get(NewRecorder(Header{}, nil))(t)
	const each, keep = 2 * time.Second, time.Minute
	r.Add(metric.MemTotal, "host", 1) // read once
	for i := range 4 * MaxProcesses {
		worker, born := fmt.Sprintf("process/%d.1", i), time.Duration(i)*each
		for at := born; at < born+each; at += each / 4 {
			r.Tick(at)
			if at == born {
				r.Event(EventProcess, worker, map[string]string{"role": "worker"})
				r.Unseen("looks_*", worker, "refused", "")
			}
			r.Add(metric.ProcCPU, worker, at.Seconds())
			r.Add(metric.CPUBusy, "host", at.Seconds())
		}
		r.Event(EventExit, worker, nil)
		r.Forget(born - keep)
	}
	most := int(keep/each) + 2
	if n := len(r.rec.Series); n > most+2 {
		t.Errorf("%d series are held, of %d workers at most", n, most)
	}
	if len(r.rec.Events) > 2*most || len(r.rec.Unseen) > most || len(r.unseen) > most || len(r.kept) > most+1 {
		t.Errorf("%d events, %d unseen, %d entities", len(r.rec.Events), len(r.rec.Unseen), len(r.kept))
	}
	if n := points(&r.rec); n != r.held.readings || n > 10*most {
		t.Errorf("%d readings are held, %d are counted", n, r.held.readings)
	}
	last := fmt.Sprintf("process/%d.1", 4*MaxProcesses-1)
	r.Latest(0, func(name, entity string, points []Point) {
		if entity == last && len(points) != 4 {
			t.Errorf("%d readings of the last worker", len(points))
		}
	})
	seen := 0
	r.Latest(-1, func(name, _ string, points []Point) {
		if name == metric.MemTotal.Name {
			seen++
		}
	})
	if seen != 1 {
		t.Error("what was read once is forgotten")
	}
}

// TestFromAMomentOn: the recording of the last stretch is one that began then.
func TestFromAMomentOn(t *testing.T) {
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	point := func(s int, v float64) Point { return Point{time.Duration(s) * time.Second, v} }
	rec := &Recording{
		Header: Header{StartedAt: start, StartMonotonic: time.Hour, Warmup: 5 * time.Second},
		Series: []Series{{Metric: "a", Points: []Point{point(1, 1), point(11, 2), point(12, 3)}},
			{Metric: "b", Points: []Point{point(2, 7)}}},
		Events: []Event{{At: time.Second, Kind: EventProcess}, {At: 13 * time.Second, Kind: EventExit}},
		End:    &End{At: 20 * time.Second},
	}
	want := &Recording{
		Header: Header{StartedAt: start.Add(10 * time.Second), StartMonotonic: time.Hour + 10*time.Second},
		Series: []Series{{Metric: "a", Points: []Point{point(1, 2), point(2, 3)}},
			{Metric: "b", Points: []Point{point(0, 7)}}},
		Events: []Event{{At: 0, Kind: EventProcess}, {At: 3 * time.Second, Kind: EventExit}},
		End:    &End{At: 10 * time.Second},
	}
	if diff := cmp.Diff(want, rec.From(10*time.Second)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTheLatestReadingIsThereWhereReadingsAreThinned, which the next one to be kept is some time after.
func TestTheLatestReadingIsThereWhereReadingsAreThinned(t *testing.T) {
	r, _ := bounded(t, 1000)
	for i := range 5000 {
		at := time.Duration(i) * time.Second
		r.Tick(at)
		r.Add(metric.CPUBusy, "host", float64(i))
		must.Do(t, r.Flush())
		got := -1.0
		r.Latest(at-time.Second, func(_, _ string, points []Point) { got = points[len(points)-1].Value })
		if got != float64(i) {
			t.Fatalf("at %d the latest is %v", i, got)
		}
	}
}
