package watched

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// Track is one signal of one entity in order of time, in seconds since the recording's start. A nil track has no
// readings.
type Track struct {
	Entity string
	At, V  []float64
	Resets int // steps at which a counter ran backwards that never should; iowait may, and is not counted
}

// Span is a stretch of time in seconds since the recording's start.
type Span struct{ From, To float64 }

func (s Span) Length() float64 { return max(s.To-s.From, 0) }

// And is what two spans have in common, or an empty one within the first.
func (s Span) And(o Span) Span {
	from := min(max(s.From, o.From), s.To)
	return Span{from, max(min(s.To, o.To), from)}
}

// Overlap returns how long two spans have in common.
func (s Span) Overlap(o Span) float64 { return max(min(s.To, o.To)-max(s.From, o.From), 0) }

// history holds every track of a recording.
type history struct {
	Signals map[string][]*Track // by signal; entities are sorted, so that sums are made in the same order each time
	index   map[trackKey]*Track
}

type trackKey struct{ signal, entity string }

// readHistory takes the series of a recording apart. A recording from a file may hold anything: readings that are not
// finite or lie outside the watch are left out, the rest is put in order, and of several at one time the last stands.
func readHistory(series []recording.Series) history {
	h := history{Signals: map[string][]*Track{}, index: map[trackKey]*Track{}}
	kinds := map[string]metric.Kind{}
	for _, d := range metric.Raw() {
		kinds[d.Name] = d.Kind
	}
	for _, s := range series {
		kind, known := kinds[s.Metric]
		if !known || len(s.Points) == 0 {
			continue
		}
		t := &Track{Entity: s.Entity, At: make([]float64, 0, len(s.Points)), V: make([]float64, 0, len(s.Points))}
		points := s.Points
		if !slices.IsSortedFunc(points, byTime) {
			points = slices.Clone(points)
			slices.SortStableFunc(points, byTime)
		}
		for _, p := range points {
			if p.At < 0 || math.IsNaN(p.Value) || math.Abs(p.Value) > stat.MaxReading {
				continue
			}
			at := p.At.Seconds()
			if n := len(t.At); n > 0 && t.At[n-1] == at {
				t.V[n-1] = p.Value
				continue
			}
			t.At, t.V = append(t.At, at), append(t.V, p.Value)
		}
		if len(t.At) == 0 {
			continue
		}
		if kind == metric.Counter && s.Metric != metric.CPUIowait.Name {
			for i := 1; i < len(t.V); i++ {
				if t.V[i] < t.V[i-1] {
					t.Resets++
				}
			}
		}
		h.Signals[s.Metric] = append(h.Signals[s.Metric], t)
	}
	for signal, tracks := range h.Signals {
		slices.SortStableFunc(tracks, func(a, b *Track) int { return cmp.Compare(a.Entity, b.Entity) })
		for _, t := range slices.Backward(tracks) { // of two with one name the first stands
			h.index[trackKey{signal, t.Entity}] = t
		}
	}
	return h
}

// put has a track be that of its entity, in the place of the one it had; one without readings is none.
func (h history) put(d metric.Desc, t *Track) {
	of := slices.DeleteFunc(h.Signals[d.Name], func(o *Track) bool { return o.Entity == t.Entity })
	delete(h.index, trackKey{d.Name, t.Entity})
	if len(t.At) > 0 {
		at, _ := slices.BinarySearchFunc(of, t, func(a, b *Track) int { return cmp.Compare(a.Entity, b.Entity) })
		of, h.index[trackKey{d.Name, t.Entity}] = slices.Insert(of, at, t), t
	}
	h.Signals[d.Name] = of
}

func byTime(a, b recording.Point) int { return cmp.Compare(a.At, b.At) }

// Track returns the track of one entity, nil where there is none.
func (h history) Track(d metric.Desc, entity string) *Track { return h.index[trackKey{d.Name, entity}] }

// Tracks returns the tracks of a signal in order of their entities.
func (h history) Tracks(d metric.Desc) []*Track { return h.Signals[d.Name] }

// Grown is how much counters of one entity grew in a span, all together.
func (h history) Grown(entity string, s Span, ds ...metric.Desc) (all float64) {
	if s.Length() == 0 { // as most windows have nothing of a restart
		return 0
	}
	for _, d := range ds {
		all += h.Track(d, entity).Grown(s)
	}
	return all
}

