package watch

import (
	"os"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

// table lists everything that watches, in the order it is asked, and what completes a header by what is known now.
func (w *watch) table() ([]sampler.Sampler, func(*recording.Header)) {
	target := w.Target()
	files := sampler.NewFiles(sampler.FilesConfig{FS: w.fs, Job: w.Job, Paths: w.Paths,
		Describe: describe(w.runner), Redaction: w.redact})
	placement := sampler.NewPlacement(w.fs, target, files.DataPaths)
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
		sampler.NewCPU(w.fs, target),
		sampler.NewMemory(w.fs, target, w.Paths),
		sampler.NewDisk(w.fs, placement),
		sampler.NewPressure(w.fs, target),
		sampler.NewCgroup(w.fs, target, placement),
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
