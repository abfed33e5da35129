package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// benchPlan is the text of --list: the dataset, then what would be measured, in order, each with its share of the
// budget. A probe's name stands where its first step does.
func benchPlan(title string, steps []probe.Step, budget time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nup to %s would be measured, in this order:\n", untrusted.Sanitize(title), seconds(budget))
	names := 0
	for _, s := range steps {
		names = max(names, len(s.Probe))
	}
	last := ""
	for _, s := range steps {
		name := s.Probe
		if name == last {
			name = ""
		}
		last = s.Probe
		fmt.Fprintf(&b, "  %6s  %-*s  %s\n", seconds(s.Budget), names, untrusted.Sanitize(name),
			untrusted.Sanitize(s.What))
	}
	if len(steps) == 0 {
		b.WriteString("  nothing\n")
	}
	return b.String()
}

// seconds writes a share of the budget: tenths where it is short, so that no share comes out as nothing.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
