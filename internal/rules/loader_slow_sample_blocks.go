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
	blockedLimit = diagnose.Limit{Name: "part of the input wait with some workers idle", Value: 0.5, Unit: metric.Ratio,
		Source: "by definition: most of the wait is spent behind one slow batch"}
	deepEnough = diagnose.Limit{Name: "prefetch_factor that still gains", Value: 8, Unit: metric.Count,
		Source: "measured: DataLoader, 4 workers, 5 % of the samples 21 times slower: 41, 46, 57, 64 batches/s at " +
			"prefetch_factor 2, 4, 8, 16, and 80 with in_order=False at 2 (PyTorch 2.14, Debian)"}
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
			blocked < wait*p.Limit(blockedLimit.Name) {
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
			Recommendations: append(outOfOrder(p, blocked), deeper(p, blocked)...),
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
				torch(p)
		}
		return []report.Recommendation{{Setting: "the slow samples", To: "as cheap as the others", Why: why,
			Effect: effect}}
	}
	caveat := "needs PyTorch 2.6 or newer; the order of batches then varies from run to run"
	if torch(p) != "" {
		caveat = "the order of batches then varies from run to run"
	}
	return []report.Recommendation{{Setting: "in_order", From: fromFact(inOrder), To: "False",
		Why: "a finished batch is then delivered at once; or make the slow samples cheaper, which helps with any " +
			"PyTorch", Caveat: caveat, Effect: effect}}
}

// slowest names the items that took longest, those that came again with their mean; "" where the hook reported none
// that is clearly slower than the others.
func slowest(p *diagnose.Pass) string {
	h := p.Evidence.Facts.Hook
	usual, ok := p.Maybe(metric.MadeItem)
	if h == nil || !ok || usual <= 0 {
		return ""
	}
	const shown = 3
	var names []string
	for _, s := range h.Slow {
		if s.Seconds < slowItem.Value*usual || len(names) == shown {
			break // slowest first
		}
		name := fmt.Sprintf("%d (%s)", s.Index, unit.Seconds(s.Seconds))
		if s.Times > 1 {
			name = fmt.Sprintf("%d (%s, the mean of %d times)", s.Index, unit.Seconds(s.Seconds), s.Times)
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("slowest are the items %s; the mean of all is %s, the slowest takes %s as long",
		strings.Join(names, ", "), unit.Seconds(usual), times(h.Slow[0].Seconds/usual))
}

// slowItem is how many times the mean an item must take to be named.
var slowItem = diagnose.Limit{Name: "an item's time over the mean", Value: 5, Unit: metric.Count,
	Source: "derived: of 10,000 exponentially distributed times one in 150 is beyond five times the mean; a batch of " +
		"32 with one such item takes 1.1 times as long"}

// deeper recommends twice the queue, where /dev/shm and memory have room for it in all trainers and there is something
// to gain.
func deeper(p *diagnose.Pass, blocked float64) []report.Recommendation {
	now := float64(predict.DefaultPrefetch)
	if f := p.Evidence.Facts.Prefetch; f != nil {
		now = float64(*f)
	}
	to := min(2*now, p.Limit(deepEnough.Name))
	if to <= now {
		return nil
	}
	size, ok := p.Maybe(metric.BatchBytes)
	room, ok2 := p.Maybe(metric.ShmFree)
	memory, ok3 := p.Maybe(metric.Available)
	extra := (to - now) * p.Get(metric.NumWorkers) * size * trainers(p)
	if ok && (ok2 && extra > room || ok3 && extra > p.Limit(queueMemory.Name)*memory) {
		return nil
	}
	caveat := "more memory for finished batches; it bridges delays up to the queue's length, it does not raise the " +
		"mean rate"
	if ok && extra > 0 {
		caveat = fmt.Sprintf("up to %s more in /dev/shm%s; it bridges delays up to the queue's length, it does not "+
			"raise the mean rate", unit.Bytes(extra), forAllTrainers(p))
	}
	return []report.Recommendation{{Setting: "prefetch_factor", From: fromFact(p.Evidence.Facts.Prefetch),
		To: whole(to), Why: "twice the queue bridges longer delays", Caveat: caveat, Effect: speedup(p, 0, blocked/2,
			"the length of the slowest delays")}}
}
