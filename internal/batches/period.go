package batches

import (
	"math"
	"slices"
)

// Finding the tensors per batch from outside. Four things tell, and none alone is enough:
//
//   - Workers make and the trainer takes tensors in order, so the smallest number a worker holds is the first of a
//     batch, but for the instants in which a batch is half received, and the largest is the last of one, but while a
//     batch is half made: the numbers sit on a grid whose step is the tensors per batch.
//   - Each batch costs the worker one write call on the result pipe, and each tensor a fixed number of writes in the
//     exchange that passes its descriptor (multiprocessing/resource_sharer.py and connection.py) or registers its name
//     (torch_shm_manager). Measured with torch 1.13.1 on Python 3.11: 4T+1 writes for T tensors per batch with the
//     file_descriptor strategy (T = 1, 2, 5: 5.00, 9.00, 21.0), 3T+1 with file_system (T = 2, 3: 7.00, 10.0). So writes
//     over tensors is 4+1/T or 3+1/T, where the dataset itself writes nothing.
//   - Between two batches, therefore, a worker's count of writes sits on a grid whose step is 4T+1 or 3T+1.
//   - The sizes repeat with that step, where batches are of one size.
const (
	maxPeriod = 64 // tensors per batch looked for; graph and detection batches have some 10 to 30
	// longestPeriod bounds those that are looked for where neither sizes nor writes tell that they are few: a list of
	// tensors for each sample makes hundreds. Of 225 the divisor 45 fits as well, and five times as many batches would
	// be counted.
	longestPeriod = 1024
	// anchored is the share of sightings assumed to fall on the grid; the rest is taken as evenly spread. Chosen low: a
	// starved loader with small tensors was seen with a third of the sightings off the grid.
	anchored = 0.7
	// decideMargin and changeMargin are log-likelihoods by which the best step must lead to be believed (e^5 = 150 to
	// 1), and by which another one must lead to replace it.
	decideMargin = 5.0
	changeMargin = 6.0
	// parsimony is the handicap of each further tensor, which decides between a step and its multiples where nothing
	// else does.
	parsimony = 0.05
	// writesSpread is the standard deviation assumed of writes per tensor at best; a step is reported from the next up
	// to T = 6.
	writesSpread = 0.006
)

// The writes each tensor costs the worker, beside the one of its batch, by sharing strategy.
const (
	writesPerSharedDescriptor = 4.0
	writesPerSharedName       = 3.0
)

// tensorPeriod is the decision about the tensors per batch of one loader; 0 = undecided.
type tensorPeriod struct {
	tensors int
	scores  [longestPeriod + 1]float64
}

// periodEvidence is what a decision is drawn from.
type periodEvidence struct {
	// grids are the first and last numbers held, one list per worker; anchors are the first numbers of workers seen
	// from birth, -1 otherwise.
	grids   [][]int64
	anchors []int64
	// writes over tensors, both summed over workers between their first and last sighting; tensors = 0 means unknown.
	writes, tensors, batchesLost float64
	perTensor                    float64 // writesPerShared…
	// counts are the counts of writes that were read of each worker and differed; of so many readings so many moved on.
	counts          [][]int64
	readings, moves int
	// repeats tells the smallest step at which sizes repeat, and 0 where they do not or are all the same.
	repeats int
}

// decide weighs the evidence.
func (p *tensorPeriod) decide(e *periodEvidence) {
	best, second := 0, 0
	weigh := func(t int) {
		score := -parsimony * float64(t)
		if e.repeats > 0 && t%e.repeats != 0 {
			score -= 100
		}
		for i, grid := range e.grids {
			score += gridScore(grid, e.anchors[i], int64(t))
		}
		score += e.writesScore(t)
		p.scores[t] = score
		switch {
		case best == 0 || score > p.scores[best]:
			best, second = t, best
		case second == 0 || score > p.scores[second]:
			second = t
		}
	}
	for t := 1; t <= maxPeriod; t++ {
		weigh(t)
	}
	many := 0
	if e.repeats == 0 && e.mayBeMany() {
		many = best
		for t := maxPeriod/many*many + many; t <= longestPeriod; t += many {
			weigh(t)
		}
	}
	if p.tensors > maxPeriod && (many == 0 || p.tensors%many != 0) {
		weigh(p.tensors)
	}
	switch lead := p.scores[best] - p.scores[second]; {
	case p.tensors == 0 && lead >= decideMargin:
		p.tensors = best
	case p.tensors != 0 && best != p.tensors && lead >= decideMargin &&
		p.scores[best]-p.scores[p.tensors] >= changeMargin:
		p.tensors = best
	}
}

// mayBeMany reports whether the writes allow more than maxPeriod tensors per batch.
func (e *periodEvidence) mayBeMany() bool {
	ratio := e.writes/max(e.tensors, 1) - e.perTensor
	return e.tensors >= 4 && ratio <= 1.0/maxPeriod+2*writesSpread
}

// countsScore is the log-likelihood that the workers' counts of writes sit on a grid, whose step is what a batch of t
// tensors takes, over that of being spread evenly, as where the dataset writes, too. Of a starved loader, few of whose
// tensors are ever sighted, most counts lie between two batches. With a queue that fills and empties, batches are put
// on the pipe before their tensors are taken, and the counts may tell nothing. Nor do they where each reading finds new
// ones: five batches of two tensors between any two readings would pass for one of eleven.
func (e *periodEvidence) countsScore(t int) float64 {
	const (
		enough = 6 // moves; programs that a worker runs are known by then
		quiet  = 2 // readings for each move
	)
	if e.moves < enough || e.readings < quiet*e.moves {
		return 0
	}
	score := 0.0
	for _, counts := range e.counts {
		score += gridScore(counts, -1, int64(e.perTensor)*int64(t)+1)
	}
	return max(score, 0)
}

