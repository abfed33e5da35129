//go:build reliability

package reliability

import "slices"

// childTrials are those about pipetune's own children: what happens to them, and what they may do.
func childTrials() []trial {
	return slices.Concat(
		mountTrials(),  // F1
		gpuTrials,      // F12
		confinedTrials, // A6
		harmlessTrials, // H3
		callerTrials,   // H11
		helperTrials,   // F9, F13
	)
}
