package evidence

import (
	"cmp"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// activityBytes is the growth of rchar between two readings below which a trainer without workers is not taken to be
// reading data.
const activityBytes = 4096

// networkWait is the share of time in which the main thread of a trainer without workers waits for the network: most
// likely it loads, or it logs.
func (b *builder) networkWait(r *rank) step.Range {
	s := b.range_(r.ofSamples(b.Grow(r.Entity, metric.ThreadRemote)))
	return step.Range{Likely: s.Likely, Hi: s.Hi}
}

// asleepByTimer is the share of time in which it sleeps for a time and may be loading. A device is waited for by no
// timer, and a training loop seldom pauses, while readers poll for what is fetched (as MosaicML's Streaming does for
// its shards): most likely it loads, unless no DataLoader was made. Without a device, sleep stands for one where data
// is seen to be read otherwise, and else may be either.
func (b *builder) asleepByTimer(r *rank, device step.Sight) step.Range {
	s := b.range_(r.ofSamples(b.Grow(r.Entity, metric.ThreadSleep)))
	switch {
	case device == step.NoDevice && b.readsWhileRunning(r) >= activeShare:
		return step.Range{}
	case device == step.NoDevice, b.ev.Facts.NoLoader:
		return step.Range{Hi: s.Hi}
	}
	return step.Range{Likely: s.Likely, Hi: s.Hi}
}

// mayLoad is the share of time in which a trainer without workers may be loading, as it looks from outside: at least
// what it waits for storage, at most that, what it waits for over the network or sleeps for a time, and all it runs and
// does not spin. Most likely it loads between two readings over which it read data; where it reads nothing, and a
// device idles meanwhile, half of what it runs is a guess as good as any, as data in memory reads nothing; not where no
// DataLoader was made. Where its code was sampled, it loads at least while it executes libraries that read data.
func (b *builder) mayLoad(r *rank, seen step.Seen, storage step.Range) step.Range {
	remote, timer, least := b.networkWait(r), b.asleepByTimer(r, seen.Device), storage.Lo
	storage.Likely, storage.Hi = storage.Likely+remote.Likely+timer.Likely, storage.Hi+remote.Hi+timer.Hi
	most := seen.Running.Hi - seen.Spin.Lo + storage.Hi
	own, likely := seen.Running.Likely-seen.Spin.Likely, b.readsWhileRunning(r)+remote.Likely
	code, part, reported := b.codeOfLoading(r, seen.Running)
	switch {
	case seen.Device == step.NoDevice: // nothing but reads and code says that it loads at all
		likely = min(likely, seen.Running.Likely+storage.Likely)
	case likely < activeShare && !b.ev.Facts.NoLoader:
		likely = own / 2
	}
	likely += timer.Likely
	if reported {
		likely = min(part*own+storage.Likely, most)
	}
	least += code.Lo
	return step.Share(least, max(min(likely, own+storage.Likely), least), max(most, code.Hi))
}

// codeOfLoading is the share of time in which a trainer without workers executes libraries that read, decompress or
// decode data, and which part of what it runs is most likely loading: of Python, NumPy and what else both loading and
// training call, half. Not reported where little else was met, or nothing was sampled.
func (b *builder) codeOfLoading(r *rank, running step.Range) (reads step.Range, part float64, reported bool) {
	all := stat.Sum(b.Grow(r.Entity, metric.HostSamples))
	within, model := stat.Sum(b.Grow(r.Entity, metric.HostSamplesReading)),
		stat.Sum(b.Grow(r.Entity, metric.HostSamplesModel))
	if all < fewestSamples || within+model < leastCode*all {
		return step.Range{}, 0, false
	}
	return b.inCode(r, running, within, all), (all + within - model) / (2 * all), true
}

// leastCode is the share of samples that must be in code known to load or to train before it says what the trainer most
// likely does: a third. Below it, most is code of which nothing is known.
const leastCode = 1. / 3

// activeShare is from where on reads are taken for the loader's: 1 %, below which a log file or a module read now and
// then would count.
const activeShare = 0.01

// readsWhileRunning is the share of time in which the main thread runs or waits for storage between two readings over
// which it read data: by its own count where there is one, else by the process's.
func (b *builder) readsWhileRunning(r *rank) float64 {
	reads := cmp.Or(b.Track(metric.ProcMainReadChars, r.Entity), b.Track(metric.ProcReadChars, r.Entity))
	if reads == nil {
		return 0
	}
	var active []watched.Span
	for _, between := range reads.Steps() {
		faulted, opened := b.Grown(r.Entity, between, metric.ProcMajFaults), 0.0
		for _, t := range b.Tracks(metric.DatasetOpens) {
			opened += t.Grown(between)
		}
		if reads.Grown(between) >= activityBytes || faulted >= 1 || opened >= 1 {
			active = append(active, between)
		}
	}
	loads := 0.0
	for _, w := range b.Spans {
		for _, a := range active {
			if part := w.And(a); part.Length() > 0 {
				loads += b.Grown(r.Entity, part, watched.LoadingStates...)
			}
		}
	}
	return stat.Share(stat.Divide(loads, stat.Sum(r.samples)))
}
