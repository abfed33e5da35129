package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var bendLimit = threshold("efficiency of several workers", 0.8, metric.Ratio,
	"derived: two workers that give 1.6 times one; published image decoding reaches a quarter of the cores' number "+
		"with 8 workers on 16 virtual CPUs (arXiv 2605.08731), so hyperthreads alone cost more than this")

var cpuScalingBend = diagnose.Rule{
	ID:    "cpu/scaling-bend",
	Title: "More worker processes do not give as many times the items",
	Measured: &diagnose.Measured{
		Needs:  []metric.Desc{metric.BenchItem, metric.BenchWorkers, metric.BenchEfficiency, metric.UsableCPUs},
		Limits: limits(bendLimit),
		Eval:   bendMeasured,
	},
}

// bends says what bends the scaling, and what to do about it.
var bends = map[string]struct{ what, setting, to, why string }{
	"lock": {"they wait for a lock", "what the workers share", "a file of its own for each, or no file lock",
		"they stand still while another holds it"},
	"device": {"the storage takes longer for each read", "bytes from storage per item", "fewer",
		"more readers bring little more out of this device, smaller items or another place do"},
	"cpu": {"the cores are at their end", "num_workers", "no more than this gains",
		"each further worker costs memory and brings less"},
}

func bendMeasured(p *diagnose.Pass) {
	efficiency, _ := p.Evidence.Get(metric.BenchEfficiency)
	if efficiency.Center >= p.Limit(bendLimit) || efficiency.Hi >= 1 {
		return
	}
	bound := p.Bench.Bound
	if bound == "none" { // its interval reaches where the probe sees no bend
		return
	}
	if efficiency.Confidence <= 0 {
		p.Abstain("too few rounds were measured to tell a bend from noise", "a larger --budget")
		return
	}
	n := p.Get(metric.BenchWorkers)
	f := report.Finding{
		Summary: fmt.Sprintf("%s workers give %s times what one gives", unit.Number(n),
			unit.Number(n*efficiency.Center)),
		Evidence: seen(p, metric.BenchWorkers, metric.BenchEfficiency, metric.UsableCPUs, metric.BenchItem)}
	if bound == "lock" || bound == "device" && outgrows(p) {
		f.Score = share(1 - efficiency.Center)
	}
	if b, known := bends[bound]; known {
		f.Summary += ": " + b.what
		f.Recommendations = []report.Recommendation{{Setting: b.setting, To: b.to, Why: b.why}}
	} else {
		f.Summary += "; what they share was not seen"
	}
	p.Report(f)
}
