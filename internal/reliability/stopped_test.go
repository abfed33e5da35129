//go:build reliability

package reliability

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

var stoppedTrials = []trial{
	{
		id: "F3-frozen", fault: "the job is frozen",
		made:   "its freezer cgroup (version 1, else version 2) says FROZEN from 5 s to the end of a watch of 14 s",
		target: "\"stopped or frozen since t\", t right to 1 s; never input-bound",
		run:    func(s *stand) { stoppedJob(s, freeze) },
	},
	{
		id: "F3-trainer", fault: "the trainer is stopped", made: "SIGSTOP at 5 s of a watch of 14 s",
		target: "as F3-frozen", run: func(s *stand) { stoppedJob(s, stopTrainer) },
	},
	{
		id: "F3-worker", fault: "one of two workers is stopped", made: "SIGSTOP at 5 s of a watch of 14 s",
		target: "as F3-frozen, with the worker's number", run: func(s *stand) { stoppedJob(s, stopWorker) },
	},
	{
		id: "F3-exec", fault: "a worker hangs in state D",
		made:   "it starts a program (vfork) that lies on a FUSE mount which does not answer",
		target: "the watch ends, names a wait for a child, and is never input-bound for the time before",
		run:    hungWorker,
	},
	{
		id: "F7-stopped", fault: "pipetune itself is stopped for 8 s", made: "SIGSTOP, SIGCONT in a watch of 20 s",
		target: "the gap is told, right to 1 s; rates as in an undisturbed watch; no burst of ticks afterwards",
		run:    func(s *stand) { pausedWatch(s, false) },
	},
	{
		id: "F7-frozen", fault: "pipetune and the job are frozen for 8 s", made: "one freezer cgroup around both",
		target: "as F7-stopped", run: func(s *stand) { pausedWatch(s, true) },
	},
	{
		id: "F7-hog", fault: "others take the CPUs",
		made:   "two endless loops per CPU at nice -20 beside a watch of 12 s",
		target: "the watch ends in time, and says what it could not see", run: hoggedWatch,
	},
}

// said is all that a report says in words.
func said(r *report.Report) string {
	words := slices.Clone(r.Warnings)
	if r.Verdict != nil {
		words = append(append(words, r.Verdict.Statement), r.Verdict.Doubts...)
	}
	for _, a := range r.Abstained {
		words = append(words, a.Reason, a.Cure)
	}
	return strings.Join(words, "\n")
}

// freezer makes a cgroup that can be frozen, moves processes into it, and returns what freezes and thaws it.
func (s *stand) freezer(pids ...int) (freeze, thaw func()) {
	s.Helper()
	dir, words := cgroup(s, "freezer", [3]string{"freezer.state", "FROZEN", "THAWED"},
		[3]string{"cgroup.freeze", "1", "0"})
	write := func(name, text string) {
		s.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0); err != nil {
			s.Fatalf("writing %q to %s: %v", text, name, err)
		}
	}
	for _, pid := range pids {
		write("cgroup.procs", strconv.Itoa(pid))
	}
	s.Cleanup(func() { // runs before the processes are ended, which frozen they could not be
		write(words[0], words[2])
		left, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			s.Error(err)
		}
		for pid := range strings.FieldsSeq(string(left)) {
			if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "cgroup.procs"), []byte(pid), 0); err != nil {
				s.Log(err) // it has ended meanwhile
			}
		}
	})
	return func() { write(words[0], words[1]) }, func() { write(words[0], words[2]) }
}

// workersOf lists the processes a job has started.
func workersOf(c *command) []int {
	return slices.DeleteFunc(c.session(), func(pid int) bool { return pid == c.pid() })
}

// The ways of stopping a job; each returns how to undo it and what the report must call who was stopped.
func freeze(s *stand, c *command) (undo func(), who string) {
	freeze, thaw := s.freezer(c.session()...)
	freeze()
	return thaw, "the job"
}

func stopTrainer(_ *stand, c *command) (func(), string) {
	c.signal(syscall.SIGSTOP)
	return func() { c.signal(syscall.SIGCONT) }, "the job"
}

