package recording

import (
	"time"

	"github.com/pipetune/pipetune/internal/metric"
)

// Sink takes what samplers see. All methods belong to the tick that is under way.
type Sink interface {
	// Add records a reading. Values that are not finite are dropped and counted.
	Add(d metric.Desc, entity string, value float64)
	// Event records that something happened now.
	Event(kind, entity string, attrs map[string]string)
	// Unseen records that a signal could not be read; the same signal, entity and reason are kept once.
	Unseen(signal, entity, reason, cure string)
}

// Recorder gathers a recording tick by tick, and writes each tick to a Writer where there is one. It is not safe for concurrent use:
// samplers with goroutines of their own hand over their readings when they are asked to sample.
type Recorder struct {
	rec     Recording
	index   map[key]int
	unseen  map[Unseen]bool
	now     time.Duration
	out     *Writer
	dropped int // readings that were not finite
	tick    tickBuffer
}

type key struct{ metric, entity string }

// NewRecorder starts a recording. out may be nil; where it is not, the header is written at once.
func NewRecorder(h Header, out *Writer) (*Recorder, error) {
	h.Schema, h.SchemaVersion = Schema, SchemaVersion
	r := &Recorder{rec: Recording{Header: h}, index: map[key]int{}, unseen: map[Unseen]bool{}, out: out}
	if out != nil {
		if err := out.Header(h); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Tick sets the time of what is recorded until the next call.
func (r *Recorder) Tick(at time.Duration) { r.now = at }

// Add implements Sink.
func (r *Recorder) Add(d metric.Desc, entity string, value float64) {
	if value != value || value > maxFinite || value < -maxFinite {
		r.dropped++
		return
	}
	k := key{d.Name, entity}
	i, ok := r.index[k]
	if !ok {
		i = len(r.rec.Series)
		r.index[k] = i
		r.rec.Series = append(r.rec.Series, Series{Metric: d.Name, Entity: entity})
		if r.out != nil {
			r.tick.define(i, d.Name, entity)
		}
	}
	s := &r.rec.Series[i]
	s.Points = append(s.Points, Point{At: r.now, Value: value})
	if r.out != nil {
		r.tick.value(i, value)
	}
}

const maxFinite = 1.7976931348623157e308

// Event implements Sink.
func (r *Recorder) Event(kind, entity string, attrs map[string]string) {
	e := Event{At: r.now, Kind: kind, Entity: entity, Attrs: attrs}
	r.rec.Events = append(r.rec.Events, e)
	if r.out != nil {
		r.tick.event(e)
	}
}

// Unseen implements Sink.
func (r *Recorder) Unseen(signal, entity, reason, cure string) {
	u := Unseen{Signal: signal, Entity: entity, Reason: reason, Cure: cure}
	if r.unseen[u] {
		return
	}
	r.unseen[u] = true
	r.rec.Unseen = append(r.rec.Unseen, u)
	if r.out != nil {
		r.tick.unseen(u)
	}
}

// Flush writes the tick to the file. A write error is returned once and ends the writing; the recording in memory goes on.
func (r *Recorder) Flush() error {
	if r.out == nil {
		return nil
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
	if r.out == nil {
		return &r.rec, nil
	}
	if err := r.Flush(); err != nil {
		return &r.rec, err
	}
	if err := r.out.Header(r.rec.Header); err != nil { // again: what became known while watching
		return &r.rec, err
	}
	return &r.rec, r.out.end(end)
}

// Header returns the recording's header for amendment before Finish: what became known while watching (GPUs, storage, trainers).
func (r *Recorder) Header() *Header { return &r.rec.Header }
