package predict

import "math/rand/v2"

// cuts is the number of different ways in which a batch's work is cut into slices.
const (
	cuts      = 64
	mostSlice = 4
)

// draws are the random numbers of one simulation, drawn ahead: the k-th batch is as slow in every setting, so that
// two settings differ by what they do and not by their luck (common random numbers).
type draws struct {
	service []float64                    // factor of the k-th batch's time to make
	step    []float64                    // factor of the k-th step; empty: steps do not vary
	cut     [cuts][3 * mostSlice]float64 // parts of storage, other and CPU in each slice; each third sums to 1
}

// newDraws draws for n steps.
func newDraws(seed uint64, n int, service Spread) *draws {
	d := &draws{service: make([]float64, n)}
	service.draw(rand.New(rand.NewPCG(seed, 1)), d.service)
	d.shuffleCuts(rand.New(rand.NewPCG(seed, 3)))
	return d
}

// stepOf is the factor of the k-th step.
func (d *draws) stepOf(k int) float64 {
	if len(d.step) == 0 {
		return 1
	}
	return d.step[k%len(d.step)]
}

// shuffleCuts draws the parts: gaps between uniform points. Equal parts would keep workers in step with each other
// forever, all waiting and then all computing, which the items of a real batch do not.
func (d *draws) shuffleCuts(dice *rand.Rand) {
	for i := range d.cut {
		for kind := range 3 {
			part := d.cut[i][kind*mostSlice : (kind+1)*mostSlice]
			sum := 0.0
			for k := range part {
				part[k] = dice.ExpFloat64()
				sum += part[k]
			}
			for k := range part {
				part[k] /= sum
			}
		}
	}
}
