package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// fromOutside ends a warning about a hook that is not to be had.
const fromOutside = "figures are from outside, as in attach mode"

// warnHook says where the hook reported less than it should. r is the trainer that waits most.
func (b *builder) warnHook(r *rank) {
	for _, h := range recording.Each[recording.Hook](b.rec, recording.EventHook) {
		if h.State == "refused" {
			b.warn("%d messages to the hook's socket were refused: they came from no process of the job, or without "+
				"its token", h.Messages)
			break
		}
	}
	if r != nil && r.hook != nil {
		b.warnReported(r)
		return
	}
	// Of a silent one, that it did not load would be wrong: it is in the job.
	says := map[string]string{"absent": "did not load", "silent": "reported nothing", "off": "switched itself off"}
	for _, h := range recording.Each[recording.Hook](b.rec, recording.EventHook) {
		if says[h.State] != "" {
			b.warn("the hook %s: %s; %s", says[h.State], cmp.Or(h.Reason, "no reason was given"), fromOutside)
			return
		}
	}
	if r == nil {
		return
	}
	if reported, thin := b.thin[r.entity]; thin {
		b.warn("the hook reported only %.1f s of the %.1f s that are used; %s", reported, sum(b.length), fromOutside)
	}
}

// warnReported says where what the hook reported is not all.
func (b *builder) warnReported(r *rank) {
	h := r.hook
	if h.offMain() <= mostlyOffMain { // else nothing is reported waits
		b.warnTogether(h)
	}
	if c := h.training.call; c.foreign() {
		b.warn("the batches come from %s, which is no DataLoader of torch.utils.data: what its processes and threads "+
			"do is not known, nor what its settings would bring", c.Class)
	}
	if h.training.call.Evaluates {
		b.warn("no loader was asked for batches with gradients enabled in the window: the figures are of an " +
			"evaluation, or of inference")
	}
	for _, l := range h.evaluations {
		if l.heldOut {
			b.warn("%s goes over its dataset in order, with gradients enabled, in turns with one that shuffles: "+
				"taken for an evaluation, which torch.no_grad() would make cheaper", l.named())
		}
	}
	for e, said := range recording.Each[recording.Hook](b.rec, recording.EventHook) {
		if e.Entity == r.entity && said.State == "off" && e.At.Seconds() < b.steady.to {
			b.warn("the hook switched itself off: %s; the exact figures are of the time before", said.Reason)
			break
		}
	}
	if lost := sum(b.grow(r.entity, metric.HookLost)); lost >= 1 {
		ended := 0.0
		for _, e := range h.epochs {
			if end := e.Begun + e.Wall; e.Drain != nil && end >= b.steady.from && end <= b.steady.to {
				ended++
			}
		}
		if all := math.Round(sum(h.training.of(metric.HookEpochs))); ended < all-1 {
			b.warn("%.0f messages of the hook were lost: times of epochs are of %.0f of %.0f", lost, ended, all)
		}
	}
	for _, u := range b.rec.Unseen {
		if u.Signal == "hook_*" && (u.Entity == r.entity || u.Entity == "") {
			b.warn("the hook did not report all: %s", u.Reason)
		}
	}
	without := slices.DeleteFunc(slices.Clone(b.ranks), func(r *rank) bool { return r.hook != nil })
	if len(without) > 0 {
		b.warn("the hook reported %d of %d trainers: the figures of the others are from outside",
			len(b.ranks)-len(without), len(b.ranks))
	}
}

// named is a loop by where its loader is made.
func (l *hookLoop) named() string {
	if l.call.File == "" {
		return "a loader"
	}
	return fmt.Sprintf("the loader of %s:%d", l.call.File, l.call.Line)
}
