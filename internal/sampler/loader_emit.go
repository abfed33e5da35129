package sampler

import (
	"errors"
	"io/fs"
	"strconv"
	"syscall"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

func (t *trainer) emit(l *Loader, sink recording.Sink) {
	entity := job.Entity(t.id)
	emitSamples(sink, entity, &t.mainSamples)
	sink.Add(metric.ThreadPlanned, entity, l.pace.planned)
	sink.Add(metric.ThreadHostRunning, entity, float64(t.hostRunning))
	if t.mainSamples.knows {
		sink.Add(metric.ThreadGILReceiving, entity, float64(t.barred))
	}
	if t.autograd.counts.total > 0 {
		emitSamples(sink, job.AutogradEntity(t.id), &t.autograd.counts)
	}
	l.reportBlind(sink, entity, t.main)
	// Of workers that are seldom sampled every second one's counts are reported in turn, those of a new one at once.
	t.emits++
	rounds := min(t.setEvery(), 2)
	i := uint64(0)
	for w := range t.workers() {
		w.tellLoader(sink)
		if i++; w.reported && (t.emits+i)%rounds != 0 {
			continue
		}
		w.reported = true
		emitSamples(sink, job.Entity(w.id), &w.samples)
		l.reportBlind(sink, job.Entity(w.id), w.main)
	}
	for _, w := range t.departed {
		w.tellLoader(sink)
		emitSamples(sink, job.Entity(w.id), &w.samples)
		if !w.unlisted {
			t.left = append(t.left, w.id)
		}
	}
	t.departed = nil
	if k := &t.taker; k.pinned.total > 0 {
		emitSamples(sink, job.PinEntity(t.id), &k.pinned)
	}
	if k := &t.taker; k.taken.total > 0 {
		emitSamples(sink, job.TakerEntity(t.id), &k.taken)
	}
	if k := &t.taker; k.thread != nil && !k.own && k.found && !k.reported {
		k.reported = true
		sink.Event(recording.EventPin, job.PinEntity(t.id), map[string]string{"thread": strconv.Itoa(k.tid),
			"trainer": entity})
	}
	for _, d := range t.loaders {
		if !t.ended {
			sink.Add(metric.LoaderWorkers, d.entity, float64(len(d.workers)))
		}
		d.change.emit(l, d.entity, sink)
		if d.had {
			d.joint.emit(sink, d.entity)
			working := d.joint.alive - d.joint.idle // of idle workers no tensor is seen
			d.batches.Emit(sink, d.entity, min(d.joint.samples, working))
		}
	}
	t.feeders.emit(l, t, sink)
	t.remotes.emit(t.id, sink)
}

// tellLoader says which loader a worker is of, where that is not the first, or was said to be another.
func (w *loaderWorker) tellLoader(sink recording.Sink) {
	if w.told == w.loader.number {
		return
	}
	w.told = w.loader.number
	sink.Event(recording.EventWorkerOf, job.Entity(w.id), map[string]string{"loader": strconv.Itoa(w.told)})
}

// reportBlind says once why the system calls of a thread cannot be read, and what would change that.
func (l *Loader) reportBlind(sink recording.Sink, entity string, t *watchedThread) {
	if t.blind == nil {
		return
	}
	reason := "system calls cannot be read (" + t.blind.Error() +
		"); what a thread waits for is taken from the kernel function it sleeps in"
	if t.mute {
		reason = "neither system calls nor kernel functions can be read (" + t.blind.Error() +
			"); only running, storage wait and stopped are distinguished"
	}
	sink.Unseen("looks_*", entity, reason, l.blindCure(t.blind))
}

// blindCure is what would let the system calls be read. Yama refuses with EPERM what the owner of the process may
// otherwise do (security/yama/yama_lsm.c); another user's process is refused when the file is opened, with EACCES.
func (l *Loader) blindCure(err error) string {
	const asUser = "run pipetune as the user of the job, or as root"
	switch {
	case errors.Is(err, syscall.EACCES):
		return asUser
	case !errors.Is(err, fs.ErrPermission):
		return "" // no such file: built into the kernel, or not
	}
	scope, err := l.fs.PtraceScope()
	switch {
	case err != nil:
		return asUser
	case scope == 1:
		return "sudo sysctl kernel.yama.ptrace_scope=0; or start the job under pipetune: pipetune diagnose -- COMMAND"
	case scope == 2:
		return "sudo sysctl kernel.yama.ptrace_scope=0; or run pipetune as root"
	case scope == 3:
		return "boot with kernel.yama.ptrace_scope=0: scope 3 cannot be lowered while running"
	}
	return asUser
}
