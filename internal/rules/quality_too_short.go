package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	shortWindow = threshold("steady window", 10, metric.Seconds,
		"derived: a median of fewer than ten one-second windows has an interval set by its extremes")
	fewSteps = threshold("steps seen", 20, metric.Count, "TraceML grades nothing critical on fewer than 20 steps")
)

var qualityTooShort = diagnose.Rule{
	ID:     "quality/too-short",
	Title:  "The watch was too short to be sure",
	Needs:  []metric.Desc{metric.WindowTime},
	Limits: []diagnose.Limit{shortWindow, fewSteps},
	Eval: func(p *diagnose.Pass) {
		window := p.Get(metric.WindowTime)
		rate, counted := p.Maybe(metric.BatchesPerS)
		steps := rate * window
		if window >= p.Limit(shortWindow) && (!counted || steps >= p.Limit(fewSteps)) {
			return
		}
		summary := fmt.Sprintf("Only %s were left after the warm-up", unit.Seconds(window))
		if window >= p.Limit(shortWindow) {
			summary = fmt.Sprintf("Only about %s steps were seen in %s", unit.Number(steps), unit.Seconds(window))
		}
		f := report.Finding{Summary: summary, Evidence: seen(p, metric.WindowTime, metric.BatchesPerS)}
		if failure := p.Window.Failure; failure != "" { // nor would a longer watch have seen more
			f.Summary += ": the job " + failure
			p.Report(f)
			return
		}
		const longest = 3600 // more than an hour's watch is no longer a watch
		seconds := 0.0
		if counted && rate > 0 {
			seconds = min(2*p.Limit(fewSteps)/rate, longest)
		}
		setting, to := diagnose.Longer(p.Evidence, seconds)
		f.Recommendations = []report.Recommendation{{Setting: setting, To: to,
			Why: "enough steps for a narrow interval"}}
		p.Report(f)
	},
}
