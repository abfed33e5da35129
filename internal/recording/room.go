package recording

import (
	"fmt"
	"strconv"
	"strings"
)

// What a recording holds at most, so that a watch of days takes the memory of one of minutes.
const (
	// MaxProcesses is how many processes are kept; of later ones nothing is, and the recording says since when. A job
	// that starts eight workers for each epoch of ten seconds comes to it after 21 minutes; with some 28 series of a
	// few readings each, and their births and exits, they take 8 MiB.
	MaxProcesses = 1024
	// maxReadings is how many readings are kept at once, 32 MiB of them. Sixteen workers come to it after 22 minutes.
	maxReadings = 2 << 20
	// fewReadings are kept of every series: what is read seldom is not thinned.
	fewReadings = 64
	// maxEvents is a bound behind the bounds of those that tell of events (the hook: 20,000; births and exits: a few
	// for each process).
	maxEvents = 1 << 15
)

// keptEntity is somebody with series.
type keptEntity struct {
	series []int
	over   bool // a process that is gone: what still comes of it stands as it is
}

// ahead is the newest reading of a series where it was not its turn to be kept. It is kept when nothing comes after it,
// so that each series ends where it ended.
type ahead struct {
	Point
	waits bool
	since int // readings since the last that was kept
}

// refused counts what the recording has no room for.
type refused struct {
	readings, events int
	reported         bool
}

const processPrefix = "process/"

// entity returns what is known of an entity, nil where the recording has no room for it.
func (r *Recorder) entity(name string) *keptEntity {
	e := r.kept[name]
	if e != nil {
		return e
	}
	if strings.HasPrefix(name, processPrefix) {
		if r.held.processes >= MaxProcesses {
			r.reportFull()
			return nil
		}
		r.held.processes++
	}
	e = &keptEntity{}
	r.kept[name] = e
	return e
}

// entityOf is entity for an event. The end of the job is always reported.
func (r *Recorder) entityOf(kind, name string) *keptEntity {
	switch {
	case kind == EventJobEnded:
		return &keptEntity{}
	case len(r.rec.Events) >= maxEvents:
		r.reportFull()
		return nil
	case strings.HasPrefix(name, processPrefix):
		return r.entity(name)
	}
	return &keptEntity{}
}

// isRefused says whether the recording has no room for an entity.
func (r *Recorder) isRefused(name string) bool {
	return r.refused.reported && strings.HasPrefix(name, processPrefix) && r.kept[name] == nil
}

func (r *Recorder) reportFull() {
	if !r.refused.reported {
		r.refused.reported = true
		r.happened(EventFull, "", map[string]string{"kept": strconv.Itoa(r.held.processes)})
	}
}

// turn says whether the next reading of a series is one to keep.
func (r *Recorder) turn(i int) bool {
	a := &r.ahead[i]
	a.since++
	if a.since < r.rec.OneOf && len(r.rec.Series[i].Points) >= fewReadings {
		return false
	}
	a.since = 0
	return true
}

// over keeps the newest readings of a process that is gone.
func (r *Recorder) over(e *keptEntity) {
	e.over = true
	for _, i := range e.series {
		r.settle(i)
	}
}

// roomFor makes room for one more reading of a series. append would add a quarter, and do so for all series that began
// together at one tick: steps of 3 to 8 MiB in half an hour, and an eighth of the memory unused. Each series grows by a
// thirty-second, at a length of its own.
func roomFor(points []Point, series int) []Point {
	const small = 512 // below, append's steps are small
	if len(points) < cap(points) || len(points) < small {
		return points
	}
	more := make([]Point, len(points), len(points)+len(points)/32+series%32+1)
	copy(more, points)
	return more
}

// settle keeps the newest reading of a series where it was held back.
func (r *Recorder) settle(i int) {
	if a := r.ahead[i]; a.waits {
		r.ahead[i].waits = false
		r.keep(i, a.Point)
		if r.out != nil {
			r.tick.earlier(i, a.Point)
		}
	}
}

// catchUp ends every series where it ended, and says what was left out.
func (r *Recorder) catchUp() {
	for i := range r.ahead {
		r.settle(i)
	}
	if r.refused.readings+r.refused.events > 0 {
		r.Unseen("process_*", "", fmt.Sprintf("the recording keeps %d processes: %d readings and %d births, exits "+
			"and other events of later ones are left out",
			r.held.processes, r.refused.readings, r.refused.events), "watch for a shorter time")
	}
}

// release says whether a series has ended, so that its memory need not be kept for more.
func (r *Recorder) release(i int) bool {
	return r.kept[r.rec.Series[i].Entity].over
}

// thinner keeps the number of readings within its bound. A Recorder writes down where it thinned, and Read thins there,
// so that a recording from a file is the one that was in memory.
type thinner struct {
	readings  int // held now
	processes int
	bound     int
}

// hold leaves out every second reading of each series where there are too many. It reports whether it did. release says
// of which series the memory is given back: of one that goes on, it will be needed again.
func (t *thinner) hold(rec *Recording, release func(series int) bool) bool {
	if t.readings <= t.bound {
		return false
	}
	t.halve(rec, release)
	if t.readings > t.bound/4*3 {
		t.bound = 2 * t.readings // very many series of a few readings: looked through seldom
	}
	return true
}

// halve leaves out every second reading. The first and the last of a series stay.
func (t *thinner) halve(rec *Recording, release func(series int) bool) {
	rec.OneOf, t.readings = 2*max(rec.OneOf, 1), 0
	for i := range rec.Series {
		s := &rec.Series[i]
		s.Points = thin(s.Points)
		t.readings += len(s.Points)
		if release(i) && cap(s.Points) >= 2*len(s.Points) {
			s.Points = append(make([]Point, 0, len(s.Points)), s.Points...)
		}
	}
}

// mostOneOf bounds what a file may say: a reading of ten a second would be one a year.
const mostOneOf = 1 << 28

// take follows a line of a file.
func (t *thinner) take(rec *Recording, l anyLine) {
	all := func(int) bool { return true }
	t.readings += len(l.Values)
	if l.Thin != nil && rec.OneOf < mostOneOf && l.Thin.OneOf == 2*max(rec.OneOf, 1) {
		t.halve(rec, all)
	}
	t.hold(rec, all)
}

// thin leaves out, in place, every second reading of a series.
func thin(points []Point) []Point {
	if len(points) < 2*fewReadings {
		return points
	}
	last := points[len(points)-1]
	kept := points[:0]
	for i := 0; i < len(points)-1; i += 2 {
		kept = append(kept, points[i])
	}
	return append(kept, last)
}
