//go:build reliability

package reliability

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var pausedTrials = []trial{
	{
		id: "H4", fault: "pipetune is stopped while its job trains (launch mode)",
		made: "SIGSTOP for 60 s, then SIGCONT", long: true,
		target: "the job's step is as long as before, to 1 %; its output and status are the bare ones; the report " +
			"tells the gap",
		run: func(s *stand) { stoppedGuest(s, 60*time.Second) },
	},
	{
		id: "H4-short", fault: "as H4", made: "SIGSTOP for 8 s, then SIGCONT",
		target: "as H4, the step to 5 %: a busy machine changes more than that in a minute",
		run:    func(s *stand) { stoppedGuest(s, 8*time.Second) },
	},
	{
		id: "H5", fault: "pipetune is killed while its job runs (launch mode)",
		made:   "SIGKILL at 20 moments drawn with seed 5; at the first SIGSTOP, and SIGKILL once the job has ended",
		long:   true,
		target: "20 of 20 jobs end with the bare output and status; what pipetune left is swept by its next run",
		run:    func(s *stand) { killedGuest(s, 20) },
	},
	{
		id: "H5-short", fault: "as H5", made: "as H5, 3 moments",
		target: "as H5, 3 of 3", run: func(s *stand) { killedGuest(s, 3) },
	},
}

// stoppedGuest stops pipetune in the middle of a job, and compares the job's steps meanwhile with those before.
func stoppedGuest(s *stand, pause time.Duration) {
	const step = 10 * time.Millisecond
	before := 6 * time.Second
	batches := int((3*before + pause) / step)
	j := steady{batches: batches, epoch: batches, workers: 2, step: step}
	times, report := s.in("times.json"), s.in("report.json")
	c := s.launch(report, append(j.argv(s), "--times", times))
	c.awaitLines(1)
	time.Sleep(before) // into its epoch
	from := monotonic(s).Seconds()
	c.signal(syscall.SIGSTOP)
	time.Sleep(pause)
	c.signal(syscall.SIGCONT)
	to := monotonic(s).Seconds()
	status := c.wait(10 * time.Minute)
	j.step = 0
	if s.same("stopped", s.start("bare", j.argv(s)), c) {
		s.measured("exit %d, output and status those of the bare job", status)
	}
	n := fromJSON[noted](s, times)
	earlier, meanwhile, later := n.step(s, from-before.Seconds(), from), n.step(s, from, to),
		n.step(s, to, to+before.Seconds())
	usual := (earlier + later) / 2 // a drift of the machine falls on both
	s.measured("a step takes %.3f ms before, %.3f ms while pipetune is stopped, %.3f ms afterwards", 1e3*earlier,
		1e3*meanwhile, 1e3*later)
	if most := map[bool]float64{true: 0.01, false: 0.05}[pause >= time.Minute]; meanwhile > (1+most)*usual {
		s.missed("the step was %.1f %% longer; before and after differ by %.1f %%, which is other programs' doing",
			100*(meanwhile/usual-1), 100*max(later/earlier-1, earlier/later-1))
	}
	words := said(s.report(report))
	told := regexp.MustCompile(`.*(pipetune itself did not run|lost).*`).FindString(words)
	if told == "" {
		s.Errorf("the report says nothing of the gap: %.1500s", words)
	}
	s.measured("told as: %s", told)
}

// killedGuest kills pipetune at moments over the whole life of its job. The first is stopped until the job has ended.
func killedGuest(s *stand, times int) {
	j := steady{batches: 100, workers: 2, step: 10 * time.Millisecond}
	began := time.Now()
	bare := s.start("bare", j.argv(s))
	bareStatus := strconv.Itoa(bare.wait(10 * time.Minute))
	life := time.Since(began)
	random := rand.New(rand.NewPCG(5, 5))
	ended, inTime := 0, 0
	for n := range times {
		note := s.in("status-" + strconv.Itoa(n))
		// The job's own shell notes its end: pipetune is gone by then.
		argv := append([]string{"/bin/sh", "-c", `: > "` + note + `.begun"; "$@"; s=$?; echo $s > "` + note +
			`.part"; mv "` + note + `.part" "` + note + `"; exit $s`, "sh"},
			j.argv(s)...)
		c := s.launch(s.in("report.json"), argv)
		s.until(5*time.Minute, "pipetune has started its job", func() bool {
			_, err := os.Stat(note + ".begun")
			return err == nil || c.hasEnded()
		})
		at := time.Duration(random.Float64() * float64(life))
		select {
		case <-c.ended:
		case <-time.After(at):
		}
		if !c.hasEnded() {
			inTime++
		}
		if n == 0 {
			c.signal(syscall.SIGSTOP)
		} else {
			c.signal(syscall.SIGKILL)
			<-c.ended
		}
		s.until(10*time.Minute, "the job whose pipetune was killed or stopped has ended", func() bool {
			_, err := os.Stat(note)
			return err == nil || len(c.session()) == 0
		})
		c.signal(syscall.SIGKILL)
		c.alone()
		status, err := os.ReadFile(note)
		if err != nil {
			s.Errorf("killed %v into a life of %v: the job left no status: %v; stderr: %.500s", at, life, err,
				c.complaints())
			continue
		}
		if got := strings.TrimSpace(string(status)); got != bareStatus || string(c.output()) != string(bare.output()) {
			s.Errorf("killed %v into a life of %v: status %s, bare %s; stdout %.300q, bare %.300q", at, life, got,
				bareStatus, c.output(), bare.output())
			continue
		}
		ended++
	}
	s.measured("%d of %d jobs ended with the bare output and status (%d were killed before the end of the job)", ended,
		times, inTime)
	if inTime < 1 {
		s.Errorf("no moment fell into the life of a job")
	}
	s.launch(s.in("report.json"), []string{"/bin/true"}).wait(10 * time.Minute)
}
