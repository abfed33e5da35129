package evidence

import (
	"maps"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// grow returns the growth of counters of one entity per window, all together.
func (f *frame) grow(entity string, ds ...metric.Desc) []float64 {
	out := make([]float64, len(f.spans))
	for _, d := range ds {
		g, _ := f.of(d, entity).grow(f.spans)
		stat.Add(out, g)
	}
	return out
}

// total returns the growth per window of a counter summed over processes, each over its whole life within the window,
// and how long that was, summed too; false means that none of them was ever read.
func (f *frame) total(d metric.Desc, of []*process) (growth, lived []float64, ok bool) {
	growth, lived = make([]float64, len(f.spans)), make([]float64, len(f.spans))
	for _, a := range of {
		if t := f.of(d, a.entity); t != nil {
			g, l := f.wholeLife(t, a)
			stat.Add(growth, g)
			stat.Add(lived, l)
		}
	}
	return growth, lived, stat.Sum(lived) > 0
}

// leastSeen is how long a process must have been read in a window for its rate there to stand for the rest of its life
// there, in seconds.
const leastSeen = 0.1

// wholeLife returns a counter's growth per window extrapolated to the life of its process, which is nil where it is not
// known. Processes are read twice a second: what a worker did after its last reading would be missing, a quarter of all
// where epochs take a second, and would be put down to processes outside the job.
func (f *frame) wholeLife(t *track, a *process) (growth, lived []float64) {
	growth, seen := t.grow(f.spans)
	lived = make([]float64, len(f.spans))
	mean := stat.Divide(stat.Sum(growth), stat.Sum(seen))
	if !stat.Finite(mean) {
		return growth, lived
	}
	for i, s := range f.spans {
		lived[i] = s.length()
		if a != nil {
			lived[i] = max(s.overlap(span{a.born, a.died}), seen[i])
		}
		if seen[i] >= leastSeen {
			growth[i] *= lived[i] / seen[i]
		} else {
			growth[i] = mean * lived[i]
		}
	}
	return growth, lived
}

// growAll is the growth of counters summed, per window, and for how long of each window any of them was read.
func (f *frame) growAll(tracks []*track) (growth, seen []float64) {
	growth, seen = make([]float64, len(f.spans)), make([]float64, len(f.spans))
	for _, t := range tracks {
		g, s := t.grow(f.spans)
		stat.Add(growth, g)
		for i := range seen {
			seen[i] = max(seen[i], s[i])
		}
	}
	return growth, seen
}

// quotient is a ratio of sums over the windows, whose interval tells how epochs differ where the stretch is whole ones.
func (f *frame) quotient(num, den []float64) stat.Summary {
	return stat.RatioOfRounds(num, den, int(math.Round(float64(len(f.spans))/float64(max(f.Epochs, 1)))))
}

// usual is the median reading of a gauge in the window.
func (f *frame) usual(raw metric.Desc, entity string) (float64, bool) {
	return stat.Quantile(f.of(raw, entity).within(f.steady), 0.5)
}

// steadyPeriod is the share of readings a number of tensors per batch must hold to be believed where several were
// reported.
const steadyPeriod = 0.1

// tensorsPerBatch returns how many tensors a batch has. It is found by the repetition of sizes, and what repeats after
// two tensors also does after sixteen: of several answers the smallest that lasted stands.
func (f *frame) tensorsPerBatch(loader string) (per float64, ok bool) {
	readings, times := f.of(metric.LoaderTensorsPer, loader).within(f.steady), map[float64]float64{}
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
