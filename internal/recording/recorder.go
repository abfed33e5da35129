package recording

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
)

// Sink takes what samplers see. All methods belong to the tick that is under way.
type Sink interface {
	// Add records a reading. Values that are not finite are dropped.
	Add(d metric.Desc, entity string, value float64)
	// Event records that something happened now.
	Event(kind, entity string, attrs map[string]string)
	// Unseen records that a signal could not be read; the same signal, entity and reason are kept once.
	Unseen(signal, entity, reason, cure string)
}

// Recorder gathers a recording tick by tick, and writes each tick to a Writer where there is one. It is not safe for
// concurrent use: samplers with goroutines of their own hand over their readings when they are asked to sample.
//
// A Recorder takes a bounded amount of memory however long the watch lasts; room.go says what is left out then, and how
// that is reported.
type Recorder struct {
	rec     Recording
	kept    map[string]*keptEntity
	ahead   []ahead // by series
	held    thinner
	refused refused
	unseen  map[Unseen]bool
	now     time.Duration
	out     *Writer
	tick    tickBuffer
}

// NewRecorder starts a recording. out may be nil; where it is not, the header is written at once.
func NewRecorder(h Header, out *Writer) (*Recorder, error) {
	h.Schema, h.SchemaVersion = Schema, SchemaVersion
	r := &Recorder{rec: Recording{Header: h}, kept: map[string]*keptEntity{}, unseen: map[Unseen]bool{}, out: out,
		held: thinner{bound: maxReadings}}
	if out != nil {
		if err := out.Header(h); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Tick sets the time of what is recorded until the next call, to the microsecond as files keep it.
func (r *Recorder) Tick(at time.Duration) { r.now = at.Round(time.Microsecond) }

// Add implements Sink.
func (r *Recorder) Add(d metric.Desc, entity string, value float64) {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return
	}
	e := r.entity(entity)
	if e == nil {
		r.refused.readings++
		return
	}
	i := r.series(e, d.Name, entity)
	p := Point{At: r.now, Value: value}
	if !e.over && !r.turn(i) {
		r.ahead[i].Point, r.ahead[i].waits = p, true
		return
	}
	r.ahead[i].waits = false
	r.keep(i, p)
	if r.out != nil {
		r.tick.value(i, value)
	}
}

// Since calls f with the readings of a signal from a moment on, once for each entity that has any. f must not keep
// them.
func (r *Recorder) Since(d metric.Desc, from time.Duration, f func(entity string, points []Point)) {
	for i := range r.rec.Series {
		s := &r.rec.Series[i]
		if s.Metric != d.Name {
			continue
		}
		first, _ := slices.BinarySearchFunc(s.Points, from,
			func(p Point, t time.Duration) int { return cmp.Compare(p.At, t) })
		if first < len(s.Points) {
			f(s.Entity, s.Points[first:])
		}
	}
}

// series returns the number of an entity's series, and begins it where there is none.
func (r *Recorder) series(e *keptEntity, metric, entity string) int {
	for _, i := range e.series {
		if r.rec.Series[i].Metric == metric {
			return i
		}
	}
	i := len(r.rec.Series)
	e.series = append(e.series, i)
	r.rec.Series = append(r.rec.Series, Series{Metric: metric, Entity: entity})
	r.ahead = append(r.ahead, ahead{})
	if r.out != nil {
		plainLine(&r.tick.defs, "series", []any{i, metric, entity})
	}
	return i
}

func (r *Recorder) keep(i int, p Point) {
	s := &r.rec.Series[i]
	s.Points = append(roomFor(s.Points, i), p)
	r.held.readings++
}

// Event implements Sink.
func (r *Recorder) Event(kind, entity string, attrs map[string]string) {
	about := r.entityOf(kind, entity)
	if about == nil {
		r.refused.events++
		return
	}
	if kind == EventExit {
		r.over(about)
	}
	r.happened(kind, entity, attrs)
}

func (r *Recorder) happened(kind, entity string, attrs map[string]string) {
	e := Event{At: r.now, Kind: kind, Entity: entity, Attrs: attrs}
	r.rec.Events = append(r.rec.Events, e)
	if r.out != nil {
		plainLine(&r.tick.tail, "event", eventLine{e.At.Seconds(), e})
	}
}

// Unseen implements Sink.
func (r *Recorder) Unseen(signal, entity, reason, cure string) {
	u := Unseen{Signal: signal, Entity: entity, Reason: reason, Cure: cure}
	known := Unseen{Signal: signal, Entity: entity, Reason: reason} // the first cure stands
	if r.unseen[known] || r.isRefused(entity) {
		return
	}
	r.unseen[known] = true
	r.rec.Unseen = append(r.rec.Unseen, u)
	if r.out != nil {
		plainLine(&r.tick.tail, "unseen", u)
	}
}

// Flush ends the tick and writes it to the file. A write error is returned once and ends the writing; the recording in
// memory goes on.
func (r *Recorder) Flush() error {
	thinned := r.held.hold(&r.rec, r.release)
	if r.out == nil {
		return nil
	}
	if thinned {
		plainLine(&r.tick.tail, "thinned", thinnedLine{r.rec.OneOf})
	}
	err := r.out.flush(&r.tick, r.now)
	if err != nil {
		r.out = nil
	}
	return err
}

// Finish closes the recording and returns it. The Recorder must not be used afterwards.
func (r *Recorder) Finish(end End) (*Recording, error) {
	r.rec.End = &end
	r.catchUp()
	if err := r.Flush(); err != nil || r.out == nil {
		return &r.rec, err
	}
	if err := r.out.Header(r.rec.Header); err != nil { // again: what became known while watching
		return &r.rec, err
	}
	return &r.rec, r.out.end(end)
}

// Snapshot returns what was recorded so far; what comes later does not change it. It has no End.
func (r *Recorder) Snapshot() *Recording {
	s := r.rec
	s.Series, s.Events, s.Unseen = slices.Clone(s.Series), slices.Clone(s.Events), slices.Clone(s.Unseen)
	for i := range s.Series {
		s.Series[i].Points = slices.Clone(s.Series[i].Points)
	}
	return &s
}

// Header returns the recording's header for amendment before Finish: what became known while watching (GPUs, storage,
// trainers).
func (r *Recorder) Header() *Header { return &r.rec.Header }
