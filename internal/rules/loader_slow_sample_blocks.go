package rules

import (
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var (
	blockedLimit = threshold("part of the input wait with some workers idle", 0.5, metric.Ratio,
		"by definition: most of the wait is spent behind one slow batch")
	deepEnough = threshold("prefetch_factor that still gains", 8, metric.Count,
		"measured: DataLoader, 4 workers, 5 % of the samples 21 times slower: 41, 46, 57, 64 batches/s at "+
			"prefetch_factor 2, 4, 8, 16, and 80 with in_order=False at 2 (PyTorch 2.14, Debian)")
)

var loaderSlowSampleBlocks = diagnose.Rule{
	ID:       "loader/slow-sample-blocks",
	Title:    "One slow batch holds up finished ones",
	Resource: report.Workers,
	Needs:    []metric.Desc{metric.NumWorkers, metric.InputWait, metric.HeadOfLine, metric.IdleWhileWaits},
	Limits:   limits(blockedLimit, deepEnough, slowItem, queueMemory),
	Applies:  withWorkers,
	Explains: []string{"loader/workers-too-few", "loader/prefetch-shallow", "loader/worker-imbalance",
		"cpu/decode-bound", "storage/latency-bound"},
	Eval: func(p *diagnose.Pass) {
		wait := p.Stall()
		blocked := min(share(p.Get(metric.HeadOfLine)), steadyWait(p))
		if p.Get(metric.NumWorkers) < 2 || lacksShards(p) || blocked < diagnose.Moderate.Value ||
			blocked < wait*p.Limit(blockedLimit) {
			return
		}
		summary := fmt.Sprintf("%s of the time the trainer waits for one slow batch while other workers are idle "+
			"with theirs finished (%s of the workers, on average)",
			unit.Percent(blocked), unit.Percent(share(p.Get(metric.IdleWhileWaits))))
		if told := slowest(p); told != "" {
			summary += "; " + told
		}
		p.Report(report.Finding{
			Score: blocked, Summary: summary,
			Evidence: seen(p, metric.InputWait, metric.HeadOfLine, metric.IdleWhileWaits, metric.WorkerIdle,
				metric.WorkerImbalance, metric.QueueBatches, metric.FetchTime, metric.FetchP99, metric.MadeItem),
			Recommendations: append(outOfOrder(p, blocked), deeper(p)...),
			Unhelpful:       against("more workers: those there are stand idle while the trainer waits", moreWorkers),
		})
	},
}

// outOfOrder recommends in_order=False where the job's PyTorch has it, and cheaper slow samples where it is known not
// to.
func outOfOrder(p *diagnose.Pass, blocked float64) []report.Recommendation {
	effect := speedup(p, 0, blocked, "the loader's mean rate")
	inOrder := callOf(p).InOrder
	if lacks(p, inOrderSince) || inOrder != nil && !*inOrder {
		why := "a batch is then ready about when the others are"
		if inOrder == nil {
			why += "; in_order=False, which delivers whichever batch is ready, needs PyTorch 2.6, and this is " +
				"PyTorch " + p.Reported().Torch
		}
		return []report.Recommendation{{Setting: "the slow samples", To: "as cheap as the others", Why: why,
			Effect: effect}}
	}
	caveat := "the order of batches then varies from run to run"
	if p.Reported().Torch == "" {
		caveat = "needs PyTorch 2.6 or newer; " + caveat
	}
	return []report.Recommendation{{Setting: "in_order", From: fromFact(inOrder), To: "False",
		Why: "a finished batch is then delivered at once; or make the slow samples cheaper, which helps with any " +
			"PyTorch", Caveat: caveat, Effect: effect}}
}

// slowest names the items that took longest, those that came again with their mean; "" where the hook reported none
// that is clearly slower than the others.
func slowest(p *diagnose.Pass) string {
	slow := p.Reported().Slow
	usual, ok := p.Maybe(metric.MadeItem)
	if !ok || usual <= 0 {
		return ""
	}
	const shown = 3
	var names []string
	for _, s := range slow {
		if s.Seconds < slowItem.Value*usual || len(names) == shown {
			break // slowest first
		}
		mean := ""
		if s.Times > 1 {
			mean = fmt.Sprintf(", the mean of %d times", s.Times)
		}
		names = append(names, fmt.Sprintf("%d (%s%s)", s.Index, unit.Seconds(s.Seconds), mean))
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("slowest are the items %s; the mean of all is %s, the slowest takes %s as long",
		strings.Join(names, ", "), unit.Seconds(usual), times(slow[0].Seconds/usual))
}

// slowItem is how many times the mean an item must take to be named.
var slowItem = threshold("an item's time over the mean", 5, metric.Count,
	"derived: of 10,000 exponentially distributed times one in 150 is beyond five times the mean; a batch of 32 with "+
		"one such item takes 1.1 times as long")

// deeper recommends twice the queue, where /dev/shm and memory have room for it in all trainers and there is something
// to gain.
func deeper(p *diagnose.Pass) []report.Recommendation {
	now := prefetchOf(p)
	to := min(2*now, p.Limit(deepEnough))
	if to <= now {
		return nil
	}
	size, ok := p.Maybe(metric.BatchBytes)
	room, ok2 := p.Maybe(metric.ShmFree)
	memory, ok3 := p.Maybe(metric.Available)
	extra := (to - now) * p.Get(metric.NumWorkers) * size * loaders(p)
	if ok && (ok2 && extra > room || ok3 && extra > p.Limit(queueMemory)*memory) {
		return nil
	}
	takes := "more memory for finished batches"
	if ok && extra > 0 {
		takes = fmt.Sprintf("up to %s more in /dev/shm%s", unit.Bytes(extra), forAllTrainers(p))
	}
	return []report.Recommendation{{Setting: "prefetch_factor", From: fromFact(p.Facts.Prefetch),
		To: whole(to), Why: "twice the queue bridges longer delays", Caveat: takes + "; it bridges delays up to the " +
			"queue's length, it does not raise the mean rate",
		Effect: speedup(p, 0, steadyWait(p)/2, "the length of the slowest delays")}}
}

// prefetchOf is prefetch_factor as it was seen, else PyTorch's default.
func prefetchOf(p *diagnose.Pass) float64 {
	if f := p.Facts.Prefetch; f != nil {
		return float64(*f)
	}
	return predict.DefaultPrefetch
}