// Grow returns by how much a counter grew in each span, and for how long of each span it was seen. Between readings it
// is taken to grow evenly. A step backwards (wrap, reuse of a name) is no growth, and that stretch counts as not seen.
func (t *Track) Grow(spans []Span) (growth, seen []float64) {
	growth, seen = make([]float64, len(spans)), make([]float64, len(spans))
	if t == nil || len(spans) == 0 {
		return growth, seen
	}
	first, _ := slices.BinarySearch(t.At, spans[0].From)
	first = max(first, 1)
	for k, s := range spans {
		for first < len(t.At) && t.At[first] <= s.From {
			first++
		}
		for i := first; i < len(t.At) && t.At[i-1] < s.To; i++ {
			step := t.V[i] - t.V[i-1]
			common := s.Overlap(Span{t.At[i-1], t.At[i]})
			if step < 0 || common <= 0 {
				continue
			}
			growth[k] += step * (common / (t.At[i] - t.At[i-1]))
			seen[k] += common
		}
	}
	return growth, seen
}

// Grown is by how much a counter grew in a single span.
func (t *Track) Grown(s Span) float64 {
	growth, _ := t.Grow([]Span{s})
	return growth[0]
}

// Within returns the readings in a span, or the last one before it where there is none: what changes seldom is read
// seldom.
func (t *Track) Within(s Span) []float64 {
	if t == nil {
		return nil
	}
	from, _ := slices.BinarySearch(t.At, s.From)
	to, exact := slices.BinarySearch(t.At, s.To)
	if exact {
		to++
	}
	if from < to {
		return t.V[from:to]
	}
	if from > 0 {
		return t.V[from-1 : from]
	}
	return nil
}

// In returns the readings in a span without its end.
func (t *Track) In(s Span) []float64 {
	if t == nil {
		return nil
	}
	from, _ := slices.BinarySearch(t.At, s.From)
	to, _ := slices.BinarySearch(t.At, s.To)
	return t.V[from:max(from, to)]
}

// Means returns the mean reading in each span, NaN where there was none.
func (t *Track) Means(spans []Span) []float64 {
	return stat.Each(len(spans), func(k int) float64 {
		readings := t.In(spans[k])
		return stat.Divide(stat.Sum(readings), float64(len(readings)))
	})
}

// mostUsual is how many times as long as usual a reading may be the mean of: one that was late, or its like.
const mostUsual = 2

// Levels returns the mean level in each span of a gauge whose readings are means since the reading before, or since as
// long before as is usual, where there was none for longer. NaN where none reaches into a span. No reading counts that
// goes on after the last span: the job may have ended meanwhile.
func (t *Track) Levels(spans []Span) []float64 {
	steps := t.Steps()
	if usual, ok := stat.Quantile(Lengths(steps), 0.5); ok {
		steps = slices.Insert(steps, 0, Span{t.At[0] - usual, t.At[0]})
		for i := range steps {
			steps[i].From = max(steps[i].From, steps[i].To-mostUsual*usual)
		}
	}
	return stat.Each(len(spans), func(k int) float64 {
		total, seen := 0.0, 0.0
		first, _ := slices.BinarySearchFunc(steps, spans[k].From, func(s Span, at float64) int {
			return cmp.Compare(s.To, at)
		})
		for i := first; i < len(steps) && steps[i].From < spans[k].To && steps[i].To <= spans[len(spans)-1].To; i++ {
			common := spans[k].Overlap(steps[i])
			total, seen = total+t.V[i]*common, seen+common
		}
		return stat.Divide(total, seen)
	})
}

// Steps returns the spans between readings, in order; the i-th ends at reading i+1.
func (t *Track) Steps() []Span {
	if t == nil {
		return nil
	}
	return stepsOf(t.At)
}

// stepsBetween returns those of the steps that reach into a stretch.
func (t *Track) stepsBetween(from, to float64) []Span {
	if t == nil {
		return nil
	}
	first, _ := slices.BinarySearch(t.At, from)
	last, _ := slices.BinarySearch(t.At, to)
	first = max(first-1, 0)
	return stepsOf(t.At[first:max(min(last+1, len(t.At)), first)])
}

// stepsOf returns the spans between moments.
func stepsOf(at []float64) []Span {
	return stat.Each(max(len(at)-1, 0), func(i int) Span { return Span{at[i], at[i+1]} })
}

// Last returns the time of the last reading, 0 for a nil track.
func (t *Track) Last() float64 {
	if t == nil {
		return 0
	}
	return t.At[len(t.At)-1]
}

// LastBefore returns the time of the last reading before a moment, -1 where there is none.
func (t *Track) LastBefore(at float64) float64 {
	if t == nil {
		return -1
	}
	i, _ := slices.BinarySearch(t.At, at)
	if i == 0 {
		return -1
	}
	return t.At[i-1]
}

// AboveZero is the place of a counter's first reading above zero; -1 where there is none.
func (t *Track) AboveZero() int { return slices.IndexFunc(t.V, func(v float64) bool { return v > 0 }) }

