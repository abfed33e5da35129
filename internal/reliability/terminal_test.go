//go:build reliability

package reliability

import (
	"bytes"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

var terminalTrials = []trial{
	{
		id: "F14-hup", fault: "the terminal goes away during a watch",
		made:   "SIGHUP to pipetune 7 s into `diagnose --pid`",
		target: "the job is untouched, nothing is left, and pipetune ends by itself within 2 s, exit 0, report written",
		run:    func(s *stand) { askedToEnd(s, []syscall.Signal{syscall.SIGHUP}) },
	},
	{
		id: "F14-nohup", fault: "the terminal goes away under nohup",
		made:   "SIGHUP ignored from the start, and sent 2 s into `diagnose --pid`",
		target: "the watch goes on for its whole duration", run: noHangUp,
	},
	{
		id: "F14-pipe", fault: "the reader of stdout or stderr goes away",
		made:   "pipes whose reader is closed, under `report`, `compare`, `explain`, `diagnose`; SIGPIPE sent by kill",
		target: "no end by SIGPIPE; files of -o whole; the exit code as if the reader had stayed", run: readerGone,
	},
	{
		id: "F14-twice", fault: "Ctrl-C twice within 10 ms",
		made:   "SIGINT, SIGINT; SIGTERM, SIGTERM as timeout sends them",
		target: "one request: the report is written, exit 0", run: func(s *stand) {
			askedToEnd(s, []syscall.Signal{syscall.SIGINT, syscall.SIGINT},
				[]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM})
		},
	},
	{
		id: "F14-second", fault: "Ctrl-C again while pipetune cannot write its report",
		made:   "stdout and stderr are full pipes that nobody reads; SIGINT, SIGTERM or SIGHUP, and again 1.2 s later",
		target: "ends within 100 ms of the second, beyond what ending costs here; exit 130, 143, 130",
		run:    secondRequestEnds,
	},
	{
		id: "F14-rename", fault: "SIGTERM while a file is being renamed",
		made:   "strace holds rename back by 3 s; SIGTERM into it, once, and twice 1.2 s apart",
		target: "once: the new file whole, exit 0; twice: old or new file whole, exit 143", run: signalInRename,
	},
}

// watch is `diagnose --pid` of a job, with a report, within another program where one is given.
func (s *stand) watch(job *command, report, duration string, program ...string) *command {
	s.Helper()
	return s.under(program, watchOf(job, duration, "--warmup", "0", "-o", report))
}

// intoTheWatch is slept before a fault is to meet a watch at work.
const intoTheWatch = 2 * time.Second

// enoughToReport is slept before a watch is asked to end with a report: what is needed after its warm-up of none, and
// two seconds.
const enoughToReport = 7 * time.Second

// askedToEnd sends signals to watches once they can report, those to one within 5 ms of each other: it is one request.
func askedToEnd(s *stand, requests ...[]syscall.Signal) {
	j := steady{batches: 260 * len(requests), step: 50 * time.Millisecond, workers: 2}
	c, report := j.start(s), s.in("report.json")
	for _, signals := range requests {
		p := s.watch(c, report, "60s")
		time.Sleep(enoughToReport)
		for n, sig := range signals {
			time.Sleep(time.Duration(n) * 5 * time.Millisecond)
			p.signal(sig)
		}
		status, took := p.ending(time.Minute)
		if status != 0 || !s.readsAgain(report) {
			s.Errorf("%v: exit %d: %s", signals, status, p.complaints())
		}
		s.atMost(took.Seconds(), 2, "%v: it took %.1f s to end", signals)
		s.measured("%v: exit %d after %.2f s, report written", signals, status, took.Seconds())
		must.Do(s, os.Remove(report))
	}
	j.unharmed(s, c)
}

func noHangUp(s *stand) {
	j := steady{batches: 200, step: 50 * time.Millisecond, workers: 2}
	c, report := j.start(s), s.in("report.json")
	p := s.watch(c, report, "6s", shell(`trap "" HUP`)...)
	began := time.Now()
	time.Sleep(intoTheWatch)
	p.signal(syscall.SIGHUP)
	p.ends(time.Minute, 0)
	took := time.Since(began)
	if took < 6*time.Second || !s.readsAgain(report) {
		s.Errorf("it ended after %v: %s", took, p.complaints())
	}
	s.measured("exit 0 after %.1f s of 6 s", took.Seconds())
	j.unharmed(s, c)
}

// closedPipe is the end to write of a pipe that nobody reads any more.
func (s *stand) closedPipe() *os.File {
	s.Helper()
	r, w, err := os.Pipe()
	must.Do(s, err)
	r.Close()
	s.Cleanup(func() { w.Close() })
	return w
}

