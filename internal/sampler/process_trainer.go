package sampler

import (
	"errors"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// mainThread is that of a trainer, which is read by itself.
type mainThread struct {
	task   *procfs.Task // nil where it cannot be opened
	unread error        // why not, until it is reported
	noIO   bool         // the kernel refuses or lacks the account of its reads and writes
}

// mainOf returns the main thread of a trainer; nil of another process, and where it has ended, which the next reading
// finds.
func mainOf(h *heldProcess, p job.Process) *mainThread {
	if p.Role != job.Trainer {
		h.main.close()
		return nil
	}
	if h.main != nil {
		return h.main
	}
	task, err := h.proc.Task(p.PID)
	if errors.Is(err, procfs.ErrGone) {
		return nil
	}
	return &mainThread{task: task, unread: err}
}

func (t *mainThread) read(h *heldProcess, sink recording.Sink) {
	if t.unread != nil {
		h.missing(sink, t.unread, metric.ProcMainSystem, metric.ProcMainReadChars, metric.ProcMainWriteChars)
		t.unread = nil
	}
	if t.task == nil {
		return
	}
	var st procfs.Stat
	if t.task.Stat(&st) == nil { // what keeps it from being read keeps the process's own from it, and is reported there
		sink.Add(metric.ProcMainSystem, h.entity, st.SystemSeconds)
	}
	var io procfs.IO
	if !t.noIO && h.got(sink, t.task.IO(&io), &t.noIO, metric.ProcMainReadChars, metric.ProcMainWriteChars) {
		sink.Add(metric.ProcMainReadChars, h.entity, float64(io.ReadChars))
		sink.Add(metric.ProcMainWriteChars, h.entity, float64(io.WrittenChars))
	}
}

func (t *mainThread) close() {
	if t != nil && t.task != nil {
		t.task.Close()
	}
}
