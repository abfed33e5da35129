package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var nearFull = threshold("memory in use over the limit", 0.92, metric.Ratio,
	"TraceML step_memory policy: pressure from 92 %, critical from 97 %")

var memoryLimitNear = diagnose.Rule{
	ID:     "memory/limit-near",
	Title:  "Memory is nearly at its limit",
	Needs:  []metric.Desc{metric.MemLimitUsed, metric.MemLimit},
	Limits: []diagnose.Limit{nearFull, shmStake},
	Eval: func(p *diagnose.Pass) {
		used, limit := share(p.Get(metric.MemLimitUsed)), p.Get(metric.MemLimit)
		if used < p.Limit(nearFull) {
			return
		}
		f := report.Finding{
			Severity: report.Warning,
			Score:    p.Limit(shmStake) * used,
			Summary: fmt.Sprintf("%s of the memory limit of %s is in use and cannot be given back",
				unit.Percent(used), unit.Bytes(limit)),
			Evidence: seen(p, metric.MemLimitUsed, metric.MemLimit, metric.Available, metric.WorkerPrivate,
				metric.NumWorkers, metric.BatchBytes),
			Unhelpful: against("a higher num_workers, prefetch_factor or batch size: each takes more memory",
				moreWorkers, deeperPrefetch, largerBatch),
		}
		n, each, ok := both(p, metric.NumWorkers, metric.WorkerPrivate)
		if spare := (used - p.Limit(nearFull)) * limit; ok && each > 0 && n >= 2 {
			each *= loaders(p) // num_workers is that of each loader, the memory that of all
			fewer := min(float64(int(spare/each))+1, n-1)
			f.Recommendations = []report.Recommendation{{Setting: "num_workers", From: new(whole(n)),
				To: whole(n - fewer), Why: fmt.Sprintf("frees up to %s%s", unit.Bytes(fewer*each), forAllTrainers(p)),
				Caveat: "each worker's figure includes pages it still shares with the trainer: less may come free"}}
		}
		p.Report(f)
	},
}