// SkipTo leaves out what was read before a moment; a track that ends before stays as it is.
func (t *Track) SkipTo(at float64) {
	t.Skip(slices.IndexFunc(t.At, func(x float64) bool { return x >= at }))
}

// Skip leaves out so many readings, none where that is below 0.
func (t *Track) Skip(n int) {
	if n > 0 {
		t.At, t.V = t.At[n:], t.V[n:]
	}
}

// Begin puts a reading of zero before the first: a counter of a process that was born in the watch began there at
// nothing.
func (t *Track) Begin(at float64) {
	if t != nil && at < t.At[0] && t.V[0] >= 0 {
		t.At, t.V = slices.Insert(t.At, 0, at), slices.Insert(t.V, 0, 0)
	}
}

// With makes one signal of two that were read together, at the moments at which both were; nil where one is.
func (t *Track) With(o *Track, of func(v, other float64) float64) *Track {
	if t == nil || o == nil {
		return nil
	}
	out := &Track{Entity: t.Entity}
	for i, at := range t.At {
		if j, read := slices.BinarySearch(o.At, at); read {
			out.At, out.V = append(out.At, at), append(out.V, of(t.V[i], o.V[j]))
		}
	}
	return out
}

// weightByTime turns counts of samples into seconds: in each step between two readings, a state gets the share of the
// step that it had of the samples.
//
// Samples are not spread evenly over time. pipetune competes for the same cores, so fewer are taken while the machine
// is full, which is just when a trainer waits for its workers: on two full cores 38 samples a second were taken in the
// waits of an epoch's start and 50 in the steps after it, and the plain share of samples gave an input wait of 0.69
// where the trainer's own watch said 0.75.
//
// Afterwards samples are the seconds in which an entity was sampled, and everything counted in samples is in seconds
// too.
func (h history) weightByTime() {
	all := h.Tracks(metric.ThreadSamples)
	for _, total := range all {
		h.index[trackKey{SampleCounts.Name, total.Entity}] = &Track{Entity: total.Entity, At: total.At,
			V: slices.Clone(total.V)}
	}
	for _, total := range all {
		whole := total
		if trainer, ok := strings.CutPrefix(total.Entity, "taker/"); ok {
			// sampled with the main thread, as long as it is there and known
			if main := h.Track(SampleCounts, "process/"+trainer); main != nil {
				whole = main
			}
		}
		h.inSeconds(total.Entity, []*Track{whole}, metric.Threads)
	}
	for _, joint := range h.Tracks(metric.LoaderSamples) {
		h.inSeconds(joint.Entity, []*Track{joint, h.Track(metric.LoaderNoWorkers, joint.Entity)}, jointCounts)
	}
}

// SampleCounts is where the plain count of samples is kept.
var SampleCounts = metric.Desc{Name: "samples taken"}

// jointCounts are the counters of paired samples; samples and samples without workers make up the whole.
var jointCounts = []metric.Desc{metric.LoaderWaiting, metric.LoaderIdleSum, metric.LoaderAliveSum,
	metric.LoaderWaitIdle, metric.LoaderWaitAlive, metric.LoaderBlocked, metric.LoaderAhead, metric.LoaderSamples,
	metric.LoaderNoWorkers, metric.LoaderWaitsHere}

// inSeconds rewrites an entity's counts of samples, at the moments of the first track of the whole. Steps without a
// sample are joined to the next one that has some.
func (h history) inSeconds(entity string, whole []*Track, counts []metric.Desc) {
	at := whole[0].At
	taken := make([]float64, len(at)-1)
	for _, t := range whole {
		g, _ := t.Grow(stepsOf(at))
		stat.Add(taken, g)
	}
	moments := at[:1:1]
	var weight []float64 // seconds per sample
	from, samples := 0, 0.0
	for i, n := range taken {
		if samples += n; samples > 0 {
			moments = append(moments, at[i+1])
			weight = append(weight, (at[i+1]-at[from])/samples)
			from, samples = i+1, 0
		}
	}
	seconds := map[*Track][]float64{}
	for _, d := range counts {
		if t := h.Track(d, entity); t != nil {
			growth, _ := t.Grow(stepsOf(moments))
			v := []float64{0}
			for i := range growth {
				v = append(v, v[i]+growth[i]*weight[i])
			}
			seconds[t] = v
		}
	}
	for t, v := range seconds { // all at once: the whole is read while the parts are made
		t.At, t.V = slices.Clone(moments), v
	}
}

// Rises returns the readings at which a total was first and last seen to have grown, 0 where it never was.
func (t *Track) Rises() (first, last float64) {
	for i := 1; t != nil && i < len(t.V); i++ {
		if t.V[i] > t.V[i-1] {
			if last = t.At[i]; first == 0 {
				first = last
			}
		}
	}
	return first, last
}
