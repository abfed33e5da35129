package sampler

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

// sleeper starts a process that does nothing and returns its identity.
func sleeper(t testing.TB) (procfs.ID, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("/bin/sleep", "600")
	return started(t, cmd), cmd
}

// processSampler is a sampler by a clock that the test moves.
func processSampler(t testing.TB, members Members) (*Process, *time.Time) {
	now := time.Unix(1000, 0)
	s := NewProcess(procfs.FS{}, members)
	s.clock = func() time.Time { return now }
	t.Cleanup(s.Close)
	return s, &now
}

func TestProcessReadsEverySignal(t *testing.T) {
	self := self(t)
	s, _ := processSampler(t, jobOf(job.Process{ID: self, Role: job.Trainer, AutogradThreads: []int{self.PID}}))
	sink := newBook()
	s.Sample(context.Background(), sink)
	for _, d := range metric.Process {
		v, ok := sink.last[d.Name+" "+job.Entity(self)]
		if !ok || v < 0 {
			t.Errorf("%s: %v, recorded %v", d.Name, v, ok)
		}
	}
	if v := sink.last[metric.ProcRSS.Name+" "+job.Entity(self)]; v < 1<<20 {
		t.Errorf("resident memory %v", v)
	}
	if len(sink.unseen) != 0 {
		t.Errorf("unseen %v", sink.unseen)
	}
}

func TestProcessKeepsItsPaceAndReadsNewcomersAtOnce(t *testing.T) {
	first, _ := sleeper(t)
	second, _ := sleeper(t)
	members := jobOf(job.Process{ID: first})
	s, now := processSampler(t, members)
	sink := newBook()
	key := func(id procfs.ID) string { return metric.ProcCPU.Name + " " + job.Entity(id) }
	s.Sample(context.Background(), sink)
	*now = now.Add(100 * time.Millisecond)
	s.Sample(context.Background(), sink)
	if n := sink.counts[key(first)]; n != 1 {
		t.Errorf("%d readings within 100 ms, want 1", n)
	}
	members.are(job.Process{ID: first}, job.Process{ID: second})
	*now = now.Add(100 * time.Millisecond)
	s.Sample(context.Background(), sink)
	if a, b := sink.counts[key(first)], sink.counts[key(second)]; a != 1 || b != 1 {
		t.Errorf("%d and %d readings, want 1 and 1", a, b)
	}
	*now = now.Add(processEvery)
	s.Sample(context.Background(), sink)
	if a, b := sink.counts[key(first)], sink.counts[key(second)]; a != 2 || b != 2 {
		t.Errorf("%d and %d readings, want 2 and 2", a, b)
	}
}

func TestProcessNeverReadsAnotherProcessOfTheSameNumber(t *testing.T) {
	id, _ := sleeper(t)
	former := procfs.ID{PID: id.PID, Start: id.Start - 1}
	s, _ := processSampler(t, jobOf(job.Process{ID: former}))
	sink := newBook()
	s.Sample(context.Background(), sink)
	if len(sink.last) != 0 {
		t.Errorf("credited %v", sink.last)
	}
}

// successor ends a process and starts another under its number, as far as the machine lets us choose: writing
// ns_last_pid needs privilege, and somebody else may be faster. It returns the new process, and whether the number
// could be chosen.
func successor(t *testing.T, former procfs.ID, cmd *exec.Cmd) (next procfs.ID, chosen bool) {
	t.Helper()
	_ = cmd.Process.Kill() // it sleeps
	_ = cmd.Wait()
	err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(former.PID-1)), 0)
	next, _ = sleeper(t)
	return next, err == nil
}

func TestProcessCreditsNothingAcrossReuse(t *testing.T) {
	const tries = 40
	reused, choices := 0, 0
	for range tries {
		former, cmd := sleeper(t)
		members := jobOf(job.Process{ID: former})
		held, now := processSampler(t, members) // was watching when the number changed hands
		sink := newBook()
		held.Sample(context.Background(), sink)
		next, chosen := successor(t, former, cmd)
		same := next.PID == former.PID
		if same {
			reused++
		}
		if chosen {
			choices++
		}
		*now = now.Add(time.Second)
		held.Sample(context.Background(), sink)
		if n := sink.counts[metric.ProcCPU.Name+" "+job.Entity(former)]; n != 1 {
			t.Errorf("%d readings of %v, want 1", n, former)
		}
		late, _ := processSampler(t, members) // comes when the number has changed hands
		sink = newBook()
		late.Sample(context.Background(), sink)
		// Where another program took the number, it may have begun within the same 10 ms, and nothing tells it from the
		// former.
		if same && next != former && len(sink.last) != 0 {
			t.Errorf("%v was credited with %v", former, sink.last)
		}
	}
	t.Logf("%d of %d numbers were given again at once, %d were chosen", reused, tries, choices)
	if choices == tries && reused == 0 {
		t.Error("none was given again: nothing is known of what happens then")
	}
}

func TestProcessStopsAtTheEnd(t *testing.T) {
	id, cmd := sleeper(t)
	s, now := processSampler(t, jobOf(job.Process{ID: id}))
	sink := newBook()
	s.Sample(context.Background(), sink)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	*now = now.Add(time.Second)
	s.Sample(context.Background(), sink)
	if n := sink.counts[metric.ProcCPU.Name+" "+job.Entity(id)]; n != 1 {
		t.Errorf("%d readings, want the one before the end", n)
	}
	if len(s.held) != 0 || len(sink.unseen) != 0 {
		t.Errorf("held %v, unseen %v", s.held, sink.unseen)
	}
}

func TestProcessBoundsItsSeries(t *testing.T) {
	id, _ := sleeper(t)
	s, _ := processSampler(t, jobOf(job.Process{ID: id}))
	s.known = maxProcesses
	sink := newBook()
	s.Sample(context.Background(), sink)
	if len(sink.last) != 0 || len(sink.unseen) != 1 {
		t.Errorf("values %v, unseen %v", sink.last, sink.unseen)
	}
}

// BenchmarkProcess17 is one reading of a trainer and 16 workers, which happens twice a second: 0.45 ms, so 0.09 % of a
// core, on a busy machine with 2 cores at 2.9 GHz and Linux 6.18.
func BenchmarkProcess17(b *testing.B) {
	s, now := processSampler(b, sleepers(b, 16))
	sink := newBook()
	b.ReportAllocs()
	for b.Loop() {
		*now = now.Add(processEvery)
		s.Sample(context.Background(), sink)
	}
}

// TestProcessCountsWhatEndedChildrenUsed: a worker that runs a program for each item uses next to no CPU itself.
func TestProcessCountsWhatEndedChildrenUsed(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c",
		`sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; echo done; read line`)
	must.Get(cmd.StdinPipe())(t) // nothing is written to it: the shell stays
	stdout := must.Get(cmd.StdoutPipe())(t)
	id := started(t, cmd)
	must.Get(stdout.Read(make([]byte, 8)))(t) // the loop is over
	s, _ := processSampler(t, jobOf(job.Process{ID: id, Role: job.Worker}))
	sink := newBook()
	s.Sample(context.Background(), sink)
	own, ended := sink.get(t, metric.ProcCPU, job.Entity(id)), sink.get(t, metric.ProcEndedCPU, job.Entity(id))
	if ended < 0.05 || own > ended {
		t.Errorf("the shell used %v s itself, its child %v s", own, ended)
	}
}
