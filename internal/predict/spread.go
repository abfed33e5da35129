package predict

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
)

// spreadSize is how many values stand for a distribution. 2048 resolve its 99.95 % quantile, and a bootstrap of as
// many is as wide as that of a recording of 2048 batches, which is more than most have.
const spreadSize = 2048

// Spread is how times vary around their mean, as values whose mean is 1. The zero value is times that do not vary.
type Spread struct {
	values []float64
	n      int // measured times behind it; 0 where it was assumed
}

// Measured tells whether times that were measured stand behind it.
func (s Spread) Measured() bool { return s.n > 0 }

// SpreadOfClasses takes a histogram; within a class times are spread evenly on its logarithmic scale. False where
// fewer than two times were counted.
func SpreadOfClasses(classes []stat.Class) (Spread, bool) {
	classes = slices.DeleteFunc(slices.Clone(classes), func(c stat.Class) bool {
		return !(c.Count > 0) || math.IsInf(c.Count, 1)
	})
	slices.SortFunc(classes, func(a, b stat.Class) int { return a.K - b.K })
	total := 0.0
	for _, c := range classes {
		total += c.Count
	}
	if total < 2 {
		return Spread{}, false
	}
	size := int(min(total, spreadSize))
	values := make([]float64, 0, size)
	before := 0.0
	for _, c := range classes {
		for len(values) < size {
			at := (float64(len(values)) + 0.5) / float64(size) * total // rank of the next value
			if at >= before+c.Count {
				break
			}
			values = append(values, c.At((at-before)/c.Count))
		}
		before += c.Count
	}
	return unit(values, int(min(total, math.MaxInt32)))
}

// Lognormal is the spread assumed where only the coefficient of variation (deviation over mean) is known: service
// times of storage and of decoding are skewed to the right. Zero or less is no spread.
func Lognormal(variation float64) Spread {
	if !(variation > 0) || math.IsInf(variation, 1) {
		return Spread{}
	}
	sigma := math.Sqrt(math.Log1p(variation * variation))
	values := make([]float64, spreadSize)
	for i := range values {
		u := (float64(i) + 0.5) / spreadSize
		values[i] = math.Exp(sigma * math.Sqrt2 * math.Erfinv(2*u-1))
	}
	s, _ := unit(values, 0)
	return s
}

// unit scales values to a mean of 1.
func unit(values []float64, n int) (Spread, bool) {
	m := mean(values)
	if len(values) < 2 || !(m > 0) || math.IsInf(m, 1) {
		return Spread{}, false
	}
	for i := range values {
		values[i] /= m
	}
	return Spread{values: values, n: n}, true
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// resample draws another sample of the same size, and says how its mean lies to that of this one.
func (s Spread) resample(dice *rand.Rand) (Spread, float64) {
	if s.n == 0 || len(s.values) == 0 {
		return s, 1
	}
	values := make([]float64, len(s.values))
	for i := range values {
		values[i] = s.values[dice.IntN(len(values))]
	}
	m := mean(values)
	out, ok := unit(values, s.n)
	if !ok { // all of them zero
		return s, 1
	}
	return out, m
}

// draw fills out with factors in random order: whole passes over the values, so that few steps already have the
// distribution's shape. Their mean is exactly 1.
func (s Spread) draw(dice *rand.Rand, out []float64) {
	if len(s.values) == 0 {
		for i := range out {
			out[i] = 1
		}
		return
	}
	deck := slices.Clone(s.values)
	next := len(deck)
	for i := range out {
		if next == len(deck) {
			next = 0
		}
		other := next + dice.IntN(len(deck)-next) // Fisher and Yates, as far as is needed
		deck[next], deck[other] = deck[other], deck[next]
		out[i] = deck[next]
		next++
	}
	if drawn := mean(out); drawn > 0 {
		for i := range out {
			out[i] /= drawn
		}
	}
}
