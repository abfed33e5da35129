package sampler

import (
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// sleepers are a trainer and its workers, played by processes that sleep.
func sleepers(b *testing.B, workers int) *crew {
	b.Helper()
	members := jobOf()
	for i := range workers + 1 {
		id, _ := sleeper(b)
		member := job.Process{ID: id, InnerPID: id.PID, Role: job.Trainer}
		if i > 0 {
			member.Role, member.Trainer = job.Worker, members.tree.Processes[0].ID
		}
		members.tree.Processes = append(members.tree.Processes, member)
	}
	return members
}

// BenchmarkPass takes samples of a trainer and 16 workers, accounts and listings included, as fast as it can;
// cpu-µs/pass times fifty is what a second costs beside the wake-ups.
func BenchmarkPass(b *testing.B) {
	l := NewLoader(procfs.FS{}, sleepers(b, 16))
	defer l.Close()
	l.pass(0)
	b.ReportAllocs()
	before := must.CPUTime(b)
	b.ResetTimer()
	now := time.Duration(0)
	for b.Loop() {
		now += SampleInterval
		l.pass(now)
	}
	b.ReportMetric(float64(must.CPUTime(b)-before)/float64(time.Microsecond)/float64(b.N), "cpu-µs/pass")
}
