package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var linkLimit = threshold("link in use over link possible", 0.6, metric.Ratio,
	"derived: one PCIe generation or half the lanes less is 0.5; links train down when idle, so the best state seen "+
		"counts")

var gpuPcieDegraded = diagnose.Rule{
	ID:     "gpu/pcie-degraded",
	Title:  "The GPU's PCIe link runs below what device and slot allow",
	Needs:  []metric.Desc{metric.PcieGenRatio},
	Limits: limits(linkLimit, pinnedRate),
	Eval: func(p *diagnose.Pass) {
		link := share(p.Get(metric.PcieGenRatio))
		if busy, ok := p.Maybe(metric.GPUBusy); ok && busy < diagnose.Moderate.Value {
			p.Abstain("the GPU had hardly any work in the watch, so its link may not have trained up",
				"watch while the job trains")
			return
		}
		if link > p.Limit(linkLimit) {
			return
		}
		// time on the link, and what a whole link would save of it
		score := share(p.OrZero(metric.PcieRxRate)/(link*p.Limit(pinnedRate))) * (1 - link)
		p.Report(report.Finding{
			Severity: gradeOutside(p, score), Score: score,
			Summary:  fmt.Sprintf("The PCIe link gives %s of what device and slot allow", unit.Percent(link)),
			Evidence: seen(p, metric.PcieGenRatio, metric.PcieRxRate, metric.GPUBusy),
			Recommendations: []report.Recommendation{{Setting: "PCIe link", From: new(unit.Percent(link) +
				" of its bandwidth"), To: "all of it",
				Why:    "copies to the GPU take that much longer; lspci -vv shows LnkCap and LnkSta",
				Effect: speedup(p, 0, score, "the device")}},
		})
	},
}
