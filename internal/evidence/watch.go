package evidence

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// Lines below which the person is reported that the watch itself is thin.
const (
	fewSteps    = 20.0 // batches; TraceML asks for as many steps before it says anything critical
	thinSamples = 0.5  // share of planned samples that were taken
)

// watch takes what can be said of the watch itself.
func (b *builder) watch(r *rank) {
	var noise, cover figure
	if v, ok := b.ev.Get(metric.InputWait); ok && v.Confidence > 0 {
		noise = exact(v.Hi - v.Lo)
	}
	if every := b.Rec.Header.SampleInterval.Seconds(); every > 0 && stat.Sum(r.samples) > 0 {
		planned := b.Grow(r.Entity, metric.ThreadPlanned)
		if stat.Sum(planned) <= 0 { // a recording from before these were counted: at the pace it began with
			planned = stat.Each(len(b.Length), func(i int) float64 { return b.Length[i] / every })
		}
		cover = b.ratio(b.Grow(r.Entity, watched.SampleCounts), planned)
	}
	// samples of the trainer and its workers, and those for which the system call could not be read
	all, hidden := 0.0, 0.0
	for _, a := range append([]*watched.Process{r.Process}, r.workerSet...) {
		samples := stat.Sum(b.Grow(a.Entity, metric.ThreadSamples))
		if all += samples; b.blind(a.Entity) {
			hidden += samples
		}
	}
	b.take(metric.WindowTime, exact(stat.Sum(b.Length)), metric.ThreadSamples)
	b.take(metric.WaitNoise, noise, metric.LoaderWaiting, metric.LoaderSamples)
	b.take(metric.SampleCoverage, cover, metric.ThreadSamples)
	// noted as looks_* where system calls are refused
	b.take(metric.SyscallSeen, exact(1-stat.Divide(hidden, all)), metric.ThreadQueuePoll)
}

// blind reports whether the system calls of a thread could not be read, so that its state is taken from less.
func (b *builder) blind(entity string) bool {
	return slices.ContainsFunc(b.Rec.Unseen, func(u recording.Unseen) bool {
		return u.Signal == "looks_*" && (u.Entity == entity || u.Entity == "")
	})
}

// warnAfter says how long a launched job went on after the end of what the figures are of.
func (b *builder) warnAfter(end float64) {
	if b.Rec.Header.Mode != "launch" || !b.Ended || b.Rec.End == nil {
		return
	}
	if after := b.Rec.End.At.Seconds() - end; after >= watched.LeastStartup {
		b.warn("the last %.1f s of the job, after the last step that was seen, are left out", after)
	}
}

// warnings says what the person should know of this watch.
func (b *builder) warnings(r *rank) {
	clean, toItsEnd := stat.Sum(b.Length), b.Ended && b.Rec.Header.Mode == "launch"
	if cover, ok := b.center(metric.SampleCoverage); ok && cover < thinSamples {
		b.warn("only %.0f of 100 planned samples of threads could be taken: the machine is too busy for pipetune "+
			"itself", 100*cover)
	}
	switch {
	case toItsEnd:
	case b.Ended:
		b.warn("the job ended after %s of watching: the figures are of the time before",
			watched.Seconds(b.Last).Round(100*time.Millisecond))
	case b.Rec.End == nil:
		b.warn("the recording was cut off after %s", watched.Seconds(b.Last).Round(100*time.Millisecond))
	}
	if s := b.Startup; !s.Whole && s.To > 0 {
		b.warn("the job was starting up until %.0f s of the watch, which is left out: no step was seen, and %s", s.To,
			s.Doing)
	}
	if b.Detected {
		b.warn("the first %s differ from the rest and are left out as warm-up", b.Warmup.Round(100*time.Millisecond))
	}
	if b.Kept > 0 {
		b.warn("the beginning differs from the rest for %s longer than this watch could leave out: the figures hold "+
			"a part of the warm-up", b.Kept.Round(100*time.Millisecond))
	}
	switch {
	case clean >= watched.ShortWindow:
	case b.Failure != "": // a longer watch cures nothing
		b.warn("only %.1f s could be used", clean)
	case toItsEnd:
		b.warn("only %.1f s could be used: let the job run longer, for at least %.0f s of training", clean,
			watched.AdvisedTraining)
	default:
		b.warn("only %.1f s could be used: watch for longer, --duration %.0fs", clean, watched.AdvisedWatch)
	}
	b.warnBeside(r)
	if r.batches != nil && stat.Sum(r.batches) < fewSteps {
		longer := ": watch for longer"
		if b.Failure != "" {
			longer = ""
		} else if toItsEnd {
			longer = ": let the job run longer"
		}
		b.warn("only %.0f batches passed in the window%s", stat.Sum(r.batches), longer)
	}
	if lost := b.Steady.Within(b.Gaps); lost > 0 {
		b.warn("pipetune itself did not run for %.1f s; that time is left out", lost)
	}
	b.warnFull()
	b.warnHalts()
	backwards := 0
	for _, tracks := range b.Signals {
		for _, t := range tracks {
			backwards += t.Resets
		}
	}
	if backwards > 0 {
		b.warn("counters ran backwards %d times; those stretches are left out", backwards)
	}
	if len(b.ranks) > 1 {
		b.warnRanks()
	}
	b.warnHook(r)
}

