package evidence

import "github.com/pipetune/pipetune/internal/metric"

// mostlyAside is the share of a loop's steps beyond which another thread than the main one takes its batches: a prefetcher, or one that trains.
const mostlyAside = 0.5

// aside is the share of the training loop's steps in the window that another thread than the main one took.
func (h *hooked) aside() float64 {
	return orNothing(divide(sum(h.training.of(metric.HookAside)), sum(h.training.of(metric.HookSteps))))
}

// TakenAside says why the wait of a step is unknown where another thread takes the batches.
const TakenAside = "batches are taken by another thread than the main one (a prefetcher): how long that thread waits is not what a step waits"

// ofSteps are the signals that tell how a step divides, or what the main thread waits for.
var ofSteps = []metric.Desc{metric.InputWait, metric.InWorkerless, metric.StepWait, metric.FreeStepTime, metric.HostTime, metric.DeviceTime, metric.EpochGap,
	metric.Starved, metric.HeadOfLine, metric.LoaderIsAhead, metric.IdleWhileWaits}

// hookAside leaves out how a step divides where another thread takes the batches. Counts and what batches cost to make stand.
func (b *builder) hookAside(r *rank) {
	if r.hook.aside() <= mostlyAside {
		return
	}
	b.drop(ofSteps...)
	for _, d := range ofSteps {
		delete(b.ev.windows, d.Name)
	}
	b.miss(TakenAside, "for one watch, let the main thread take the batches", ofSteps...)
}
