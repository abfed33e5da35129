package batches

// workerSet is what the workers that live at the same time have handed over, those that have ended.
type workerSet struct {
	tensors  float64
	attached bool // one of them was there before the watch
}

func (s *workerSet) left(l *tensorLedger) {
	s.tensors += l.credited
	s.attached = s.attached || !l.born
}

// regularity is how many batches the last sets of workers made from their birth to their end: as a rule all the same,
// as an epoch has as many batches as the one before.
type regularity struct {
	last [16]float64 // as counted
	n    int
}

// mostMissed is how many batches of a set are missed: of 130 sets of two and four workers, three were short by two, 29
// by one.
const mostMissed = 2

// missed returns how many batches of a set that has ended were not counted. A worker hands its last batch over within
// milliseconds of its end, and the last reading of its writes may be from before. How many they are, the sets show that
// were counted whole, which are not few, where most sets are alike.
func (r *regularity) missed(batches float64) float64 {
	r.last[r.n%len(r.last)] = batches
	r.n++
	count := func(from, to float64) (n int) {
		for _, x := range r.last[:min(r.n, len(r.last))] {
			if from <= x && x <= to {
				n++
			}
		}
		return n
	}
	for whole := batches + mostMissed; whole > batches; whole-- {
		often, alike := count(whole, whole), count(whole-mostMissed, whole)
		if often >= 2 && 2*often >= count(batches, batches) && 2*alike >= min(r.n, len(r.last)) {
			return whole - batches
		}
	}
	return 0
}