func readerGone(s *stand) {
	c := steady{batches: 2000, step: 50 * time.Millisecond, workers: 2}.start(s)
	recording, shown, out := s.testdata("recordings/no-workers.jsonl"), s.testdata("reports/reopened.json"),
		s.in("out.json")
	runs := []struct {
		args   []string
		status int
	}{
		{[]string{"report", recording, "-o", out}, 0},
		{[]string{"report", recording, "-o", out, "--fail-on", "warning"}, 1},
		{[]string{"compare", shown, shown, "-o", out}, 0},
		{[]string{"explain"}, 0}, {[]string{"help"}, 0}, {[]string{"doctor"}, 0},
		{[]string{"report", "missing.json"}, 2}, {watchOf(c, "6s", "-o", out), 0},
	}
	for _, run := range runs {
		s.runOnto(s.closedPipe, run.args, out, run.status, "")
	}
	p := s.watch(c, out, "6s")
	time.Sleep(intoTheWatch)
	p.signal(syscall.SIGPIPE)
	if p.ends(time.Minute, 0); !s.readsAgain(out) {
		s.Errorf("no report after a SIGPIPE: %s", p.complaints())
	}
	s.measured("%d runs, all with the exit code of a reader that stays, files whole", 2*len(runs)+1)
}

// fullPipe is the end to write of a pipe that is full and that nobody reads, as a terminal is that was stopped with
// Ctrl-S.
func (s *stand) fullPipe() *os.File {
	s.Helper()
	var ends [2]int
	must.Do(s, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	r, w := os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe")
	s.Cleanup(func() {
		r.Close()
		w.Close()
	})
	size := must.Get(unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()))(s)
	must.Get(w.Write(make([]byte, size)))(s)
	return w
}

func secondRequestEnds(s *stand) {
	j := steady{batches: 700, step: 50 * time.Millisecond, workers: 2}
	c := j.start(s)
	cost := s.endingCost()
	for _, run := range []struct {
		sig    syscall.Signal
		status int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 130}} {
		p := s.pipetune(watchOf(c, "60s", "--warmup", "0", "-o", s.in("report.json")), func(cmd *exec.Cmd) {
			cmd.Stdout, cmd.Stderr = s.fullPipe(), s.fullPipe()
		})
		time.Sleep(enoughToReport)
		p.signal(run.sig)
		time.Sleep(1200 * time.Millisecond) // within a second it is the same request
		if p.hasEnded() {
			s.Fatalf("%v: it ended, exit %d, although nobody reads", run.sig, p.wait(time.Second))
		}
		p.signal(run.sig)
		status, took := p.ending(time.Minute)
		if status != run.status {
			s.Errorf("%v twice: exit %d, want %d", run.sig, status, run.status)
		}
		if took > 100*time.Millisecond+cost {
			s.missed("%v: it took %d ms; a run that does nothing takes %d ms", run.sig, took.Milliseconds(),
				cost.Milliseconds())
		}
		s.measured("%v: exit %d after %d ms", run.sig, status, took.Milliseconds())
	}
	j.unharmed(s, c)
}

// endingCost is how long the shortest run takes from its start to its end: what starting and ending a process costs
// here now.
func (s *stand) endingCost() time.Duration {
	s.Helper()
	least := time.Hour
	for range 5 {
		began := time.Now()
		s.pipetune([]string{"version"}).exit(time.Minute)
		least = min(least, time.Since(began))
	}
	return least
}

func signalInRename(s *stand) {
	j := steady{batches: 400, step: 50 * time.Millisecond, workers: 2}
	c, report, log := j.start(s), s.in("report.json"), s.in("strace.log")
	for _, times := range []int{1, 2} {
		must.Do(s, os.WriteFile(report, []byte(oldText), 0o600))
		must.Do(s, os.WriteFile(log, nil, 0o600))
		p := s.watch(c, report, "6s", "/usr/bin/strace", "-f", "-qq", "-o", log, "-e", "trace=renameat", "-e",
			"inject=renameat:delay_enter=3s")
		s.until(time.Minute, "the report is being renamed", func() bool {
			return bytes.Contains(must.Get(os.ReadFile(log))(s), []byte("renameat("))
		})
		for n := range times {
			time.Sleep(time.Duration(n) * 1200 * time.Millisecond)
			for _, pid := range p.session() {
				if s.isPipetune(pid) && statusNumber(pid, "PPid") == int64(p.pid()) {
					must.Do(s, syscall.Kill(pid, syscall.SIGTERM))
				}
			}
		}
		status := p.wait(time.Minute)
		fresh := s.whole(report)
		switch {
		case times == 1 && (status != 0 || !fresh):
			s.Errorf("one SIGTERM: exit %d, new file %t: %s", status, fresh, p.complaints())
		case times == 2 && status != 143:
			s.Errorf("two SIGTERMs: exit %d: %s", status, p.complaints())
		}
		s.measured("%d SIGTERM: exit %d, new file %t", times, status, fresh)
	}
	j.unharmed(s, c)
}
