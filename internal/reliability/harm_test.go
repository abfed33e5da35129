//go:build reliability

package reliability

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/hook/trackernoise"
	"github.com/pipetune/pipetune/internal/stat"
)

// noted is what a steady job has written down, in seconds of CLOCK_MONOTONIC.
type noted struct {
	Came  []float64
	Ended []float64
}

// step is the median of the times between two batches that both came between two moments.
func (n noted) step(s *stand, from, to float64) float64 {
	s.Helper()
	var took []float64
	for i := 1; i < len(n.Came); i++ {
		if n.Came[i-1] >= from && n.Came[i] <= to {
			took = append(took, n.Came[i]-n.Came[i-1])
		}
	}
	if len(took) < 20 {
		s.Fatalf("only %d steps between %.1f and %.1f", len(took), from, to)
	}
	return centre(took)
}

// centre is the median.
func centre(values []float64) float64 { return stat.Median(values).Center }

// launch runs a command under pipetune, which writes a report.
func (s *stand) launch(report string, argv []string) *command {
	s.Helper()
	return s.pipetune(append([]string{"diagnose", "-q", "-o", report, "--"}, argv...))
}

// ownWords is how what pipetune itself says on stderr begins: when the job has ended, its report, with the job's name
// above it, or a word why there is none.
var ownWords = regexp.MustCompile(`^(.+ · pid \d+.*\n(  .*\n)*\nVERDICT |VERDICT |pipetune: )`)

// sameComplaints says whether a launched job wrote to stderr what the bare one did, byte for byte; what follows is
// pipetune's own.
func sameComplaints(bare, launched string) bool {
	rest, same := strings.CutPrefix(launched, bare)
	return same && (rest == "" || ownWords.MatchString(rest))
}

// same holds the output, the complaints and the status of a launched job to those of the bare one. The warnings that
// Python's own resource tracker writes at the end of some jobs are taken out of both, and counted.
func (s *stand) same(what string, bare, launched *command) (same bool) {
	s.Helper()
	const limit = 20 * time.Minute
	want, got := bare.wait(limit), launched.wait(limit)
	wantSaid, noise := trackernoise.Strip(bare.complaints())
	gotSaid, more := trackernoise.Strip(launched.complaints())
	if noise+more > 0 {
		s.Logf("%s: %d warnings of Python's resource tracker bare, %d launched", what, noise, more)
	}
	same = true
	differ := func(part, bare, launched string) {
		s.Helper()
		same = false
		s.Errorf("%s: %s differs from the bare job's:\n%.800s\nbare:\n%.800s", what, part, launched, bare)
	}
	if !bytes.Equal(bare.output(), launched.output()) {
		differ("stdout", string(bare.output()), string(launched.output()))
	}
	if !sameComplaints(wantSaid, gotSaid) {
		differ("stderr", wantSaid, gotSaid)
	}
	if want != got {
		differ("the status", strconv.Itoa(want), strconv.Itoa(got))
	}
	return same
}
