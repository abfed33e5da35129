package rules

import (
	"cmp"
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var visibleLimit = threshold("samples with the system call visible", 0.8, metric.Ratio,
	"TraceML names a cause only from 80 % coverage")

var qualityPartialVisibility = diagnose.Rule{
	ID:     "quality/partial-visibility",
	Title:  "What the job's threads wait in is hidden",
	Needs:  []metric.Desc{metric.SyscallSeen},
	Limits: []diagnose.Limit{visibleLimit},
	Eval: func(p *diagnose.Pass) {
		visible := share(p.Get(metric.SyscallSeen))
		if visible >= p.Limit(visibleLimit) {
			return
		}
		reason, cure := p.WhyMissing(metric.SyscallSeen)
		summary := fmt.Sprintf("What threads wait in could be read in %s of the samples", unit.Percent(visible))
		if reason != "" {
			summary += ": " + reason
		}
		p.Report(report.Finding{
			Severity: report.Info, Summary: summary,
			Evidence: seen(p, metric.SyscallSeen, metric.SampleCoverage),
			Recommendations: []report.Recommendation{{Setting: "/proc/PID/syscall", From: new("hidden"),
				To:  cmp.Or(cure, "readable: run pipetune as the job's own user, or launch the job through it"),
				Why: "waiting for data can then be distinguished from other waiting"}},
		})
	},
}
