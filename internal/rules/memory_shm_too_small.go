package rules

import (
	"fmt"
	"math"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var shmStake = threshold("stake of a job that may end", diagnose.High.Value, metric.Ratio,
	"a choice: room that runs out costs no time until it costs the job, so it is ranked below anything that costs a "+
		"high share now")

var memoryShmTooSmall = diagnose.Rule{
	ID:      "memory/shm-too-small",
	Title:   "/dev/shm has no room for one more worker",
	Needs:   []metric.Desc{metric.ShmFree, metric.ShmTotal, metric.BatchBytes, metric.NumWorkers},
	Limits:  []diagnose.Limit{shmStake},
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) {
		free, total, batch, workers := p.Get(metric.ShmFree), p.Get(metric.ShmTotal), p.Get(metric.BatchBytes),
			p.Get(metric.NumWorkers)
		oneMore := (prefetchOf(p) + 1) * batch * loaders(p) // in each loader: num_workers is set for all
		if free >= oneMore || batch <= 0 || total <= 0 {
			return
		}
		target := workers + 1
		if loader, ok := p.Loader(); ok {
			if need, ok := loader.WorkersNeeded(true); ok { // the wish, not what fits
				target = max(target, float64(need.Workers))
			}
		}
		const half = 2 // leave half of it free for other tensors and programs
		to := roundUp(half * max(target*oneMore, total-free+oneMore))
		p.Report(report.Finding{
			Severity: report.Warning,
			Score:    p.Limit(shmStake) * share(1-free/oneMore),
			Summary: fmt.Sprintf("/dev/shm had as little as %s left of %s; one more worker%s needs %s, and a full "+
				"/dev/shm ends the job with a bus error",
				unit.Bytes(free), unit.Bytes(total), inEachTrainer(p), unit.Bytes(oneMore)),
			Evidence: seen(p, metric.ShmFree, metric.ShmTotal, metric.BatchBytes, metric.NumWorkers,
				metric.QueueCapacity),
			Recommendations: []report.Recommendation{{
				Setting: "size of /dev/shm", From: new(unit.Bytes(total)), To: unit.Bytes(to),
				Why: fmt.Sprintf("room for %s%s with their queues, and as much again: docker run --shm-size=%dm",
					count(target, "worker"), inEachTrainer(p), int(to/(1<<20))),
				Caveat: "it counts against the job's memory limit as it fills; no change of speed is expected",
			}},
			Unhelpful: against("a higher num_workers, prefetch_factor or batch size before that: the job would end",
				moreWorkers, deeperPrefetch, largerBatch),
		})
	},
}

// roundUp is the next power of two of at least 64 MiB.
func roundUp(bytes float64) float64 {
	const least = 64 << 20
	return math.Exp2(math.Ceil(math.Log2(max(bytes, least))))
}
