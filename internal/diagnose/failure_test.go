package diagnose

import (
	"strings"
	"testing"
)

// TestFailureIsTheFirstReason: of a job that failed, that is said before that too little was seen of it, and nothing is
// advised that would only watch longer. A report that concludes something stays as it is.
func TestFailureIsTheFirstReason(t *testing.T) {
	e := shortOf(0.42)
	e.Header.Mode, e.Window.Ended, e.Window.Failure = "launch", true, "ended with status 1 after 5.2 s"
	r := Run(e, shortRules())
	if !strings.HasPrefix(r.Verdict.Doubts[0], "the job ended with status 1") ||
		!strings.Contains(r.Verdict.Statement, "back: the job ended with status 1 after 5.2 s; only") {
		t.Errorf("%q of %q", r.Verdict.Statement, r.Verdict.Doubts)
	}
	if len(r.Next) > 0 {
		t.Errorf("advises %q", r.Next)
	}
	e.Window.Failure = ""
	whole := Run(e, shortRules())
	if len(whole.Next) == 0 || strings.Contains(whole.Verdict.Statement, "status") {
		t.Errorf("without a failure: %q, next %q", whole.Verdict.Statement, whole.Next)
	}
}
