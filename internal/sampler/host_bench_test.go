package sampler

import (
	"os/exec"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// BenchmarkHost is one reading of the samples of a busy trainer, which happens four times a second: 6 µs, so 0.0025 %
// of a core, on a busy machine with 2 cores and Linux 6.18.
func BenchmarkHost(b *testing.B) {
	cmd := exec.Command("/usr/bin/python3", "-c", "while True: pass")
	must.Do(b, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill() // it goes on for ever
		_ = cmd.Wait()
	}()
	p := must.Get(procfs.FS{}.Open(cmd.Process.Pid))(b)
	defer p.Close()
	h := NewHost(procfs.FS{}, oneTrainer(p.ID))
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
	cmd := exec.Command("/usr/bin/python3", "-c", "import torch, sys; print(1, flush=True); sys.stdin.read()")
	stdin := must.Get(cmd.StdinPipe())(b)
	out := must.Get(cmd.StdoutPipe())(b)
	must.Do(b, cmd.Start())
	defer func() {
		_ = stdin.Close()
		_ = cmd.Wait() // its end is that of its input
	}()
	must.Get(out.Read(make([]byte, 8)))(b)
	p := must.Get(procfs.FS{}.Open(cmd.Process.Pid))(b)
	defer p.Close()
	b.ReportAllocs()
	for b.Loop() {
		must.Get(readCode(procfs.FS{}, p.ID))(b)
	}
}
