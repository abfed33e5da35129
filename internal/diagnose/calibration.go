package diagnose

import "github.com/pipetune/pipetune/internal/predict"

// ModelError is how far the simulation was off in real runs of settings that it had not seen, predicted from one run
// at another. It is a part of every interval of a plan. docs/calibration.md tells how it was measured, and how well
// it held in runs that it was not learned from.
var ModelError = predict.Calibration{
	Other:       0.064,
	NewPrograms: 0.214,
	Source:      "72 settings of real DataLoaders on 2 CPUs without a GPU (PyTorch 1.13): beyond what the watched run leaves open, nine of ten were within 6.4 %, and within 21.4 % where each epoch starts its workers anew by spawn or forkserver (docs/calibration.md)",
}
