package rules

import (
	"cmp"
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var loaderWorkersTooFew = diagnose.Rule{
	ID:       "loader/workers-too-few",
	Title:    "Too few loader workers",
	Resource: report.Workers,
	Needs: []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WorkerBusy, metric.WorkerRunning,
		metric.WorkerCPU, metric.UsableCPUs},
	Limits:  limits(idleLimit, diagnose.Most, gainLimit, fixedPart),
	Applies: withWorkers,
	Eval: func(p *diagnose.Pass) {
		wait := p.Stall()
		split, ok := loadingOf(p)
		if !ok || wait < diagnose.Moderate.Value || lacksShards(p) || !saturated(p) || split.storage+split.open+
			split.fileLock > p.Limit(diagnose.Most) {
			return
		}
		loader, ok := p.Loader()
		if !ok {
			return
		}
		need, ok := loader.WorkersNeeded(false)
		shards := ok && need.Workers <= loader.Setting.Workers && need.Clamp == predict.ByShards
		if shards {
			need, ok = loader.Unsharded().WorkersNeeded(false)
		}
		starved, unseen := loader.MostStarved(p.Evidence)
		if unseen = unseen && ok && !shards && need.Workers <= loader.Setting.Workers; unseen {
			loader = starved
			need, ok = loader.WorkersNeeded(false)
		}
		if !ok || need.Workers <= loader.Setting.Workers {
			return
		}
		effect := loader.WithWorkers(need.Workers)
		saved := min(loader.SteadyGain(need.Workers), wait)
		if saved < p.Limit(gainLimit) {
			return
		}
		f := report.Finding{
			Score:   saved,
			Summary: pace(loader, unseen) + room(p, loader, split),
			Evidence: seen(p, metric.NumWorkers, metric.WorkerBusy, metric.WorkerCPUBatch, metric.WorkerWaitBatch,
				metric.FreeStepTime, metric.UsableCPUs, metric.UsableBusy, metric.FetchTime, metric.FetchP99),
			Recommendations: []report.Recommendation{{
				Setting: "num_workers", From: new(whole(p.Get(metric.NumWorkers))), To: whole(float64(need.Workers)),
				Why:    why(loader, need),
				Caveat: inStep(p, loader) + bound(need, loader) + memoryOf(p, loader, need.Workers),
				Effect: effect,
			}},
			Unhelpful: tooSlowly(p),
		}
		if shards {
			moreShards(&f, loader.Shards)
		}
		if unseen {
			promiseNothing(&f, effect)
		}
		p.Report(f)
	},
}

// moreShards turns the recommendation of more workers into one of more shards, without which these would get none.
func moreShards(f *report.Finding, shards int) {
	c := &f.Recommendations[0]
	c.With = []report.Value{{Setting: c.Setting, To: c.To}}
	c.Setting, c.From, c.To = "shards of the dataset", new(whole(float64(shards))), c.To+" or more"
	c.Why = fmt.Sprintf("the dataset is divided among the workers by shard, of which there are %d: more workers get "+
		"none; %s", shards, c.Why)
	f.Unhelpful = append(f.Unhelpful, against(fmt.Sprintf("a larger num_workers alone: the dataset has %s",
		count(float64(shards), "shard")), moreWorkers)...)
}

// promiseNothing keeps a finding to what is known where no counter of the GPU was read: the trainer's wait may lie
// behind work that is queued.
func promiseNothing(f *report.Finding, most *report.Effect) {
	c := &f.Recommendations[0]
	c.Effect, f.Severity = nil, cautious(f.Score)
	c.Why = "what it brings is unknown, as no counter of the GPU was read: nothing if it works while the trainer " +
		"waits"
	if most != nil && most.Before > 0 {
		c.Why += fmt.Sprintf(", and up to %s times as many batches if it idles", unit.Number(most.After/most.Before))
	}
}

// pace says how often the workers can make a batch, and how often the step could take one. What it leaves out is the
// wait for a CPU.
func pace(l *diagnose.Loader, atBest bool) string {
	workers, alone, most := count(float64(l.Setting.Workers), "worker"), "on a CPU of its own", ""
	if atBest {
		most = " at best"
	}
	if l.Setting.Workers > 1 {
		alone = "on CPUs of their own"
	}
	every, step := l.Seen.Making()/float64(max(l.Setting.Workers, 1)), l.Seen.FreeStep.Center
	if l.Metric == diagnose.Relative {
		return fmt.Sprintf("%s can make a batch every %s steps %s", workers, unit.Number(every/step), alone)
	}
	return fmt.Sprintf("%s can make a batch every %s %s, the step could take one every %s%s", workers,
		unit.Seconds(every), alone, unit.Seconds(step), most)
}

