package evidence

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// sharedTime is the part of a loop's time that must be another's too for both to be gone over in each step.
const sharedTime = 0.5

// choose picks, of the loops that are gone over together with the longest one, as by zip, the one that training waits
// most for: that is where a change helps. The others of them are its partners.
func (h *hooked) choose(longest *hookLoop, loops []*hookLoop) {
	group := []*hookLoop{longest}
	for _, l := range loops {
		if l != longest && l.trains() == longest.trains() && together(longest, l, h.reported) {
			group = append(group, l)
		}
	}
	slices.SortStableFunc(group, func(x, y *hookLoop) int { return cmp.Compare(sum(y.waits()), sum(x.waits())) })
	h.training, h.partners = group[0], group[1:]
}

// together reports whether two loops take turns within each step: their times cover each other, or the epochs of one
// lie within the steps of the other.
func together(x, y *hookLoop, reported []float64) bool {
	xs, ys := x.time(), y.time()
	shared, within := 0.0, 0.0
	xNested, yNested := x.of(metric.HookNested), y.of(metric.HookNested)
	for i := range reported {
		shared += max(xs[i]+ys[i]-reported[i], 0)
		within += max(min(xNested[i], ys[i]), min(yNested[i], xs[i]))
	}
	return max(shared, within) >= sharedTime*min(sum(xs), sum(ys))
}

// reportedWorkers tells from inside where the time of the workers goes, where that was not seen from outside, or was
// seen of several loaders together.
func (b *builder) reportedWorkers(r *rank) {
	l, reported := r.hook.training, r.hook.reported
	took, cpu := l.made(metric.HookFetchTime), l.made(metric.HookFetchCPU)
	workers := l.call.NumWorkers
	if _, seen := b.center(metric.WorkerBusy); seen || l.loadsItself() || workers == nil || sum(took) <= 0 {
		return
	}
	lived := times(reported, float64(*workers))
	busy := each(len(took), func(i int) float64 { return min(took[i], lived[i]) })
	b.set(metric.WorkerBusy, ratio(busy, lived))
	b.set(metric.WorkerIdle, ratio(each(len(busy), func(i int) float64 { return lived[i] - busy[i] }), lived))
	if sum(cpu) <= 0 {
		return
	}
	b.set(metric.WorkerRunning, ratio(each(len(cpu), func(i int) float64 { return min(cpu[i], busy[i]) }), lived))
	b.set(metric.WorkerOtherWait, ratio(each(len(cpu), func(i int) float64 { return max(busy[i]-cpu[i], 0) }), lived))
	b.set(metric.WorkerCPU, ratio(cpu, lived))
	seen, _, _ := b.total(metric.ProcCPU, r.workerSet)
	delay, _, _ := b.total(metric.ProcRunDelay, r.workerSet)
	// Per second on a CPU all workers are delayed alike.
	if all := sum(seen) + sum(b.programs(r.workerSet)); all > 0 && sum(delay) > 0 {
		b.set(metric.WorkerRunDelay, summary(stat.Ratio(cpu, lived).Scaled(sum(delay)/all)).by(metric.Inferred))
	}
}

// otherLoaders says what the partners of the training loop leave to it: how short a step can get with them as they are,
// and the CPUs that they use.
func (h *hooked) otherLoaders() (leastStep, cpus float64) {
	steps, trained := sum(h.training.of(metric.HookSteps)), sum(h.trained())
	if steps <= 0 || trained <= 0 || len(h.partners) == 0 {
		return 0, 0
	}
	own := max(trained-sum(h.waits()), 0) / steps
	for _, p := range h.partners {
		took := sum(p.made(metric.HookFetchTime)) / steps
		if n := p.call.NumWorkers; n != nil && *n > 0 {
			leastStep = max(leastStep, took/float64(*n))
			cpus += sum(p.made(metric.HookFetchCPU)) / trained
		} else {
			own += sum(p.waits()) / steps
		}
	}
	return max(leastStep, own), cpus
}

// warnTogether says of which of several loaders the report is.
func (b *builder) warnTogether(h *hooked) {
	all, own := sum(h.waits()), sum(h.training.waits())
	if len(h.partners) == 0 || all <= 0 {
		return
	}
	place := "an unknown line"
	if c := h.training.call; c.File != "" && c.Line > 0 {
		place = c.File + ":" + strconv.Itoa(c.Line)
	}
	b.warn("%d loaders are gone over in each step; %.0f %% of the wait is for the one made at %s, and settings and "+
		"costs of a loader are of that one", len(h.partners)+1, 100*own/all, place)
}
