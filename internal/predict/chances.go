package predict

import "math/rand/v2"

// cuts is the number of different ways in which a batch's work is cut into slices.
const (
	cuts      = 64
	mostSlice = 4
)

// chances are the chances of one simulation, drawn ahead: the k-th batch is as slow in every setting, so that two settings differ by what
// they do and not by their luck (common random numbers).
type chances struct {
	service []float64                    // factor of the k-th batch's time to make
	step    []float64                    // factor of the k-th step
	cut     [cuts][3 * mostSlice]float64 // parts of storage, other and CPU in each slice; each third sums to 1
}

// newChances draws n steps.
func newChances(seed uint64, n int, service, step Spread, run float64) *chances {
	d := &chances{service: make([]float64, n), step: make([]float64, n)}
	service.draw(rand.New(rand.NewPCG(seed, 1)), d.service, run)
	step.draw(rand.New(rand.NewPCG(seed, 2)), d.step, 0)
	d.shuffleCuts(rand.New(rand.NewPCG(seed, 3)))
	return d
}

// shuffleCuts draws the parts: gaps between uniform points. Equal parts would keep workers in step with each other forever, all waiting
// and then all computing, which the items of a real batch do not.
func (d *chances) shuffleCuts(dice *rand.Rand) {
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
