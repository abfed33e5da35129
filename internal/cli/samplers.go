package cli

import (
	"context"

	"github.com/pipetune/pipetune/internal/openfiles"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/sampler"
)

// samplers is the table of everything that watches, in the order it is asked, and what completes the header at the end.
func (s *session) samplers() ([]sampler.Sampler, func(context.Context, *recording.Header)) {
	target := s.target()
	files := openfiles.New(openfiles.Config{FS: s.fs, Job: s.job, Paths: s.paths, Describe: describeDataset(s.runner),
		Redaction: s.redact})
	placement := sampler.NewPlacement(s.fs, target, files.DataPaths)
	gpu := sampler.NewGPU(s.fs, s.runner.Child(sampler.GPUSpec()), s.job, s.hostNumbers())
	loader := sampler.NewLoader(s.fs, s.job)
	if s.endless {
		loader.Unhurried()
	}
	table := []sampler.Sampler{
		loader,
		sampler.NewProcess(s.fs, s.job),
		sampler.NewHost(s.fs, s.job),
		files,
		gpu,
		sampler.NewCPU(s.fs, target),
		sampler.NewMemory(s.fs, target, s.paths),
		sampler.NewDisk(s.fs, placement),
		sampler.NewPressure(s.fs, target),
		sampler.NewCgroup(s.fs, target, placement),
	}
	if s.launched != nil {
		table = append(table, s.launched)
	}
	return table, func(_ context.Context, h *recording.Header) {
		h.Host.GPUs = gpu.GPUs()
		h.Host.Storage = files.Storage()
		h.Job, h.SampleInterval = s.job.Header(), loader.Interval()
	}
}

// initialPIDNamespace is the inode of the first pid namespace of every Linux kernel (PROC_PID_INIT_INO,
// linux/proc_ns.h).
const initialPIDNamespace = 0xEFFFFFFC

// hostNumbers says whether pipetune sees processes under the numbers of the host's first pid namespace, as NVML names
// them.
func (s *session) hostNumbers() bool {
	self, err := s.fs.Open(s.self)
	if err != nil {
		return false
	}
	defer self.Close()
	space, err := self.PIDNamespace()
	return err == nil && space == initialPIDNamespace
}
