package diagnose

import "github.com/pipetune/pipetune/internal/predict"

// How far the simulation was off in runs that it had not seen, by what the items of a dataset mostly do. It is a part of every interval.
var (
	whereItemsWait = predict.Calibration{Error: 0.025,
		Source: "nine of ten of 49 runs whose items wait were within 2.5 % (PyTorch 1.13 and 2.14, 2 CPUs)"}
	whereItemsCompute = predict.Calibration{Error: 0.12,
		Source: "runs whose items compute were 1 to 12 % off, and few they were (PyTorch 1.13, 2 CPUs)"}
)

// calibrationOf is the one that fits a loader's costs.
func calibrationOf(p predict.Pipeline) predict.Calibration {
	if p.CPU.Center > p.Wait.Center {
		return whereItemsCompute
	}
	return whereItemsWait
}
