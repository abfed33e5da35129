package cli

import "io"

// leave makes the status that pipetune ends with: the job's own; where that is 0, what the diagnosis came to.
func leave(status int, diagnosis error, stderr io.Writer) error {
	if status == 0 {
		return diagnosis
	}
	complain(stderr, diagnosis)
	return quietExit(status)
}

// gateOnNothing applies the gates where nothing was measured: that is less than inconclusive, and every signal is missing.
func (o *diagnoseOptions) gateOnNothing() error {
	switch {
	case len(o.require) > 0:
		return fail(exitMissing, "watch a job that trains for longer", "nothing was measured, so required signals are missing")
	case o.strict:
		return fail(exitNotMeasured, "watch a job that trains for longer", "nothing was measured")
	}
	return nil
}
