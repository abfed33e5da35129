//go:build reliability

package reliability

import "slices"

// textTrials are those of names and text, of other users, of the fuzz targets and of the supply chain.
func textTrials() []trial {
	return slices.Concat(
		nameTrials(),   // N1, N3
		secretTrials,   // N4
		intruderTrials, // A1 to A3
		evilTrials,     // A5
		fuzzTrials,     // D10
		supplyTrials(), // S1 to S7
	)
}
