//go:build reliability

package reliability

import "slices"

// faultTrials are those of faults in what pipetune reads, writes and is reported, in the order of their ids.
func faultTrials() []trial {
	return slices.Concat(
		stoppedTrials,      // F3, F7
		unseenTrials,       // F10
		endTrials,          // F4
		reuseTrials,        // F5
		surroundingsTrials, // F2, F6, F15
		outputTrials,       // F8
		terminalTrials,     // F14
	)
}