func stopWorker(s *stand, c *command) (func(), string) {
	workers := workersOf(c)
	if len(workers) == 0 {
		s.Fatal("the job has no workers now")
	}
	kill := func(sig syscall.Signal) {
		if err := syscall.Kill(workers[0], sig); err != nil {
			s.Error(err)
		}
	}
	kill(syscall.SIGSTOP)
	return func() { kill(syscall.SIGCONT) }, "loader worker " + strconv.Itoa(workers[0])
}

func stoppedJob(s *stand, stop func(*stand, *command) (func(), string)) {
	j := steady{batches: 300, step: 30 * time.Millisecond, item: time.Millisecond, workers: 2, epoch: 1000}
	c := j.start(s)
	path, recorded := s.in("report.json"), s.in("run.jsonl")
	p := s.pipetune(watchOf(c, "14s", "--warmup", "1s", "-o", path, "-o", recorded))
	time.Sleep(5 * time.Second)
	at := monotonic(s)
	undo, who := stop(s, c)
	status := p.wait(time.Minute)
	undo()
	want := (at - s.recording(recorded).Header.StartMonotonic).Seconds()
	r := s.report(path)
	since, told := seconds(said(r), `has been stopped or frozen since ([0-9.]+) s`)
	if status != 0 || !told || !strings.Contains(said(r), who) {
		s.Fatalf("exit %d; nothing of %s since %.1f s:\n%s", status, who, want, said(r))
	}
	if math.Abs(since-want) > 1 {
		s.missed("it says since %.1f s; it was at %.1f s", since, want)
	}
	if r.Verdict == nil || r.Verdict.Class == report.InputBound {
		s.Errorf("the verdict on a stopped job: %+v", r.Verdict)
	}
	s.measured("verdict %s; %s stopped at %.1f s, told since %.1f s", r.Verdict.Class, who, want, since)
	j.unharmed(s, c)
}

// seconds finds a time in words.
func seconds(words, pattern string) (seconds float64, ok bool) {
	m := regexp.MustCompile(pattern).FindStringSubmatch(words)
	if m == nil {
		return 0, false
	}
	seconds, err := strconv.ParseFloat(m[1], 64)
	return seconds, err == nil
}

func hungWorker(s *stand) {
	s.ownMounts()
	m := s.mount(hungmount.Getattr, hungmount.Lookup)
	defer m.release() // before the job is ended, which it could not be otherwise
	j := steady{batches: 400, step: 20 * time.Millisecond, item: time.Millisecond, workers: 2,
		epoch: 1000, more: []string{"--program", filepath.Join(m.dir, hungmount.File), "--program-at", "300"}}
	c := j.start(s)
	path := s.in("report.json")
	status := s.pipetune(watchOf(c, "20s", "--warmup", "1s", "-o", path)).wait(2 * time.Minute)
	if m.Hanging() == 0 {
		s.Errorf("no worker hangs: the trial tells nothing")
	}
	r := s.report(path)
	hangs := slices.ContainsFunc(workersOf(c), func(pid int) bool { return slices.Contains(statOf(pid), "D") })
	if status != 0 || r.Verdict == nil || !hangs {
		s.Errorf("exit %d, verdict %+v, a worker is in state D: %t", status, r.Verdict, hangs)
	}
	if r.Verdict.Class == report.InputBound {
		s.missed("the verdict is input-bound: %s", r.Verdict.Statement)
	}
	if !strings.Contains(said(r), "no batch has passed since") {
		s.missed("that no batch passes any more is not told")
	}
	s.measured("exit %d, verdict %s", status, r.Verdict.Class)
	m.release()
	c.wait(5 * time.Minute)
}

// monotonic is CLOCK_MONOTONIC, which recordings are reported in.
func monotonic(s *stand) time.Duration {
	s.Helper()
	text := must.Get(os.ReadFile("/proc/uptime"))(s) // CLOCK_BOOTTIME: the same where the machine was never suspended
	seconds := must.Get(strconv.ParseFloat(strings.Fields(string(text))[0], 64))(s)
	return time.Duration(seconds * float64(time.Second))
}

