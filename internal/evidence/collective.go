package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// collectives distinguishes, for each rank of a distributed training with a GPU of its own, what its GPU works and what
// it waits in collectives for the data of other ranks. NVML calls both busy.
func (b *builder) collectives() {
	var peers []*rank
	for _, r := range b.ranks {
		if r.Rank != "" && r.step != nil && r.step.Sight == step.Counted && r.waited != nil &&
			!slices.ContainsFunc(peers, r.apartFrom) {
			peers = append(peers, r)
		}
	}
	if len(peers) < 2 {
		return
	}
	for _, r := range peers {
		r.seen.Peers = b.awaits(r, peers)
	}
	for _, r := range peers {
		r.step = new(step.Of(r.seen))
	}
}

// awaits is what a rank's GPU does in collectives with its peers, window by window: the waits of one rank are the work
// of others.
func (b *builder) awaits(r *rank, peers []*rank) step.Peers {
	peers = slices.DeleteFunc(slices.Clone(peers), func(o *rank) bool { return o == r })
	stalls := func(i int) (own float64, others []float64) {
		for _, o := range peers {
			others = append(others, o.stalled(i))
		}
		return r.stalled(i), others
	}
	var differences []float64
	for i := range b.Spans {
		own, others := stalls(i)
		if d := slices.Max(others) - own; stat.Finite(d) {
			differences = append(differences, d)
		}
	}
	spread := deviation(differences)
	least, waits, work := make([]float64, len(b.Spans)), make([]float64, len(b.Spans)), make([]float64, len(b.Spans))
	for i := range b.Spans {
		own, others := stalls(i)
		least[i], waits[i] = step.Awaits(own, others, spread, r.rate.Center*b.Length[i])
		work[i] = r.busy[i] - waits[i]
	}
	p := step.Peers{Known: true, Waits: b.range_(waits), Work: b.trainingMean(r, work)}
	p.Waits.Lo = b.range_(least).Likely
	p.Waits.Hi = p.Waits.Likely
	p.Work.Hi += p.Waits.Likely - p.Waits.Lo
	return p
}

// stalled is the data stall of one window at the most, which is what is likely.
func (r *rank) stalled(i int) float64 {
	return min(stat.Divide(r.waited[i], r.watched[i]), 1-r.busy[i])
}

// inStep is how far the rates of ranks that take their steps together may lie apart beyond their intervals.
const inStep = 1.1

// apartFrom reports that two trainers work on one GPU, or do not take their steps together.
func (r *rank) apartFrom(o *rank) bool {
	if r.rate.N > 0 && o.rate.N > 0 && (r.rate.Lo > o.rate.Hi*inStep || o.rate.Lo > r.rate.Hi*inStep) {
		return true
	}
	return slices.ContainsFunc(r.gpus, func(g string) bool { return slices.Contains(o.gpus, g) })
}

// deviation is the standard deviation of a sample; 0 of fewer than two.
func deviation(xs []float64) float64 {
	n := float64(len(xs))
	if n < 2 {
		return 0
	}
	squares := 0.0
	for _, x := range xs {
		squares += (x - stat.Sum(xs)/n) * (x - stat.Sum(xs)/n)
	}
	return math.Sqrt(squares / (n - 1))
}