// gridScore is the log-likelihood that the numbers sit on a grid of the given step, over that of being spread evenly.
func gridScore(numbers []int64, anchor, step int64) float64 {
	if len(numbers) == 0 || step == 1 {
		return 0
	}
	residue, free := anchor%step, 0 // an anchor below 0 is none
	if anchor < 0 {
		residue = commonResidue(numbers, step)
		free = 1 // the grid's own place was read off the numbers: one of them proves nothing
	}
	on, off := -free, 0
	for _, n := range numbers {
		switch {
		case n == anchor: // on every grid
		case n%step == residue:
			on++
		default:
			off++
		}
	}
	return float64(on)*math.Log(anchored*float64(step)+1-anchored) + float64(off)*math.Log(1-anchored)
}

func commonResidue(numbers []int64, step int64) int64 {
	var room [writesPerSharedDescriptor*maxPeriod + 1]int
	seen := room[:]
	if step > int64(len(room)) {
		seen = make([]int, step)
	}
	best := int64(0)
	for _, n := range numbers {
		r := n % step
		if seen[r]++; seen[r] > seen[best] {
			best = r
		}
	}
	return best
}

// writesScore is the log-likelihood of the workers' writes, both of their counts and of the writes per tensor, or 0
// where the latter fit no step: then the dataset writes, too.
func (e *periodEvidence) writesScore(t int) float64 {
	if e.tensors < 4 {
		return e.countsScore(t)
	}
	ratio := e.writes/e.tensors - e.perTensor
	// Each worker's first and last sighting may lie anywhere between a batch's first tensor and its last write.
	spread := max(writesSpread, e.batchesLost*(e.perTensor*float64(t)+1)/e.tensors)
	if e.perTensor == 0 || ratio < -2*spread || ratio > 1+2*spread {
		return 0
	}
	z := (ratio - 1/float64(t)) / spread
	return e.countsScore(t) - min(z*z/2, 20) - math.Log(spread)
}

// repeatingSizes returns the smallest step at which the sizes of a worker's tensors repeat; 0 where all are alike, too
// few were seen or they do not repeat.
func repeatingSizes(ledgers []*tensorLedger) int {
	// enough is how many tensors must agree with an earlier one of the same place; with fewer, variable sizes repeat by
	// chance.
	const enough = 12
	for step := 1; step <= maxPeriod; step++ {
		compared, agree := 0, 0
		for _, l := range ledgers {
			c, a := l.repeats(step)
			compared, agree = compared+c, agree+a
		}
		// One in twenty may differ, for the last batch of an epoch may be smaller, and one more: a single size that
		// was read amiss would leave but steps so long that they hardly compare any.
		if compared >= enough && compared-agree <= 1+compared/20 {
			if step == 1 {
				return 0
			}
			return step
		}
	}
	return 0
}

// repeats compares the known sizes with the one that most have at the same place of the step. A size that was read
// amiss, as of a descriptor that just became another's, differs from the others and not they from it.
func (l *tensorLedger) repeats(step int) (compared, agree int) {
	var most [maxPeriod]int64 // by the vote of Boyer and Moore: what more than half have
	var votes, known, same [maxPeriod]int
	for _, s := range l.sizes {
		place := s.number % int64(step)
		switch {
		case s.bytes == 0:
		case votes[place] == 0:
			most[place], votes[place] = s.bytes, 1
		case most[place] == s.bytes:
			votes[place]++
		default:
			votes[place]--
		}
	}
	for _, s := range l.sizes {
		if place := s.number % int64(step); s.bytes != 0 {
			if known[place]++; s.bytes == most[place] {
				same[place]++
			}
		}
	}
	for place := range step {
		compared, agree = compared+max(known[place]-1, 0), agree+max(same[place]-1, 0)
	}
	return compared, agree
}

// batchBytes returns the median size of the batches whose tensors were all seen, else the sum of each tensor's median
// size; false where some tensor of a batch was never seen.
func batchBytes(ledgers []*tensorLedger, tensors int) (int64, bool) {
	var sums []int64
	byPlace := make([][]int64, tensors)
	for _, l := range ledgers {
		first, ok := l.gridStart(int64(tensors))
		if !ok {
			continue
		}
		for _, s := range l.sizes {
			if s.bytes == 0 || s.number < first {
				continue
			}
			place := (s.number - first) % int64(tensors)
			byPlace[place] = append(byPlace[place], s.bytes)
			if place != 0 {
				continue
			}
			sum := int64(0)
			for k := range int64(tensors) {
				b := l.size(s.number + k)
				if b == 0 {
					sum = -1
					break
				}
				sum += b
			}
			if sum > 0 {
				sums = append(sums, sum)
			}
		}
	}
	const enough = 3
	if len(sums) >= enough {
		return medianBytes(sums), true
	}
	total := int64(0)
	for _, sizes := range byPlace {
		if len(sizes) < enough {
			return 0, false
		}
		total += medianBytes(sizes)
	}
	return total, true
}

// gridStart returns the number of the first tensor of some batch at or after which sizes are to be read.
func (l *tensorLedger) gridStart(tensors int64) (int64, bool) {
	if l.born && l.sighted {
		return l.base, true
	}
	if len(l.held) == 0 {
		return 0, false
	}
	return commonResidue(l.held, tensors), true
}

func medianBytes(v []int64) int64 {
	slices.Sort(v)
	return v[len(v)/2]
}