// warnFull says what the recording had no room for.
func (b *builder) warnFull() {
	type full struct {
		Kept *int `json:"kept"`
	}
	for e, row := range recording.Each[full](b.Rec, recording.EventFull) {
		kept := recording.MaxProcesses
		if row.Kept != nil {
			kept = *row.Kept
		}
		if b.Last <= e.At.Seconds() {
			b.warn("more than %d processes took part in the job, which is what a recording holds: the figures are of "+
				"the %s until then", kept, e.At.Round(100*time.Millisecond))
		} else {
			b.warn("more than %d processes take part in the job, which is what a recording holds: the figures are of "+
				"the first of them", kept)
		}
		break
	}
	if n := b.Rec.OneOf; n > 1 {
		b.warn("the watch was long: of its readings one in %d was kept, evenly", n)
	}
}

// warnRanks compares the trainer whose device starves most with the median of all.
func (b *builder) warnRanks() {
	var stalls []float64
	for _, r := range b.ranks {
		if r.step != nil {
			stalls = append(stalls, r.step.Stall.Likely)
		}
	}
	if median, ok := stat.Quantile(stalls, 0.5); ok && b.ranks[0].step != nil {
		name := b.ev.Ranks[0].Name
		if !strings.HasPrefix(name, "pid") {
			name = "rank " + name
		}
		most := b.ranks[0].step.Stall.Likely
		if most-median < 0.01 {
			b.warn("%d trainers lack data alike, %.0f %% of the time", len(b.ranks), 100*most)
			return
		}
		b.warn("%d trainers: %s lacks data most, %.0f %% of the time; the median is %.0f %%", len(b.ranks), name,
			100*most, 100*median)
	}
}

// fromOutside ends a warning about a hook that is not to be had.
const fromOutside = "figures are from outside, as in attach mode"

// warnHook says where the hook reported less than it should. r is the trainer that waits most.
func (b *builder) warnHook(r *rank) {
	for _, h := range recording.Each[recording.Hook](b.Rec, recording.EventHook) {
		if h.State == "refused" {
			b.warn("%d messages to the hook's socket were refused: they came from no process of the job, or without "+
				"its token", h.Messages)
			break
		}
	}
	if r.hook != nil {
		b.warnReported(r)
		return
	}
	// Of a silent one, that it did not load would be wrong: it is in the job.
	says := map[string]string{"absent": "did not load", "silent": "reported nothing", "off": "switched itself off"}
	for _, h := range recording.Each[recording.Hook](b.Rec, recording.EventHook) {
		if says[h.State] != "" {
			b.warn("the hook %s: %s; %s", says[h.State], cmp.Or(h.Reason, "no reason was given"), fromOutside)
			return
		}
	}
	if reported, thin := b.thin[r.Entity]; thin {
		b.warn("the hook reported only %.1f s of the %.1f s that are used; %s", reported, stat.Sum(b.Length),
			fromOutside)
	}
}

// warnBeside says of which of several DataLoaders the figures are that were told apart from outside.
func (b *builder) warnBeside(r *rank) {
	others := b.Beside(r.Process)
	if r.hook != nil || len(others) == 0 || len(r.workerSet) == 0 {
		return
	}
	busiest := 0.0
	for _, o := range others {
		busiest = max(busiest, o.Busy)
	}
	b.warn("%d DataLoaders have workers: figures and advice are of the one that process %d works for; workers of "+
		"others are busy %.0f %% of the time at most", len(others)+1, r.workerSet[len(r.workerSet)-1].PID, 100*busiest)
}

// warnReported says where what the hook reported is not all.
func (b *builder) warnReported(r *rank) {
	h := r.hook
	if h.OffMain() <= mostlyOffMain { // else nothing is reported waits
		b.warnTogether(h)
	}
	if c := h.Training.Call; c.Foreign() {
		b.warn("the batches come from %s, which is no DataLoader of torch.utils.data: what its processes and threads "+
			"do is not known, nor what its settings would bring", c.Class)
	}
	if h.Training.Call.Evaluates {
		b.warn("no loader was asked for batches with gradients enabled in the window: the figures are of an " +
			"evaluation, or of inference")
	}
	for _, l := range h.Evaluations {
		if l.HeldOut {
			b.warn("%s goes over its dataset in order, with gradients enabled, in turns with one that shuffles: "+
				"taken for an evaluation, which torch.no_grad() would make cheaper", l.Named())
		}
	}
	for e, said := range recording.Each[recording.Hook](b.Rec, recording.EventHook) {
		if e.Entity == r.Entity && said.State == "off" && e.At.Seconds() < b.Last {
			b.warn("the hook switched itself off: %s; the exact figures are of the time before", said.Reason)
			break
		}
	}
	if lost := stat.Sum(b.Grow(r.Entity, metric.HookLost)); lost >= 1 {
		ended := 0.0
		for _, e := range h.Epochs {
			if end := e.Begun + e.Wall; e.Drain != nil && end >= b.Steady.From && end <= b.Steady.To {
				ended++
			}
		}
		if all := math.Round(stat.Sum(h.Training.Of(metric.HookEpochs))); ended < all-1 {
			b.warn("%.0f messages of the hook were lost: times of epochs are of %.0f of %.0f", lost, ended, all)
		}
	}
	for _, u := range b.Rec.Unseen {
		if u.Signal == "hook_*" && (u.Entity == r.Entity || u.Entity == "") {
			b.warn("the hook did not report all: %s", u.Reason)
		}
	}
	without := slices.DeleteFunc(slices.Clone(b.ranks), func(r *rank) bool { return r.hook != nil })
	if len(without) > 0 {
		b.warn("the hook reported %d of %d trainers: the figures of the others are from outside",
			len(b.ranks)-len(without), len(b.ranks))
	}
}
