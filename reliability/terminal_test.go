//go:build reliability

package reliability

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

var terminalTrials = []trial{
	{
		id: "F14-hup", fault: "the terminal goes away during a watch", made: "SIGHUP to pipetune 2 s into `diagnose --pid`",
		target: "the job is untouched, nothing is left, and pipetune ends by itself within 2 s", run: hangUp,
	},
}

func hangUp(s *stand) {
	j := steady{batches: 400, step: 20 * time.Millisecond, workers: 2}
	c := j.start(s)
	report := filepath.Join(s.work, "report.json")
	p := s.pipetune([]string{"diagnose", "--pid", strconv.Itoa(c.pid()), "--duration", "60s", "-o", report})
	time.Sleep(2 * time.Second) // into the watch: the fault is to meet it at work
	p.signal(syscall.SIGHUP)
	began := time.Now()
	status := p.wait(time.Minute)
	took := time.Since(began)
	p.alone()
	if took > 2*time.Second {
		s.missed("it took %.1f s to end", took.Seconds())
	}
	_, err := os.Stat(report)
	s.measured("exit %d after %.1f s, report written: %t", status, took.Seconds(), err == nil)
	j.unharmed(s, c)
	s.leftNothing()
}
