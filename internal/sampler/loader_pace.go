package sampler

import (
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// sampleJitter spreads the time between samples evenly by this share to both sides, so that samples cannot fall
	// into step with the job.
	sampleJitter = 0.3
	// sampleBudget is the share of one core that the passes themselves may take; waking up for them costs about as much
	// again. A busy machine makes each read costlier, and then
	// the samples rarer.
	sampleBudget = 0.003
	// slowestSampling: rarer samples would see too little of a 30 s watch (150 samples tell a share to within 8
	// points).
	slowestSampling = 200 * time.Millisecond
)

// samplePace decides when the next sample is due, and lowers the rate of a job with so many threads that sampling costs
// more than its budget.
type samplePace struct {
	random   *rand.Rand
	interval time.Duration     // mean
	least    time.Duration     // where samples are cheap
	sum      time.Duration     // of the passes of a round
	done     int               // passes of this round
	recent   [16]time.Duration // rounds
	n        int
	planned  float64       // samples that the time until last has room for
	last     time.Duration // pass
}

// passes counts what was planned until a pass at now: the time gone by in intervals of the pace then, however late the
// pass comes.
func (p *samplePace) passes(now time.Duration) {
	p.planned += float64(now-p.last) / float64(p.interval)
	p.last = now
}

func (p *samplePace) next() time.Duration {
	return time.Duration(float64(p.interval) * (1 + sampleJitter*(2*p.random.Float64()-1)))
}

// took takes what one pass lasted, of which so many in a row make a round that samples everything. The lower quartile
// of the last rounds decides: one that was preempted lasts long and cost little.
func (p *samplePace) took(d time.Duration, round int) {
	p.sum += d
	if p.done++; p.done < round {
		return
	}
	p.recent[p.n%len(p.recent)] = p.sum / time.Duration(p.done)
	p.sum, p.done = 0, 0
	p.n++
	if p.n%len(p.recent) != 0 {
		return
	}
	sorted := p.recent
	slices.Sort(sorted[:])
	cost := sorted[len(sorted)/4]
	p.interval = min(max(p.least, time.Duration(float64(cost)/sampleBudget)), slowestSampling)
}

// listingPace spreads the listings of descriptors over the workers.
type listingPace struct {
	slower   bool          // half as often
	next     time.Duration // when the next is due
	turn     int
	searched int // listings at the faster pace
	recent   [4]time.Duration
	n        int
}

const (
	// listAllEvery is the time between two listings, of one worker each: 8 a second for all workers together. A listing
	// of a worker with 30 descriptors takes some 60 µs (Linux 6.18).
	listAllEvery = 125 * time.Millisecond
	// listKnownEvery is that time once the tensors per batch are known: then the listings tell how deep the queue is,
	// and keep the count by write calls to the numbers of the tensors.
	listKnownEvery = 250 * time.Millisecond
	// listOneEvery bounds how often one worker is listed.
	listOneEvery = 200 * time.Millisecond
	// listSearchEvery holds for a loader whose tensors per batch are not known yet, and for at most searchListings
	// listings.
	listSearchEvery = 40 * time.Millisecond
	searchListings  = 400
	// listBudget is the share of one core that listings may take: 20,000 descriptors take 86 ms.
	listBudget = 0.002
	// listUnsure is the longest wait while fewer listings were timed than are compared: a first one that is held up for
	// 12 ms on a busy machine would leave a watch of 6 s without a second, and so without a count of batches.
	listUnsure = 500 * time.Millisecond
)

// after sets when the next listing is due. Of the last ones the shortest says what they cost: one that was preempted
// lasts long and cost little.
func (p *listingPace) after(now, cost time.Duration, workers int, searching, known bool, random *rand.Rand) {
	wait := listAllEvery
	switch {
	case known:
		wait = listKnownEvery
	case workers < 2:
		wait = listOneEvery
	}
	if searching && p.searched < searchListings {
		p.searched++
		wait = listSearchEvery
	}
	if p.slower {
		wait *= 2
	}
	p.recent[p.n%len(p.recent)] = cost
	p.n++
	costly := time.Duration(float64(slices.Min(p.recent[:min(p.n, len(p.recent))])) / listBudget)
	if p.n < len(p.recent) {
		costly = min(costly, listUnsure)
	}
	wait = max(wait, costly)
	p.next = now + time.Duration(float64(wait)*(1+sampleJitter*(2*random.Float64()-1)))
}
