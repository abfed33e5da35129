package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var noisyLimit = diagnose.Limit{Name: "width of the input wait's interval", Value: 0.20, Unit: metric.Ratio,
	Source: "derived: an interval as wide as the line between no wait and a high one does not tell them apart"}

var qualityNoisy = diagnose.Rule{
	ID:    "quality/noisy",
	Title: "The input wait varied much while watched",
	Doc: `
## What it means
The share of time the trainer waits differed so much between parts of the watch that its interval spans both grades.

## How it is detected
The width of the 95 % interval of the input wait.

## How to mend it
Watch longer, over several epochs if they are short. Look at what changes: epochs, evaluation, another program.

## When it is wrong
A job that really has phases (bursts of slow samples, evaluation) will stay noisy; the mean is still right over a long watch.
`,
	Needs:  []metric.Desc{metric.WaitNoise},
	Limits: []diagnose.Limit{noisyLimit},
	Eval: func(p *diagnose.Pass) error {
		width := p.Get(metric.WaitNoise)
		if width <= p.Limit(noisyLimit.Name) {
			return nil
		}
		to := "120s"
		if w, ok := p.Maybe(metric.WindowTime); ok {
			to = whole(max(60, 4*w)) + "s" // the interval narrows with the square root of the time
		}
		p.Report(report.Finding{
			Severity: report.Info,
			Summary:  fmt.Sprintf("The input wait varied: its 95 %% interval is %s wide", unit.Percent(share(width))),
			Evidence: seen(p, metric.WaitNoise, metric.InputWait, metric.WindowTime),
			Recommendations: []report.Recommendation{{Setting: "--duration", From: nil, To: to,
				Why: "four times the window halves the interval"}},
		})
		return nil
	},
}
