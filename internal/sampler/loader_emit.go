package sampler

import (
	"errors"
	"io/fs"
	"math"
	"strconv"
	"syscall"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// emit records what is known of a trainer and its loader.
func (t *trainer) emit(l *Loader, sink recording.Sink) {
	entity := job.Entity(t.id)
	emitLooks(sink, entity, &t.mainLook)
	sink.Add(metric.LooksHostRun, entity, float64(t.hostRunning))
	if t.autograd.counts.total > 0 {
		emitLooks(sink, job.AutogradEntity(t.id), &t.autograd.counts)
	}
	l.tellBlind(sink, entity, t.main)
	for _, w := range t.workers {
		emitLooks(sink, job.Entity(w.id), &w.looks)
		l.tellBlind(sink, job.Entity(w.id), w.main)
	}
	for _, w := range t.departed {
		emitLooks(sink, job.Entity(w.id), &w.looks)
		if !w.unlisted {
			t.left = append(t.left, w.id)
		}
	}
	t.departed = nil
	if t.pinLook.total > 0 {
		emitLooks(sink, job.PinEntity(t.id), &t.pinLook)
	}
	if t.pin != nil && t.pinFound && !t.pinTold {
		t.pinTold = true
		sink.Event(recording.EventPin, job.PinEntity(t.id), map[string]string{"thread": strconv.Itoa(t.pinThread), "trainer": entity})
	}
	t.emitLoader(sink, job.LoaderEntity(t.id))
	t.feeders.emit(l, t, sink)
	t.remotes.emit(t.id, sink)
}

func (t *trainer) emitLoader(sink recording.Sink, entity string) {
	if !t.ended {
		sink.Add(metric.LoaderWorkers, entity, float64(active(t.workers)))
	}
	if !t.had {
		return
	}
	t.joint.emit(sink, entity)
	t.emitTensors(sink, entity)
}

// emit records the counts.
func (j *jointCounts) emit(sink recording.Sink, entity string) {
	for _, c := range []struct {
		desc  metric.Desc
		value uint64
	}{
		{metric.LoaderLooks, j.looks}, {metric.LoaderWaiting, j.waiting}, {metric.LoaderIdleSum, j.idle}, {metric.LoaderAliveSum, j.alive},
		{metric.LoaderWaitIdle, j.waitIdle}, {metric.LoaderWaitAlive, j.waitAlive}, {metric.LoaderBlocked, j.headOfLine},
		{metric.LoaderAhead, j.ahead}, {metric.LoaderNoWorkers, j.restarting},
	} {
		sink.Add(c.desc, entity, float64(c.value))
	}
}

func (t *trainer) emitTensors(sink recording.Sink, entity string) {
	f := &t.tensors
	for _, w := range t.workers {
		if w.fdErr != nil {
			sink.Unseen(metric.LoaderTensors.Name, entity, w.fdErr.Error(), "run pipetune as the user of the job, or as root")
			break
		}
	}
	switch {
	case f.sighted:
		sink.Add(metric.LoaderTensors, entity, math.Floor(f.tensors))
		if n := f.period.tensors; n > 0 {
			sink.Add(metric.LoaderTensorsPer, entity, float64(n))
			sink.Add(metric.LoaderBatches, entity, math.Floor(f.batches))
		} else if f.tensors >= undecidedTensors && t.joint.looks >= undecidedLooks {
			sink.Unseen(metric.LoaderTensorsPer.Name, entity, "neither sizes nor numbers of the tensors repeat clearly enough to tell how many make a batch",
				"watch longer")
		}
		var count int
		var size int64
		for _, w := range t.workers {
			count += w.ledger.heldCount
			size += w.ledger.heldBytes
		}
		sink.Add(metric.LoaderQueued, entity, float64(count))
		sink.Add(metric.LoaderQueuedByte, entity, float64(size))
		if f.batchBytes > 0 {
			sink.Add(metric.LoaderBatchBytes, entity, float64(f.batchBytes))
		}
	case f.pickled.writesPerBatch > 0:
		const why = "batches hold no torch tensors: they are pickled through a pipe; batches are counted by the workers' write calls"
		sink.Unseen(metric.LoaderTensors.Name, entity, why, "return tensors from the dataset or its collate_fn")
		sink.Unseen(metric.LoaderQueued.Name, entity, why, "return tensors from the dataset or its collate_fn")
		sink.Add(metric.LoaderBatches, entity, f.pickled.batches)
		sink.Add(metric.LoaderBatchBytes, entity, float64(f.pickled.bytes))
	case t.joint.looks >= unsightedLooks:
		sink.Unseen(metric.LoaderTensors.Name, entity, "no tensor on its way was seen, and the workers' write calls do not tell what a batch is",
			"watch longer")
	}
}

// When to say that something cannot be told, which may turn out otherwise later: after so many tensors and 12 s of looks, or after
// 20 s of looks.
const (
	undecidedTensors = 100
	undecidedLooks   = 600
	unsightedLooks   = 1000
)

// tellBlind says once why the system calls of a thread cannot be read, and what would change that.
func (l *Loader) tellBlind(sink recording.Sink, entity string, t *watchedThread) {
	if t.blind == nil {
		return
	}
	reason := "system calls cannot be read (" + t.blind.Error() + "); what a thread waits for is taken from the kernel function it sleeps in"
	if t.mute {
		reason = "neither system calls nor kernel functions can be read (" + t.blind.Error() + "); only running, storage wait and stopped are told apart"
	}
	sink.Unseen("looks_*", entity, reason, l.blindCure(t.blind))
}

// blindCure is what would let the system calls be read. Yama refuses with EPERM what the owner of the process may otherwise do
// (security/yama/yama_lsm.c); another user's process is refused when the file is opened, with EACCES.
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
