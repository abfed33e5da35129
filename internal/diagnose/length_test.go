package diagnose

import (
	"testing"

	"github.com/pipetune/pipetune/internal/evidence"
)

// TestLengthsAgree: recommendations, warnings and hints name one length.
func TestLengthsAgree(t *testing.T) {
	if longEnough != evidence.AdvisedWatch || enoughTraining != evidence.AdvisedTraining ||
		leastWindow != evidence.LeastSteady {
		t.Errorf("a watch of %v s, a training of %v s, a window of %v s: evidence has %v, %v and %v", longEnough,
			enoughTraining, leastWindow, evidence.AdvisedWatch, evidence.AdvisedTraining, evidence.LeastSteady)
	}
}
