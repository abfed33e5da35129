package diagnose

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
)

// How far the simulation was off in real runs of settings that it had not seen, predicted from one run of one trainer
// at another: on a machine of which a hypervisor takes nothing, and for each share of the CPU time it wants that one
// usually takes. docs/calibration.md says what they were chosen by.
const (
	evenError   = 0.036
	stolenError = 1.1
	evenPace    = 0.06
	stolenPace  = 4
)

// unknownSteal is what a machine is taken to lose where that is not known: as much as the more uneven one of those that
// were measured.
const unknownSteal = 0.045

// ModelError is the error of the model on a machine that was not watched.
var ModelError = errorOn(unknownSteal, "an uneven machine, as what a hypervisor takes of this one is not known")

// OwnError is the error of the model of a watched job.
func OwnError(e *evidence.Evidence) predict.Calibration {
	steal, ok := e.Get(metric.StealUsual)
	if !ok {
		return ModelError
	}
	return errorOn(steal.Center, "machines that lose as much to their hypervisor as this one, as far as two tell")
}

// errorOn is the error on a machine that usually loses such a share of the CPU time that it wants.
func errorOn(steal float64, machines string) predict.Calibration {
	c := predict.Calibration{Model: math.Hypot(evenError, stolenError*steal), Pace: math.Hypot(evenPace,
		stolenPace*steal)}
	c.Source = fmt.Sprintf("nine of ten real rates were within %s of the model, %s where computing decides, on %s "+
		"(122 settings, docs/calibration.md)", unit.Percent(c.Model), unit.Percent(c.Of(predict.Exposure{Pace: 1})),
		machines)
	return c
}
