package probe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/pkg/report"
)

// What an interruption kept from being measured does not ask for a larger budget.
func TestInterruptionIsTheReason(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := testSession(t, rawSample(t, 4096, 64, "a"), Options{Budget: 2 * time.Second, NoCold: true})
	var after []string
	r, err := s.run(ctx, func(step Step, _ time.Duration) {
		if step.Probe == report.ProbeRead {
			cancel()
		}
		if ctx.Err() == nil {
			after = append(after, step.Probe)
		}
	})
	if err != nil || len(r.Rows.Measurements()) == 0 || !r.Interrupted {
		t.Fatalf("%v, %d figures, interrupted %v", err, len(r.Rows.Measurements()), r.Interrupted)
	}
	if a := r.Abstained; len(a) != 1 || a[0].Reason != "the run was interrupted" || a[0].Cure != "" ||
		!slices.Contains(a[0].Missing, report.ProbeRead) || !slices.Contains(a[0].Missing, report.ProbeScaling) || slices.Contains(a[0].Missing, after[0]) {
		t.Errorf("abstained %+v after %v", a, after)
	}
	s.short(ctx, "reads")
	if w := s.result.Warnings[len(s.result.Warnings)-1]; !strings.Contains(w, "interrupted") || strings.Contains(w, "--budget") {
		t.Errorf("warning: %s", w)
	}
}

func TestLargerBudget(t *testing.T) {
	for budget, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Minute, 30 * time.Second: time.Minute, 58300 * time.Millisecond: 117 * time.Second, time.Minute: 2 * time.Minute, 5 * time.Minute: 10 * time.Minute,
	} {
		if got := newSession(nil, rawSample(t, 4096, 1, "a"), Options{Budget: budget}).larger(); got != want {
			t.Errorf("after %v: %v, want %v", budget, got, want)
		}
	}
}
