package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/pkg/report"
)

var noRoom = reason{text: "the memory that can still be used is not known"}

// cures of probes that run only when asked.
var cures = map[string]string{report.ProbeTry: "--try", report.ProbeTier: "--compare-path OTHER",
	report.ProbePython: "--python INTERPRETER"}

// why is the reason for a signal of a probe that is absent.
func (b *benchBuilder) why(probe string) reason {
	if probe == report.ProbeRead && b.ev.Bench.Undecoded {
		probe = report.ProbeDecode // an item is read and decoded
	}
	if r, ok := b.abstention(probe); ok {
		return r
	}
	cure, asked := cures[probe]
	switch {
	case b.about.Interrupted:
		return reason{text: "the run was interrupted before the " + probe + " probe gave such a figure"}
	case asked:
		return reason{"it was not asked for", cure}
	}
	return reason{"the " + probe + " probe gave no such figure in its time", "a larger --budget"}
}

// whyCold is the reason for one that needs cold reads.
func (b *benchBuilder) whyCold(probe string) reason {
	switch c := b.about.Cold; {
	case c.Possible:
		return b.why(probe)
	case c.Reason != "":
		return reason{text: "cold reads could not be measured: " + c.Reason}
	}
	return reason{text: "cold reads could not be measured"}
}

// abstention is what a probe said where it could not measure; false where it did not say.
func (b *benchBuilder) abstention(probe string) (reason, bool) {
	for _, a := range b.report.Abstained {
		if slices.Contains(a.Missing, probe) {
			return reason{a.Reason, a.Cure}, true
		}
	}
	return reason{}, false
}
