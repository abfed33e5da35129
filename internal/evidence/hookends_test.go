package evidence

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
)

// TestHookJobThatEndsLate: after its last step a job without workers writes for as long as half of its training took.
// That is no training, and what the hook reported stands; where it is more than the training, who knows what it is.
func TestHookJobThatEndsLate(t *testing.T) {
	for after, want := range map[float64]bool{0: true, 8: true, 40: false} {
		l := launch(t, afterFive)
		l.loader(0, 88, 0)
		l.begin(0, 0, 0)
		l.samples = moment{run: 1, gpu: -1}
		l.plain(0, 21, 0.03, 0.02)
		l.end(0, 0)
		l.pass(after + 1)
		e := l.derive(l.recording("job-ended"))
		if got := e.Facts.Hook != nil; got != want {
			t.Errorf("%.0f s after the last step: told by the hook: %t, %q", after, got, e.Warnings)
		}
		if want {
			near(t, e, 0.02, map[metric.Desc]float64{metric.InputWait: 0.6, metric.BatchesPerS: 20})
		}
		said := strings.Join(e.Warnings, "\n")
		if strings.Contains(said, "after the last step") != (after == 8) || strings.Count(said, "told of only") > 1 {
			t.Errorf("%.0f s after the last step: %q", after, e.Warnings)
		}
	}
}
