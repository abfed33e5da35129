package watch

import (
	"os"
	"strings"

	"github.com/pipetune/pipetune/internal/openfiles"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

// table lists everything that watches, in the order it is asked, and what completes a header by what is known now.
func (w *watch) table() ([]sampler.Sampler, func(*recording.Header)) {
	target := w.Target()
	files := openfiles.New(openfiles.Config{FS: w.fs, Job: w.Job, Paths: w.Paths,
		Describe: describe(w.runner), Redaction: w.redact})
	gpu := sampler.NewGPU(w.fs, w.runner.Child(sampler.GPUSpec()), w.Job, w.hostNumbers())
	loader := sampler.NewLoader(w.fs, w.Job)
	if w.Duration == Endless {
		loader.Unhurried()
	}
	table := []sampler.Sampler{
		loader,
		sampler.NewProcess(w.fs, w.Job),
		sampler.NewHost(w.fs, w.Job),
		files,
		gpu,
		sampler.NewCPU(w.fs, w.targets),
		sampler.NewMemory(w.fs, target, w.Paths),
		sampler.NewDisk(w.fs, files.Data),
		sampler.NewPressure(w.fs, target),
		sampler.NewCgroup(w.fs, target, files.Data),
	}
	if w.Launched != nil {
		table = append(table, w.Launched)
	}
	return table, func(h *recording.Header) {
		h.Host.GPUs = gpu.GPUs()
		h.Host.Storage = files.Storage()
		h.Job, h.SampleInterval = w.Job.Header(), loader.Interval()
	}
}

// initialPIDNamespace is the inode of the first pid namespace of every Linux kernel (PROC_PID_INIT_INO,
// linux/proc_ns.h).
const initialPIDNamespace = 0xEFFFFFFC

// hostNumbers says whether pipetune sees processes under the numbers of the host's first pid namespace, as NVML names
// them.
func (w *watch) hostNumbers() bool {
	self, err := w.fs.Open(os.Getpid())
	if err != nil {
		return false
	}
	defer self.Close()
	space, err := self.PIDNamespace()
	return err == nil && space == initialPIDNamespace
}

// rootSink is the sink of a pipetune that is root already: what it may not read then is kept from it by its container,
// and to become root is no cure.
type rootSink struct{ recording.Sink }

// forUser is the sink for samplers of a process of that user.
func forUser(s recording.Sink, uid int) recording.Sink {
	if uid == 0 {
		return rootSink{s}
	}
	return s
}

// Unseen implements recording.Sink.
func (s rootSink) Unseen(signal, entity, reason, cure string) {
	if strings.Contains(cure, "as root") {
		cure = "root of this container may not: give the container SYS_PTRACE and the job's process namespace, or " +
			"start the job with pipetune diagnose -- COMMAND"
	}
	s.Sink.Unseen(signal, entity, reason, cure)
}
