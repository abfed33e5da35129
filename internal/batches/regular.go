package batches

import "slices"

// workerSet is what the workers that live at the same time have handed over, those that have ended.
type workerSet struct {
	tensors  float64
	workers  int
	attached bool // one of them was there before the watch
}

func (s *workerSet) left(l *tensorLedger) {
	s.tensors += l.credited
	s.workers++
	s.attached = s.attached || !l.born
}

// regularity is how many batches the last sets of workers made from their birth to their end: as a rule all the same,
// as an epoch has as many batches as the one before.
type regularity struct {
	last [16]float64 // as counted
	n    int
}

// missed returns how many batches of a set that has ended were not counted. A worker hands its last batch over within
// milliseconds of its end, and that is often missed; so a set may be short by one of each worker. Of sets that were
// counted whole some show how many there are.
func (r *regularity) missed(batches float64, workers int) float64 {
	r.last[r.n%len(r.last)] = batches
	r.n++
	seen := slices.Sorted(slices.Values(r.last[:min(r.n, len(r.last))]))
	for i := len(seen) - 1; i > 0 && seen[i] > batches; i-- {
		if seen[i] == seen[i-1] && seen[i]-batches <= float64(workers) { // twice: once may be a mistake
			return seen[i] - batches
		}
	}
	return 0
}
