package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// track is one signal of one entity in order of time, in seconds since the recording's start. A nil track has no
// readings.
type track struct {
	entity string
	at, v  []float64
	resets int // steps at which a counter ran backwards that never should; builder.idle reports one that may
}

// span is a stretch of time in seconds since the recording's start.
type span struct{ from, to float64 }

func (s span) length() float64 { return max(s.to-s.from, 0) }

// and is what two spans have in common, or an empty one within the first.
func (s span) and(o span) span {
	from := min(max(s.from, o.from), s.to)
	return span{from, max(min(s.to, o.to), from)}
}

// overlap returns how long two spans have in common.
func (s span) overlap(o span) float64 { return max(min(s.to, o.to)-max(s.from, o.from), 0) }

// history holds every track of a recording.
type history struct {
	signals map[string][]*track // by signal; entities are sorted, so that sums are made in the same order each time
	index   map[trackKey]*track
}

type trackKey struct{ signal, entity string }

// readHistory takes the series of a recording apart. A recording from a file may hold anything: readings that are not
// finite or lie outside the watch are left out, the rest is put in order, and of several at one time the last stands.
func readHistory(series []recording.Series) history {
	h := history{signals: map[string][]*track{}, index: map[trackKey]*track{}}
	kinds := map[string]metric.Kind{}
	for _, d := range metric.Raw() {
		kinds[d.Name] = d.Kind
	}
	for _, s := range series {
		kind, known := kinds[s.Metric]
		if !known || len(s.Points) == 0 {
			continue
		}
		t := &track{entity: s.Entity, at: make([]float64, 0, len(s.Points)), v: make([]float64, 0, len(s.Points))}
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
			if n := len(t.at); n > 0 && t.at[n-1] == at {
				t.v[n-1] = p.Value
				continue
			}
			t.at, t.v = append(t.at, at), append(t.v, p.Value)
		}
		if len(t.at) == 0 {
			continue
		}
		if kind == metric.Counter && s.Metric != metric.CPUIowait.Name {
			for i := 1; i < len(t.v); i++ {
				if t.v[i] < t.v[i-1] {
					t.resets++
				}
			}
		}
		h.signals[s.Metric] = append(h.signals[s.Metric], t)
	}
	for signal, tracks := range h.signals {
		slices.SortStableFunc(tracks, func(a, b *track) int { return cmp.Compare(a.entity, b.entity) })
		for _, t := range slices.Backward(tracks) { // of two with one name the first stands
			h.index[trackKey{signal, t.entity}] = t
		}
	}
	return h
}

func byTime(a, b recording.Point) int { return cmp.Compare(a.At, b.At) }

// of returns the track of one entity, nil where there is none.
func (h history) of(d metric.Desc, entity string) *track { return h.index[trackKey{d.Name, entity}] }

// all returns the tracks of a signal in order of their entities.
func (h history) all(d metric.Desc) []*track { return h.signals[d.Name] }

// grown is how much counters of one entity grew in a span, all together.
func (h history) grown(entity string, s span, ds ...metric.Desc) (all float64) {
	if s.length() == 0 { // as most windows have nothing of a restart
		return 0
	}
	for _, d := range ds {
		all += h.of(d, entity).grown(s)
	}
	return all
}

// grow returns by how much a counter grew in each span, and for how long of each span it was seen. Between readings it
// is taken to grow evenly. A step backwards (wrap, reuse of a name) is no growth, and that stretch counts as not seen.
func (t *track) grow(spans []span) (growth, seen []float64) {
	growth, seen = make([]float64, len(spans)), make([]float64, len(spans))
	if t == nil || len(spans) == 0 {
		return growth, seen
	}
	first, _ := slices.BinarySearch(t.at, spans[0].from)
	first = max(first, 1)
	for k, s := range spans {
		for first < len(t.at) && t.at[first] <= s.from {
			first++
		}
		for i := first; i < len(t.at) && t.at[i-1] < s.to; i++ {
			step := t.v[i] - t.v[i-1]
			common := s.overlap(span{t.at[i-1], t.at[i]})
			if step < 0 || common <= 0 {
				continue
			}
			growth[k] += step * (common / (t.at[i] - t.at[i-1]))
			seen[k] += common
		}
	}
	return growth, seen
}

// grown is by how much a counter grew in a single span.
func (t *track) grown(s span) float64 {
	growth, _ := t.grow([]span{s})
	return growth[0]
}

// within returns the readings in a span, or the last one before it where there is none: what changes seldom is read
// seldom.
func (t *track) within(s span) []float64 {
	if t == nil {
		return nil
	}
	from, _ := slices.BinarySearch(t.at, s.from)
	to, exact := slices.BinarySearch(t.at, s.to)
	if exact {
		to++
	}
	if from < to {
		return t.v[from:to]
	}
	if from > 0 {
		return t.v[from-1 : from]
	}
	return nil
}

// in returns the readings in a span without its end.
func (t *track) in(s span) []float64 {
	if t == nil {
		return nil
	}
	from, _ := slices.BinarySearch(t.at, s.from)
	to, _ := slices.BinarySearch(t.at, s.to)
	return t.v[from:max(from, to)]
}

