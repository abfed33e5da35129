package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
)

// ModelError is how far the simulation was off in real runs of settings that it had not seen, predicted from one
// launched run of one trainer at another. It is a part of every interval of a plan. docs/calibration.md says how it
// was measured, and how well it held on days and machines that it was not learned from.
var ModelError = predict.Calibration{
	Other:       0.08,
	Pace:        0.25,
	NewPrograms: 0.37,
	Source: "nine of ten real rates were within 8 % of the model, 11 % seen from outside, up to 28 % as far as the " +
		"CPUs' pace decides, 37 % where each epoch starts workers by spawn or forkserver (122 settings, " +
		"docs/calibration.md)",
}

// attachedError is what ModelError.Other is of a job that is watched from outside, where the parts of a step are known
// less closely.
const attachedError = 0.11

// OwnError is the error of the model of a watched job.
func OwnError(e *evidence.Evidence) predict.Calibration {
	own := ModelError
	if !Hooked(e) {
		own.Other = attachedError
	}
	return own
}
