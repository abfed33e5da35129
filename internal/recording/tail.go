package recording

import (
	"maps"
	"slices"
	"time"
)

// passing are the events that say something of their moment alone; all others stand as long as what they are about.
var passing = map[string]bool{EventGap: true, EventFull: true}

// Latest calls f for each series that was read after a moment, with these readings. f must not keep them.
func (r *Recorder) Latest(after time.Duration, f func(metric, entity string, points []Point)) {
	for i := range r.rec.Series {
		s, n := &r.rec.Series[i], len(r.rec.Series[i].Points)
		for n > 0 && s.Points[n-1].At > after {
			n--
		}
		if a := r.ahead[i]; n < len(s.Points) {
			f(s.Metric, s.Entity, s.Points[n:])
		} else if a.waits && a.At > after {
			f(s.Metric, s.Entity, []Point{a.Point})
		}
	}
}

// Forget drops what was read before a moment, and all that is known of processes that were gone by then, so that a
// watch without an end stays as large as its last stretch. A series keeps its last reading at least: some things are
// read once. It is for a recorder without a file, where all would have to stand.
func (r *Recorder) Forget(before time.Duration) {
	gone := map[string]bool{}
	for _, e := range r.rec.Events {
		if e.Kind == EventExit && e.At < before {
			gone[e.Entity] = true
		}
	}
	r.rec.Events = slices.DeleteFunc(r.rec.Events, func(e Event) bool {
		return gone[e.Entity] || e.At < before && passing[e.Kind]
	})
	r.rec.Unseen = slices.DeleteFunc(r.rec.Unseen, func(u Unseen) bool { return gone[u.Entity] })
	maps.DeleteFunc(r.unseen, func(u Unseen, _ bool) bool { return gone[u.Entity] })
	for name, e := range r.kept {
		if e.series = e.series[:0]; gone[name] {
			delete(r.kept, name)
			r.held.processes--
		}
	}
	if r.held.processes < MaxProcesses {
		r.refused.reported = false
	}
	left := 0
	r.held.readings = 0
	for i, s := range r.rec.Series {
		if gone[s.Entity] {
			continue
		}
		s.Points = since(s.Points, before)
		r.held.readings += len(s.Points)
		r.rec.Series[left], r.ahead[left] = s, r.ahead[i]
		r.kept[s.Entity].series = append(r.kept[s.Entity].series, left)
		left++
	}
	clear(r.rec.Series[left:])
	r.rec.Series, r.ahead = r.rec.Series[:left], r.ahead[:left]
}

// since moves the readings from a moment on, or the last one where there is none, to the front.
func since(points []Point, from time.Duration) []Point {
	first := 0
	for first < len(points)-1 && points[first].At < from {
		first++
	}
	return points[:copy(points, points[first:])]
}

// From makes the recording one that began at a moment and needs no warm-up more than was left of it then. What stood
// before stands at its start.
func (rec *Recording) From(begin time.Duration) *Recording {
	if begin <= 0 {
		return rec
	}
	h := &rec.Header
	h.StartedAt, h.StartMonotonic, h.Warmup = h.StartedAt.Add(begin), h.StartMonotonic+begin, max(0, h.Warmup-begin)
	for i := range rec.Series {
		rec.Series[i].Points = since(rec.Series[i].Points, begin)
		for k := range rec.Series[i].Points {
			p := &rec.Series[i].Points[k]
			p.At = max(0, p.At-begin)
		}
	}
	for i := range rec.Events {
		rec.Events[i].At = max(0, rec.Events[i].At-begin)
	}
	if rec.End != nil {
		rec.End.At -= begin
	}
	return rec
}
