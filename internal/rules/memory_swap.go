package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var swapLimit = threshold("bytes per second read back from swap", 1e6, metric.BytesPerS,
	"gpuprof insights.py: swap-in from 1 MB/s")

var memorySwap = diagnose.Rule{
	ID:       "memory/swap",
	Title:    "Memory is read back from swap",
	Resource: report.Memory,
	Needs:    []metric.Desc{metric.SwapInRate},
	Limits:   limits(swapLimit),
	Explains: []string{"storage/latency-bound", "storage/cold-cache", "storage/saturated", "memory/page-cache-thrash"},
	Eval: func(p *diagnose.Pass) {
		rate := p.Get(metric.SwapInRate)
		if rate < p.Limit(swapLimit) {
			return
		}
		score := max(share(p.OrZero(metric.MemPressure)), starved(p)*waitsForStorage(p))
		f := report.Finding{
			Severity: gradeOutside(p, score), Score: score,
			Summary: fmt.Sprintf("Memory is short: %s come back from swap",
				unit.Format(rate, string(metric.BytesPerS))),
			Evidence: seen(p, metric.SwapInRate, metric.SwapOutRate, metric.MemPressure, metric.Available,
				metric.WorkerPrivate, metric.NumWorkers),
			Unhelpful: neitherMoreNorDeeper("both take more memory"),
		}
		if n, ok := p.Maybe(metric.NumWorkers); ok && n >= 2 {
			rec := report.Recommendation{Setting: "num_workers", From: new(whole(n)), To: whole(n / 2),
				Why: "each worker has its own memory"}
			if each, ok := p.Maybe(metric.WorkerPrivate); ok {
				rec.Why = fmt.Sprintf("frees up to %s", unit.Bytes((n-float64(int(n/2+0.5)))*each)) + inEachTrainer(p)
			}
			f.Recommendations = append(f.Recommendations, rec)
		}
		p.Report(f)
	},
}
