package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var noisyLimit = threshold("width of the input wait's interval", diagnose.High.Value, metric.Ratio,
	"derived: an interval as wide as the line between no wait and a high one does not tell them apart")

var qualityNoisy = diagnose.Rule{
	ID:     "quality/noisy",
	Title:  "The input wait varied much while watched",
	Needs:  []metric.Desc{metric.WaitNoise},
	Limits: []diagnose.Limit{noisyLimit},
	Eval: func(p *diagnose.Pass) {
		width := p.Get(metric.WaitNoise)
		if width <= p.Limit(noisyLimit) {
			return
		}
		long := 120.0
		if w, ok := p.Maybe(metric.WindowTime); ok {
			long = max(60, 4*w) // the interval narrows with the square root of the time
		}
		setting, to := diagnose.Longer(p.Evidence, long)
		p.Report(report.Finding{
			Summary:  fmt.Sprintf("The input wait varied: its 95 %% interval is %s wide", unit.Percent(share(width))),
			Evidence: seen(p, metric.WaitNoise, metric.InputWait, metric.WindowTime),
			Recommendations: []report.Recommendation{{Setting: setting, To: to,
				Why: "four times the window halves the interval"}},
		})
	},
}
