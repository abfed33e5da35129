package predict

import "math"

// Pause is what interrupts training in the middle of its epochs while its workers go on: an evaluation every so many
// steps. They make the batches that are asked of them already, num_workers × prefetch_factor at the most, and these
// are there at once when training goes on. The zero value is none. What lies between two epochs is no pause: then
// nothing is asked of the workers.
//
// Rates are of training, without the time in pauses.
type Pause struct {
	Every  float64 // steps from one to the next, at least 1; 0 = there are none
	Length float64 // seconds with the cores it needs at hand
	// seconds of CPU of the trainer, and of workers that are only at work then; above Length where they are several
	// threads
	CPU float64
}

// mostApart is how many steps may lie between two pauses for them to be simulated. The queue of 16 workers with 2
// batches each is 0.6 % of so many.
const mostApart = 5000

// Simulated reports whether pauses are simulated.
func (p Pause) Simulated() bool {
	return p.Every >= 1 && p.Every <= mostApart && p.Length > 0 && p.Length <= longest && known(p.CPU) <= longest
}

// parts are a pause as it is simulated: the trainer computes, on so many cores, and then waits for the rest.
func (p Pause) parts() (computing, rest, threads float64) {
	computing = min(known(p.CPU), p.Length)
	return computing, p.Length - computing, max(known(p.CPU)/p.Length, 1)
}

// after tells whether a pause follows the n-th step.
func (p Pause) after(n int) bool {
	return p.Simulated() && math.Floor(float64(n)/p.Every) > math.Floor(float64(n-1)/p.Every)
}

// whole is the most steps up to n that hold a whole number of pauses; n where there are none, or none in so few.
func (p Pause) whole(n int) int {
	if !p.Simulated() || float64(n) < p.Every {
		return n
	}
	return int(math.Round(math.Floor(float64(n)/p.Every) * p.Every))
}

// lift raises the bounds of what goes on in pauses: of every steps that a bound allows, those that were made in the
// pause before cost training no time. That is as long as the pause, or as a full queue takes. stretch is how much
// longer a pause takes that shares the cores.
func (p Pause) lift(all []Bound, queue int, stretch float64) []Bound {
	if !p.Simulated() || queue <= 0 {
		return all
	}
	length := p.Length * max(stretch, 1)
	out := all[:0]
	for _, b := range all {
		if b.Term == Workers || b.Term == CPUs || b.Term == Storage || b.Term == Lock {
			left := p.Every/b.Rate - min(length, float64(queue)/b.Rate)
			if !(left > 0) {
				continue // all that it allows is there before training goes on
			}
			b.Rate = p.Every / left
		}
		out = append(out, b)
	}
	return out
}
