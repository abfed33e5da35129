//go:build reliability

package reliability

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/must"
)

var terminalTrials = []trial{
	{
		id: "F14-hup", fault: "the terminal goes away during a watch",
		made:   "SIGHUP to pipetune 7 s into `diagnose --pid`",
		target: "the job is untouched, nothing is left, and pipetune ends by itself within 2 s, exit 0, report written",
		run:    hangUp,
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
		target: "one request: the report is written, exit 0", run: twiceAtOnce,
	},
	{
		id: "F14-second", fault: "Ctrl-C again while pipetune cannot write its report",
		made:   "stdout and stderr are full pipes that nobody reads; SIGINT, SIGTERM or SIGHUP, and again 1.2 s later",
		target: "ends within 100 ms of the second, beyond what ending costs here; exit 130, 143, 130",
		run:    secondRequestEnds,
	},
	{
		id: "F14-stuck", fault: "Ctrl-C while a helper is stuck in a mount",
		made:   "`bench-io` on a FUSE mount whose open never answers; SIGINT",
		target: "ends within 2 s of the first, exit 130; pipetune itself is never in state D", run: stuckHelper,
	},
	{
		id: "F14-rename", fault: "SIGTERM while a file is being renamed",
		made:   "strace holds rename back by 3 s; SIGTERM into it, once, and twice 1.2 s apart",
		target: "once: the new file whole, exit 0; twice: old or new file whole, exit 143", run: signalInRename,
	},
}

// watch is `diagnose --pid` of a job, with a report.
func (s *stand) watch(job *command, report, duration string, change ...func(*exec.Cmd)) *command {
	s.Helper()
	return s.pipetune([]string{"diagnose", "--pid", strconv.Itoa(job.pid()), "--duration", duration, "--warmup", "0",
		"-o", report}, change...)
}

// intoTheWatch is slept before a fault is to meet a watch at work.
const intoTheWatch = 2 * time.Second

// enoughToReport is slept before a watch is asked to end with a report: what is needed after its warm-up of none, and
// two seconds.
const enoughToReport = 7 * time.Second

func hangUp(s *stand) {
	j := steady{batches: 240, step: 50 * time.Millisecond, workers: 2}
	c := j.start(s)
	report := filepath.Join(s.work, "report.json")
	p := s.watch(c, report, "60s")
	time.Sleep(enoughToReport)
	p.signal(syscall.SIGHUP)
	status, took := p.ending(time.Minute)
	p.alone()
	if took > 2*time.Second {
		s.missed("it took %.1f s to end", took.Seconds())
	}
	if status != 0 || !s.readsAgain(report) {
		s.Errorf("exit %d: %s", status, p.complaints())
	}
	s.measured("exit %d after %.2f s, report written", status, took.Seconds())
	j.unharmed(s, c)
	s.leftNothing()
}

func noHangUp(s *stand) {
	j := steady{batches: 200, step: 50 * time.Millisecond, workers: 2}
	c := j.start(s)
	report := filepath.Join(s.work, "report.json")
	p := s.watch(c, report, "6s", func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"/bin/sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = cmd.Args[0]
	})
	began := time.Now()
	time.Sleep(intoTheWatch)
	p.signal(syscall.SIGHUP)
	status := p.wait(time.Minute)
	took := time.Since(began)
	if status != 0 || took < 6*time.Second || !s.readsAgain(report) {
		s.Errorf("exit %d after %v: %s", status, took, p.complaints())
	}
	s.measured("exit %d after %.1f s of 6 s", status, took.Seconds())
	j.unharmed(s, c)
	s.leftNothing()
}

// closedPipe is the end to write of a pipe that nobody reads any more.
func (s *stand) closedPipe() *os.File {
	s.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		s.Fatal(err)
	}
	r.Close()
	s.Cleanup(func() { w.Close() })
	return w
}

func readerGone(s *stand) {
	j := steady{batches: 2000, step: 50 * time.Millisecond, workers: 2}
	c := j.start(s)
	recording := s.testdata("recordings/no-workers.jsonl")
	shown := s.testdata("reports/reopened.json")
	pid := strconv.Itoa(c.pid())
	out := filepath.Join(s.work, "out.json")
	runs := 0
	for _, run := range []struct {
		args   []string
		status int
	}{
		{[]string{"report", recording, "-o", out}, 0},
		{[]string{"report", recording, "-o", out, "--fail-on", "warning"}, 1},
		{[]string{"compare", shown, shown, "-o", out}, 0},
		{[]string{"explain"}, 0}, {[]string{"help"}, 0}, {[]string{"doctor"}, 0}, {[]string{"report", "missing.json"},
			2},
		{[]string{"diagnose", "--pid", pid, "--duration", "6s", "-o", out}, 0},
	} {
		for _, gone := range []func(*exec.Cmd){
			func(cmd *exec.Cmd) { cmd.Stdout = s.closedPipe() },
			func(cmd *exec.Cmd) { cmd.Stdout, cmd.Stderr = s.closedPipe(), s.closedPipe() },
		} {
			p := s.pipetune(run.args, gone)
			status := p.wait(time.Minute)
			runs++
			if status != run.status {
				s.Errorf("pipetune %s with its reader gone: exit %d, want %d: %s", strings.Join(run.args, " "), status,
					run.status, p.complaints())
			}
			if slices.Contains(run.args, out) {
				s.takeReport(out, run.args)
			}
			p.alone()
		}
	}
	p := s.watch(c, out, "6s")
	time.Sleep(intoTheWatch)
	p.signal(syscall.SIGPIPE)
	if status := p.wait(time.Minute); status != 0 || !s.readsAgain(out) {
		s.Errorf("exit %d after a SIGPIPE: %s", status, p.complaints())
	}
	s.measured("%d runs, all with the exit code of a reader that stays, files whole", runs+1)
	c.kill()
	s.leftNothing()
}

