//go:build reliability

package reliability

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// endTrials are those of jobs that end under the look, or end oddly.
var endTrials = []trial{
	{
		id: "F4-race", fault: "the job ends while it is being looked at",
		made:   "a process that ends 0 to 60 ms after pipetune was started for it, 24 times",
		target: "exit 3, or a partial report that says the job ended; no crash", run: endsUnderTheLook,
	},
	{
		id: "F4-kinds", fault: "a zombie; a main thread that ends before the others; a program that becomes another",
		made:   "such processes, attached to and while watched",
		target: "exit 3 with the reason, or a report that says when the job ended", run: oddEnds,
	},
}

func endsUnderTheLook(s *stand) {
	refused, partial := 0, 0
	for n := range 24 {
		c := s.start("job", []string{"sleep", "600"})
		p := s.pipetune(watchOf(c, "6s"))
		time.Sleep(time.Duration(n) * 60 / 24 * time.Millisecond)
		c.kill()
		status, said := p.ends(time.Minute, 0, 3), p.complaints()
		switch {
		case status == 3 && strings.Contains(said, "pipetune: error: "):
			refused++
		case status == 0 && strings.Contains(string(p.output()), "the job ended"):
			partial++
		default:
			s.Errorf("after %d ms: exit %d: %.600s\n%.600s", n*60/24, status, said, p.output())
		}
	}
	s.measured("24 tries: %d refused with exit 3, %d partial reports that say so", refused, partial)
}

func oddEnds(s *stand) {
	const leader = "import ctypes, threading, time\n" +
		"threading.Thread(target=lambda: (time.sleep(%s), print('over', flush=True))).start()\n" +
		"print('ready', flush=True)\ntime.sleep(%s)\nctypes.CDLL(None).pthread_exit(None)"
	for _, c := range []struct {
		name, code string
		wait       time.Duration // between its first line and the watch
		status     int
		says       string
	}{
		{"a zombie", "import os, time\npid = os.fork()\nif pid == 0: os._exit(0)\nprint('ready', pid, " +
			"flush=True)\ntime.sleep(30)", 300 * time.Millisecond, 3, "ended"},
		{"a main thread that has ended", fmt.Sprintf(leader, "20", "0"), 300 * time.Millisecond, 3, "ended"},
		{"a main thread that ends", fmt.Sprintf(leader, "20", "3"), 0, 0, "ended"},
		{"exec over itself", "import os, time\nprint('ready', flush=True)\ntime.sleep(3)\nos.execvp('sleep', " +
			"['sleep', '20'])", 0, 0, "the job ended"},
		{"an end by itself", "import time\nprint('ready', flush=True)\ntime.sleep(3)", 0, 0, "the job ended"},
	} {
		job := s.start("job", []string{s.python, "-c", c.code})
		job.awaitLines(1)
		time.Sleep(c.wait)
		pid := strconv.Itoa(job.pid())
		if fields := strings.Fields(string(job.output())); len(fields) > 1 {
			pid = fields[1]
		}
		p := s.pipetune([]string{"diagnose", "--pid", pid, "--duration", "8s"})
		status, took := p.ending(time.Minute)
		words := strings.Join(strings.Fields(p.complaints()+string(p.output())), " ")
		switch {
		case status != c.status:
			s.Errorf("%s: exit %d, want %d: %.1500s", c.name, status, c.status, words)
		case !strings.Contains(words, c.says):
			s.missed("%s: %q is not said", c.name, c.says)
			s.Logf("%s: %.3000s", c.name, words)
		}
		s.measured("%s: exit %d after %.1f s", c.name, status, took.Seconds())
		job.signal(syscall.SIGKILL) // its main thread may have ended, and looks like a zombie then
		job.kill()
	}
}
