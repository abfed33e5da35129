package sampler

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// sleepers are a trainer and its workers, played by processes that sleep.
type sleepers struct{ tree *job.Tree }

func (s sleepers) Tree() *job.Tree { return s.tree }

func startSleepers(b *testing.B, workers int) sleepers {
	b.Helper()
	tree := &job.Tree{}
	for i := range workers + 1 {
		id, _ := sleeper(b)
		member := job.Process{ID: id, InnerPID: id.PID, Role: job.Trainer}
		if i > 0 {
			member.Role, member.Trainer = job.Worker, tree.Processes[0].ID
		}
		tree.Processes = append(tree.Processes, member)
	}
	return sleepers{tree}
}

// BenchmarkPass takes samples of a trainer and 16 workers, accounts and listings included, as fast as it can;
// cpu-µs/pass times fifty is what a second costs beside the wake-ups.
func BenchmarkPass(b *testing.B) {
	l := NewLoader(procfs.FS{}, startSleepers(b, 16))
	defer l.Close()
	l.pass(0)
	b.ReportAllocs()
	before := cpuTime(b)
	b.ResetTimer()
	now := time.Duration(0)
	for b.Loop() {
		now += SampleInterval
		l.pass(now)
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(time.Microsecond)/float64(b.N), "cpu-µs/pass")
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	must.Do(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