// pace is what a report says of the job's pace.
func pace(r *report.Report) (batches float64, ok bool) {
	m, ok := r.Metrics["batches_per_s"]
	return m.Center, ok
}

func pausedWatch(s *stand, both bool) {
	const paused = 8 * time.Second
	j := steady{batches: 700, step: 30 * time.Millisecond, workers: 2, epoch: 1000}
	c := j.start(s)
	path, recorded := s.in("report.json"), s.in("run.jsonl")
	p := s.pipetune(watchOf(c, "20s", "--warmup", "1s", "-o", path, "-o", recorded))
	stop, goOn := func() { p.signal(syscall.SIGSTOP) }, func() { p.signal(syscall.SIGCONT) }
	if both {
		stop, goOn = s.freezer(slices.Concat(c.session(), p.session())...)
	}
	time.Sleep(6 * time.Second)
	stop()
	time.Sleep(paused)
	goOn()
	status := p.wait(time.Minute)
	r := s.report(path)
	gap, told := seconds(said(r), `pipetune itself did not run for ([0-9.]+) s`)
	if status != 0 || !told {
		s.Fatalf("exit %d; the gap is not told:\n%s", status, said(r))
	}
	if math.Abs(gap-paused.Seconds()) > 1 {
		s.missed("the gap is told as %.1f s, it was %.1f s", gap, paused.Seconds())
	}
	got, ok := pace(r)
	// The trainer sleeps 30 ms a batch, and its own work comes on top: 31.5 and 31.7 a second were measured, 27 beside
	// a dozen other programs. Averaged over the gap it would be 18, 0.55 of what is wanted: the bound lies between.
	want := 1 / 0.03
	if !ok || got > 1.05*want || got < 0.7*want {
		s.Errorf("%.1f batches a second (%t): averaged over the gap, or a burst after it; the job's own pace is "+
			"below %.1f", got, ok, want)
	}
	burst := mostTicksASecond(s, recorded)
	if burst > 15 {
		s.Errorf("%d ticks within a second, 10 are asked for", burst)
	}
	s.measured("gap of %.1f s told as %.1f s, %.1f batches/s, at most %d ticks in any second", paused.Seconds(), gap,
		got, burst)
	j.unharmed(s, c)
}

// mostTicksASecond is how many ticks of a recording fall into one second at the most.
func mostTicksASecond(s *stand, path string) (most int) {
	s.Helper()
	var at []float64
	for line := range bytes.Lines(must.Get(os.ReadFile(path))(s)) {
		var tick struct{ T *float64 }
		must.Do(s, json.Unmarshal(line, &tick))
		if tick.T != nil && (len(at) == 0 || at[len(at)-1] != *tick.T) {
			at = append(at, *tick.T)
		}
	}
	for i, from := range at {
		n, _ := slices.BinarySearch(at, from+1)
		most = max(most, n-i)
	}
	return most
}

func hoggedWatch(s *stand) {
	j := steady{batches: 500, step: 30 * time.Millisecond, workers: 2}
	c := j.start(s)
	hogs := s.start("hogs", []string{"nice", "-n", "-20", "/bin/sh", "-c",
		`for i in 1 2 3 4; do (end=$(($(date +%s)+16)); while [ $(date +%s) -lt $end ]; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done) & done; wait`})
	path := s.in("report.json")
	p := s.watch(c, path, "12s")
	status, took := p.ending(5 * time.Minute)
	r := s.report(path)
	if status != 0 || r.Verdict == nil {
		s.Errorf("exit %d: %s", status, p.complaints())
	}
	s.atMost(took.Seconds(), 20, "a watch of 12 s took %.1f s")
	cover, ok := r.Metrics["look_coverage_ratio"]
	if !ok {
		s.Errorf("how many samples could be taken is not said")
	}
	s.measured("a watch of 12 s took %.1f s, %.0f %% of the samples were taken, verdict %s (%s)", took.Seconds(),
		100*cover.Center, r.Verdict.Class, r.Verdict.Confidence)
	hogs.kill()
	j.unharmed(s, c)
}