// room says what there is more of: time to wait in parallel, or cores.
func room(p *diagnose.Pass, l *diagnose.Loader, split loading) string {
	waits, lock := 1-split.running, ""
	if l.Lock.N > 0 { // which more of them cannot do at once
		waits, lock = share(waits-locked(p)), " or a lock that they share"
	}
	if waits > 1-diagnose.Most.Value {
		return fmt.Sprintf("; they wait for something other than a CPU%s %s of the time, and more of them can wait at "+
			"once", lock, unit.Percent(waits))
	}
	usable := p.Get(metric.UsableCPUs)
	busy, ok := p.Maybe(metric.UsableBusy)
	if !ok {
		return fmt.Sprintf("; the job may use %s", count(usable, "CPU"))
	}
	text := fmt.Sprintf("; %s are used %s", cpus(usable), unit.Percent(share(busy)))
	if other := others(p); other >= othersLimit.Value*usable {
		text += fmt.Sprintf(", %s of them by other programs", unit.Number(other))
	}
	return text
}

// why says what the number of workers comes from.
func why(l *diagnose.Loader, need diagnose.Needed) string {
	work, step := l.Seen.Making(), l.Seen.FreeStep.Center
	text := fmt.Sprintf("a batch takes a worker %s, the step without waiting takes %s", unit.Seconds(work),
		unit.Seconds(step))
	if l.Metric == diagnose.Relative && step > 0 {
		text = fmt.Sprintf("a batch takes a worker %s times as long as the step without waiting",
			unit.Number(work/step))
	}
	switch {
	case need.Clamp == predict.ByCPUs && l.Wait.Center > l.CPU.Center:
		text += "; more workers for each usable CPU are not recommended, though they mostly wait"
	case need.Clamp == predict.ByCPUs:
		text += fmt.Sprintf("; %s allow no more", need.Clamp)
	case need.Clamp != predict.NoClamp:
		text += fmt.Sprintf("; %s allows no more", need.Clamp)
	case need.Limit == predict.Lock:
		text += "; beyond that they wait for a lock that they share"
	case need.Limit == predict.CPUs:
		text += "; beyond that the usable CPUs are full"
	case need.Limit == predict.Storage:
		text += "; beyond that storage gives no more"
	}
	return text
}

// bound says, where the workers mostly wait, that the number is no more than what is recommended for the CPUs.
func bound(need diagnose.Needed, l *diagnose.Loader) string {
	if need.Clamp != predict.ByCPUs || l.Wait.Center <= l.CPU.Center {
		return ""
	}
	return fmt.Sprintf("%d are as many as are recommended for %s; as they mostly wait, more may bring more, which "+
		"pipetune tune measures; ", need.Workers, cpus(l.UsableCPUs))
}

// inStep says where workers share a lock that it may be held more than their waits show.
func inStep(p *diagnose.Pass, l *diagnose.Loader) string {
	if l.Lock.N == 0 {
		return ""
	}
	return fmt.Sprintf("workers wait %s of the time for a lock that they share; where they take turns in step it is "+
		"held for longer than that shows, and more of them bring less, down to nothing; ", unit.Percent(locked(p)))
}

// memoryOf says what more workers cost.
func memoryOf(p *diagnose.Pass, l *diagnose.Loader, workers int) string {
	extra := float64(workers-l.Setting.Workers) * l.WorkerBytes
	depth := cmp.Or(l.Setting.Prefetch, predict.DefaultPrefetch)
	queue := l.QueueBytes(workers, depth) - l.QueueBytes(l.Setting.Workers, depth)
	if extra <= 0 {
		return "each worker takes its own memory"
	}
	text := fmt.Sprintf("up to %s more memory for the workers", unit.Bytes(extra))
	if queue > 0 {
		text += fmt.Sprintf(", and %s more of finished batches in /dev/shm", unit.Bytes(queue))
	}
	return text + inEachTrainer(p)
}