func twiceAtOnce(s *stand) {
	j := steady{batches: 520, step: 50 * time.Millisecond, workers: 2}
	c := j.start(s)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		report := filepath.Join(s.work, "report.json")
		p := s.watch(c, report, "60s")
		time.Sleep(enoughToReport)
		p.signal(sig)
		time.Sleep(5 * time.Millisecond)
		p.signal(sig)
		status, took := p.ending(time.Minute)
		if status != 0 || !s.readsAgain(report) {
			s.Errorf("%v twice: exit %d: %s", sig, status, p.complaints())
		}
		if took > 2*time.Second {
			s.missed("%v: it took %.1f s to end", sig, took.Seconds())
		}
		s.measured("%v: exit %d after %.2f s, report written", sig, status, took.Seconds())
		p.alone()
	}
	j.unharmed(s, c)
	s.leftNothing()
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
		p := s.watch(c, filepath.Join(s.work, "report.json"), "60s", func(cmd *exec.Cmd) {
			cmd.Stdout,
				cmd.Stderr = s.fullPipe(), s.fullPipe()
		})
		time.Sleep(enoughToReport)
		p.signal(run.sig)
		time.Sleep(1200 * time.Millisecond) // within a second it is the same request
		select {
		case <-p.ended:
			s.Fatalf("%v: it ended, exit %d, although nobody reads", run.sig, p.wait(time.Second))
		default:
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
		p.alone()
	}
	j.unharmed(s, c)
	s.leftNothing()
}

// endingCost is how long the shortest run takes from its start to its end: what starting and ending a process costs
// here now.
func (s *stand) endingCost() time.Duration {
	s.Helper()
	least := time.Hour
	for range 5 {
		began := time.Now()
		s.pipetune([]string{"version"}).wait(time.Minute)
		least = min(least, time.Since(began))
	}
	return least
}

func stuckHelper(s *stand) {
	s.ownMounts()
	m := s.mount(hungmount.Open)
	defer m.release()
	p := s.pipetune([]string{"bench-io", filepath.Join(m.dir, hungmount.File), "--budget", "60s"})
	s.until(30*time.Second, "a helper hangs", func() bool { return m.Hanging() > 0 })
	if state := stateOf(p.pid()); state == "D" {
		s.Errorf("pipetune itself is in state D")
	}
	p.signal(syscall.SIGINT)
	status, took := p.ending(time.Minute)
	if status != 130 {
		s.Errorf("exit %d: %s", status, p.complaints())
	}
	if took > 2*time.Second {
		s.missed("it took %.1f s to end", took.Seconds())
	}
	m.release()
	p.alone()
	s.measured("exit %d after %.2f s; the helper has ended with the mount's release", status, took.Seconds())
	s.leftNothing()
}

// stateOf is the state letter of a process, "" where it is gone.
func stateOf(pid int) (state string) {
	processes(func(p int, stat []string) bool {
		if p == pid {
			state = stat[0]
		}
		return false
	})
	return state
}

func signalInRename(s *stand) {
	j := steady{batches: 400, step: 50 * time.Millisecond, workers: 2}
	c := j.start(s)
	for _, times := range []int{1, 2} {
		report := filepath.Join(s.work, "report.json")
		must.Do(s, os.WriteFile(report, []byte(oldText), 0o600))
		log := filepath.Join(s.work, "strace.log")
		must.Do(s, os.WriteFile(log, nil, 0o600))
		p := s.watch(c, report, "6s", func(cmd *exec.Cmd) {
			cmd.Args = append([]string{"/usr/bin/strace", "-f", "-qq", "-o", log, "-e", "trace=renameat", "-e",
				"inject=renameat:delay_enter=3s", cmd.Path}, cmd.Args[1:]...)
			cmd.Path = cmd.Args[0]
		})
		s.until(time.Minute, "the report is being renamed", func() bool {
			text, err := os.ReadFile(log)
			return err == nil && bytes.Contains(text, []byte("renameat("))
		})
		for n := range times {
			if n > 0 {
				time.Sleep(1200 * time.Millisecond)
			}
			for _, pid := range p.session() {
				if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil && exe == s.binary &&
					parentOf(pid) == p.pid() {
					if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
						s.Error(err)
					}
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
	s.leftNothing()
}

// parentOf is the number of a process' parent, 0 where it is gone.
func parentOf(pid int) (parent int) {
	processes(func(p int, stat []string) bool {
		if p == pid {
			parent, _ = strconv.Atoi(stat[1]) // the kernel writes a number
		}
		return false
	})
	return parent
}
