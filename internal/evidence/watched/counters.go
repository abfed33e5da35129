package watched

import (
	"maps"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Grow returns the growth of counters of one entity per window, all together.
func (f *Watch) Grow(entity string, ds ...metric.Desc) []float64 {
	out := make([]float64, len(f.Spans))
	for _, d := range ds {
		g, _ := f.Track(d, entity).Grow(f.Spans)
		stat.Add(out, g)
	}
	return out
}

// Total returns the growth per window of a counter summed over processes, each over its whole life within the window,
// and how long that was, summed too; false means that none of them was ever read.
func (f *Watch) Total(d metric.Desc, of []*Process) (growth, lived []float64, ok bool) {
	growth, lived = make([]float64, len(f.Spans)), make([]float64, len(f.Spans))
	for _, a := range of {
		if t := f.Track(d, a.Entity); t != nil {
			g, l := f.WholeLife(t, a)
			stat.Add(growth, g)
			stat.Add(lived, l)
		}
	}
	return growth, lived, stat.Sum(lived) > 0
}

// leastSeen is how long a process must have been read in a window for its rate there to stand for the rest of its life
// there, in seconds.
const leastSeen = 0.1

// WholeLife returns a counter's growth per window extrapolated to the life of its process, which is nil where it is not
// known. Processes are read twice a second: what a worker did after its last reading would be missing, a quarter of all
// where epochs take a second, and would be put down to processes outside the job.
func (f *Watch) WholeLife(t *Track, a *Process) (growth, lived []float64) {
	growth, seen := t.Grow(f.Spans)
	lived = make([]float64, len(f.Spans))
	mean := stat.Divide(stat.Sum(growth), stat.Sum(seen))
	if !stat.Finite(mean) {
		return growth, lived
	}
	for i, s := range f.Spans {
		lived[i] = s.Length()
		if a != nil {
			lived[i] = max(s.Overlap(Span{a.Born, a.Died}), seen[i])
		}
		if seen[i] >= leastSeen {
			growth[i] *= lived[i] / seen[i]
		} else {
			growth[i] = mean * lived[i]
		}
	}
	return growth, lived
}

// GrowAll is the growth of counters summed, per window, and for how long of each window any of them was read.
func (f *Watch) GrowAll(tracks []*Track) (growth, seen []float64) {
	growth, seen = make([]float64, len(f.Spans)), make([]float64, len(f.Spans))
	for _, t := range tracks {
		g, s := t.Grow(f.Spans)
		stat.Add(growth, g)
		for i := range seen {
			seen[i] = max(seen[i], s[i])
		}
	}
	return growth, seen
}

// Quotient is a ratio of sums over the windows, whose interval tells how epochs differ where the stretch is whole ones.
func (f *Watch) Quotient(num, den []float64) stat.Summary {
	return stat.RatioOfRounds(num, den, int(math.Round(float64(len(f.Spans))/float64(max(f.Epochs, 1)))))
}

// Usual is the median reading of a gauge in the window.
func (f *Watch) Usual(raw metric.Desc, entity string) (float64, bool) {
	return stat.Quantile(f.Track(raw, entity).Within(f.Steady), 0.5)
}

// steadyPeriod is the share of readings a number of tensors per batch must hold to be believed where several were
// reported.
const steadyPeriod = 0.1

// TensorsPerBatch returns how many tensors a batch has. It is found by the repetition of sizes, and what repeats after
// two tensors also does after sixteen: of several answers the smallest that lasted stands.
func (f *Watch) TensorsPerBatch(loader string) (per float64, ok bool) {
	readings, times := f.Track(metric.LoaderTensorsPer, loader).Within(f.Steady), map[float64]float64{}
	for _, n := range readings {
		times[n]++
	}
	for _, n := range slices.Sorted(maps.Keys(times)) {
		if n >= 1 && times[n] >= steadyPeriod*float64(len(readings)) {
			return n, true
		}
	}
	return 0, false
}