// means returns the mean reading in each span, NaN where there was none.
func (t *track) means(spans []span) []float64 {
	return stat.Each(len(spans), func(k int) float64 {
		readings := t.in(spans[k])
		return stat.Divide(stat.Sum(readings), float64(len(readings)))
	})
}

// steps returns the spans between readings, in order; the i-th ends at reading i+1.
func (t *track) steps() []span {
	if t == nil {
		return nil
	}
	return stepsOf(t.at)
}

// stepsBetween returns those of the steps that reach into a stretch.
func (t *track) stepsBetween(from, to float64) []span {
	if t == nil {
		return nil
	}
	first, _ := slices.BinarySearch(t.at, from)
	last, _ := slices.BinarySearch(t.at, to)
	first = max(first-1, 0)
	return stepsOf(t.at[first:max(min(last+1, len(t.at)), first)])
}

// stepsOf returns the spans between moments.
func stepsOf(at []float64) []span {
	return stat.Each(max(len(at)-1, 0), func(i int) span { return span{at[i], at[i+1]} })
}

// last returns the time of the last reading, 0 for a nil track.
func (t *track) last() float64 {
	if t == nil {
		return 0
	}
	return t.at[len(t.at)-1]
}

// lastBefore returns the time of the last reading before a moment, -1 where there is none.
func (t *track) lastBefore(at float64) float64 {
	if t == nil {
		return -1
	}
	i, _ := slices.BinarySearch(t.at, at)
	if i == 0 {
		return -1
	}
	return t.at[i-1]
}

// aboveZero is the place of a counter's first reading above zero; -1 where there is none.
func (t *track) aboveZero() int { return slices.IndexFunc(t.v, func(v float64) bool { return v > 0 }) }

// skipTo leaves out what was read before a moment; a track that ends before stays as it is.
func (t *track) skipTo(at float64) {
	t.skip(slices.IndexFunc(t.at, func(x float64) bool { return x >= at }))
}

// skip leaves out so many readings, none where that is below 0.
func (t *track) skip(n int) {
	if n > 0 {
		t.at, t.v = t.at[n:], t.v[n:]
	}
}

// begin puts a reading of zero before the first: a counter of a process that was born in the watch began there at
// nothing.
func (t *track) begin(at float64) {
	if t != nil && at < t.at[0] && t.v[0] >= 0 {
		t.at, t.v = slices.Insert(t.at, 0, at), slices.Insert(t.v, 0, 0)
	}
}

// with makes one signal of two that were read together, at the moments at which both were; nil where one is.
func (t *track) with(o *track, of func(v, other float64) float64) *track {
	if t == nil || o == nil {
		return nil
	}
	out := &track{entity: t.entity}
	for i, at := range t.at {
		if j, read := slices.BinarySearch(o.at, at); read {
			out.at, out.v = append(out.at, at), append(out.v, of(t.v[i], o.v[j]))
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
	all := h.all(metric.ThreadSamples)
	for _, total := range all {
		h.index[trackKey{sampleCounts.Name, total.entity}] = &track{entity: total.entity, at: total.at,
			v: slices.Clone(total.v)}
	}
	for _, total := range all {
		whole := total
		if trainer, ok := strings.CutPrefix(total.entity, "taker/"); ok {
			// sampled with the main thread, as long as it is there and known
			if main := h.of(sampleCounts, "process/"+trainer); main != nil {
				whole = main
			}
		}
		h.inSeconds(total.entity, []*track{whole}, metric.Threads)
	}
	for _, joint := range h.all(metric.LoaderSamples) {
		h.inSeconds(joint.entity, []*track{joint, h.of(metric.LoaderNoWorkers, joint.entity)}, jointCounts)
	}
}

// sampleCounts is where the plain count of samples is kept.
var sampleCounts = metric.Desc{Name: "samples taken"}

// jointCounts are the counters of paired samples; samples and samples without workers make up the whole.
var jointCounts = []metric.Desc{metric.LoaderWaiting, metric.LoaderIdleSum, metric.LoaderAliveSum,
	metric.LoaderWaitIdle, metric.LoaderWaitAlive, metric.LoaderBlocked, metric.LoaderAhead, metric.LoaderSamples,
	metric.LoaderNoWorkers}

// inSeconds rewrites an entity's counts of samples, at the moments of the first track of the whole. Steps without a
// sample are joined to the next one that has some.
func (h history) inSeconds(entity string, whole []*track, counts []metric.Desc) {
	at := whole[0].at
	taken := make([]float64, len(at)-1)
	for _, t := range whole {
		g, _ := t.grow(stepsOf(at))
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
	seconds := map[*track][]float64{}
	for _, d := range counts {
		if t := h.of(d, entity); t != nil {
			growth, _ := t.grow(stepsOf(moments))
			v := []float64{0}
			for i := range growth {
				v = append(v, v[i]+growth[i]*weight[i])
			}
			seconds[t] = v
		}
	}
	for t, v := range seconds { // all at once: the whole is read while the parts are made
		t.at, t.v = slices.Clone(moments), v
	}
}

// rises returns the readings at which a total was first and last seen to have grown, 0 where it never was.
func (t *track) rises() (first, last float64) {
	for i := 1; t != nil && i < len(t.v); i++ {
		if t.v[i] > t.v[i-1] {
			if last = t.at[i]; first == 0 {
				first = last
			}
		}
	}
	return first, last
}
