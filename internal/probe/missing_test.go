package probe

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/pkg/report"
)

func TestMissingPartsAreGatheredByReason(t *testing.T) {
	var m missingParts
	gone := fmt.Errorf("%w (gone)", errNoneReadable)
	m.add("reading raw", gone)
	m.add("opening", errors.New("refused"))
	m.add("opening for each item", wayError{"random reads, file reopened", gone})
	s := testSession(t, rawSample(t, 4096, 1, "a"), Options{})
	m.say(s, report.ProbeHDF5)
	want := []report.Abstained{
		{Missing: []string{report.ProbeHDF5}, Reason: "reading raw; opening for each item: none of the sampled items " +
			"could be read (gone)"},
		{Missing: []string{report.ProbeHDF5}, Reason: "opening: refused"},
	}
	if diff := cmp.Diff(want, s.result.Abstained); diff != "" {
		t.Error(diff)
	}
}
