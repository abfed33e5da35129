package sampler

import (
	"os/exec"
	"testing"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// BenchmarkHost is one reading of the samples of a busy trainer, which happens four times a second: 6 µs, so 0.0025 %
// of a core, on a busy machine with 2 cores and Linux 6.18.
func BenchmarkHost(b *testing.B) {
	id := started(b, exec.Command("/usr/bin/python3", "-c", "while True: pass"))
	h := NewHost(procfs.FS{}, jobOf(job.Process{ID: id, Role: job.Trainer}))
	defer h.Close()
	sink := newBook()
	b.ReportAllocs()
	for b.Loop() {
		h.Sample(b.Context(), sink)
	}
}

// BenchmarkReadCode is one reading of a process's maps, at its start and at most each three seconds where it runs
// code that is not known: 3 ms of a process that has imported PyTorch 1.13, on the same machine.
func BenchmarkReadCode(b *testing.B) {
	cmd := exec.Command("/usr/bin/python3", "-c", "import torch, time; print(1, flush=True); time.sleep(600)")
	out := must.Get(cmd.StdoutPipe())(b)
	id := started(b, cmd)
	must.Get(out.Read(make([]byte, 8)))(b)
	b.ReportAllocs()
	for b.Loop() {
		newCodeMap(must.Get(ofProcess(procfs.FS{}, id, (*procfs.Process).Code))(b))
	}
}
