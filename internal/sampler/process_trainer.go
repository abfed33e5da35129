package sampler

import (
	"errors"
	"slices"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// trainerThreads are the threads of a trainer that are read one by one: the main one, and those of the backward pass.
type trainerThreads struct {
	main     *procfs.Task // nil where it could not be opened
	noIO     bool         // the kernel refuses or lacks the account of the main thread's reads and writes
	autograd []autogradThread
	ended    float64 // CPU seconds of autograd threads that have ended
	had      bool    // there was an autograd thread
}

type autogradThread struct {
	task *procfs.Task
	cpu  float64 // seconds, at the last reading
}

// threadsOf returns what is read of a process's threads, nil where it is no trainer.
func threadsOf(h *heldProcess, p job.Process) *trainerThreads {
	t := h.threads
	if p.Role != job.Trainer {
		t.close()
		return nil
	}
	if t == nil {
		t = &trainerThreads{}
		t.main, _ = h.proc.Task(p.PID) // without it the process has ended, which the next reading finds
	}
	t.autograd = slices.DeleteFunc(t.autograd, func(a autogradThread) bool {
		if slices.Contains(p.AutogradThreads, a.task.TID) {
			return false
		}
		t.end(a)
		return true
	})
	for _, tid := range p.AutogradThreads {
		if slices.ContainsFunc(t.autograd, func(a autogradThread) bool { return a.task.TID == tid }) {
			continue
		}
		if task, err := h.proc.Task(tid); err == nil {
			t.autograd, t.had = append(t.autograd, autogradThread{task: task}), true
		}
	}
	return t
}

// read records one reading.
func (t *trainerThreads) read(h *heldProcess, sink recording.Sink) {
	if t.main != nil {
		var st procfs.Stat
		if t.main.Stat(&st) == nil { // what keeps it from being read keeps the process's own from it, and is told there
			sink.Add(metric.ProcMainSystem, h.entity, st.SystemSeconds)
			sink.Add(metric.ProcMainMinFaults, h.entity, float64(st.MinorFaults))
		}
		t.account(h, sink)
	}
	if !t.had {
		return
	}
	total, known := t.ended, true
	for i := 0; i < len(t.autograd); i++ {
		a := &t.autograd[i]
		var s procfs.Schedstat
		switch err := a.task.Schedstat(&s); {
		case err == nil:
			a.cpu = s.CPU.Seconds()
		case !errors.Is(err, procfs.ErrGone):
			known = false // as of the main thread, where it is told
		}
		total += a.cpu
	}
	if known {
		sink.Add(metric.ProcAutogradCPU, h.entity, total)
	}
}

// account records what the main thread read and wrote.
func (t *trainerThreads) account(h *heldProcess, sink recording.Sink) {
	if t.noIO {
		return
	}
	var io procfs.IO
	switch err := t.main.IO(&io); {
	case err == nil:
		sink.Add(metric.ProcMainReadChars, h.entity, float64(io.ReadChars))
		sink.Add(metric.ProcMainWriteChars, h.entity, float64(io.WrittenChars))
	case !errors.Is(err, procfs.ErrGone):
		t.noIO = true
		h.missing(sink, err, metric.ProcMainReadChars, metric.ProcMainWriteChars)
	}
}

// end keeps what a thread used that has ended.
func (t *trainerThreads) end(a autogradThread) {
	t.ended += a.cpu
	a.task.Close()
}

func (t *trainerThreads) close() {
	if t == nil {
		return
	}
	if t.main != nil {
		t.main.Close()
	}
	for _, a := range t.autograd {
		a.task.Close()
	}
}
