//go:build reliability

package reliability

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

var crowdTrials = []trial{
	{
		id: "L1", fault: "5,000 idle processes besides the job",
		made: "`sleep` 5,000 times; `diagnose` of 20 s without and with them; full scans of /proc counted with " +
			"strace",
		target: "at most one full scan each 5 s, 2 % of a core in all, 24 MiB more than without", run: idleCrowd,
	},
	{
		id: "L2", fault: "100,000 descriptors in the job",
		made:   "5 workers with 19,900 each (the machine's hard limit is 20,000)",
		target: "counted all, by stat of /proc/PID/fd and not by listing; a tick takes at most 20 ms of CPU time",
		run:    manyDescriptors,
	},
	{
		id: "L3", fault: "workers are born and die", made: "2,000 births at 100 a second, 0.5 s each",
		target: "memory after all births at most that after 1,000 + 8 MiB; every birth is an event or counted",
		run:    func(s *stand) { manyBirths(s, 2000, 100) },
	},
	{
		id: "L3-long", fault: "workers are born and die", made: "100,000 births in 10 minutes, 0.5 s each", long: true,
		target: "as L3", run: func(s *stand) { manyBirths(s, 100_000, 167) },
	},
}

// weigh runs a watch of a job to its end and returns its recording and what it took.
func (s *stand) weigh(c *command, lasts time.Duration) (*recording.Recording, cost) {
	s.Helper()
	file := s.in("run.jsonl")
	p := s.pipetune(watchOf(c, lasts.String(), "-o", file))
	// what comes then is the judging of it
	k := s.costOf(p.meter(200*time.Millisecond, func(u usage) bool { return u.at > lasts }))
	p.ends(5*time.Minute, 0)
	rec := s.recording(file)
	must.Do(s, os.Remove(file))
	return rec, k
}

func idleCrowd(s *stand) {
	c := churn{flags: []string{"--steady", "4"}}.start(s)
	_, alone := s.weigh(c, 20*time.Second)

	var input io.WriteCloser
	crowd := s.start("crowd", []string{s.python, s.testdata("reliability/crowd.py"), "5000"}, func(cmd *exec.Cmd) {
		input = must.Get(cmd.StdinPipe())(s)
	})
	crowd.awaitLines(1)
	_, beside := s.weigh(c, 20*time.Second)
	scans := s.scans(c, 12*time.Second)
	must.Do(s, input.Close())
	crowd.wait(2 * time.Minute)

	more := mib(beside.rss - alone.rss)
	s.measured("%d full scans in 12 s; %.2f %% of a core (%.2f %% without), %.1f MiB (%.1f without)", scans,
		100*beside.share, 100*alone.share, mib(beside.rss), mib(alone.rss))
	s.atMost(float64(scans), 1+12/5, "%.0f full scans in 12 s")
	s.atMost(100*beside.share, 2, "%.2f %% of a core")
	s.atMost(more, 24, "%.1f MiB more")
	s.stopChurn(c)
}

// scans counts how often a watch lists all of /proc.
func (s *stand) scans(c *command, lasts time.Duration) int {
	s.Helper()
	calls := s.in("calls")
	s.under([]string{"strace", "-f", "-qq", "-e", "trace=openat", "-e", "signal=none", "-o", calls},
		watchOf(c, lasts.String())).ends(5*time.Minute, 0)
	text := string(must.Get(os.ReadFile(calls))(s))
	if !strings.Contains(text, `"/proc/`) {
		s.Fatalf("strace saw nothing of /proc: %.600s", text)
	}
	return strings.Count(text, `"/proc",`) + strings.Count(text, `"/proc/",`)
}

func manyDescriptors(s *stand) {
	const workers, each = 5, 19_900
	c := churn{flags: []string{"--steady", strconv.Itoa(workers), "--fds", strconv.Itoa(each)}}.start(s)
	rec, k := s.weigh(c, 20*time.Second)
	counted := 0
	for _, event := range rec.Events {
		if event.Kind != recording.EventProcess {
			continue
		}
		if held, err := os.ReadDir("/proc/" + event.Attrs["pid"] + "/fd"); err == nil { // else it has ended
			counted += len(held)
		}
	}
	tick := k.share * rec.Header.Interval.Seconds() * 1000
	s.measured("%d descriptors counted; %.2f ms of CPU time a tick of %s, samples and all else included (%.2f %% of a "+
		"core), %.1f MiB", counted, tick, rec.Header.Interval, 100*k.share, mib(k.rss))
	if counted < workers*each {
		s.Errorf("%d descriptors counted of %d", counted, workers*each)
	}
	s.atMost(tick, 20, "%.1f ms a tick")
	s.stopChurn(c)
}

func manyBirths(s *stand, births int, rate float64) {
	hold, file := s.in("hold"), s.in("run.jsonl")
	c := churn{flags: []string{"--steady", "2", "--rate", fmt.Sprint(rate), "--life", "0.5", "--births",
		strconv.Itoa(births), "--hold", hold}}.start(s)
	p := s.pipetune(watchOf(c, "24h", "-o", file))
	s.until(time.Minute, "the watch has begun", func() bool {
		found, err := filepath.Glob(s.in(".run.jsonl*"))
		return err == nil && len(found) > 0
	})
	p.meter(200*time.Millisecond, func(u usage) bool { return u.at > startUp })
	must.Do(s, os.WriteFile(hold, nil, 0o600))
	var early, late usage
	p.meter(100*time.Millisecond, func(u usage) bool {
		n := c.births()
		if n >= 1000 && early.own == 0 {
			early = u
		}
		late = u
		return n >= births
	})
	p.meter(200*time.Millisecond, func(u usage) bool { late = u; return u.at > 2*time.Second }) // the last of them end
	p.signal(syscall.SIGINT)
	_, took := p.ending(time.Minute)
	rec, born := s.recording(file), s.stopChurn(c)

	events, counted := 0, 0.0
	for _, e := range rec.Events {
		if e.Kind == recording.EventProcess && e.Attrs["role"] == "worker" {
			events++
		}
	}
	for _, series := range rec.Series {
		if series.Metric == metric.LoaderBirths.Name {
			counted = series.Points[len(series.Points)-1].Value
		}
	}
	counted -= 2 // those that stay
	s.measured("%d births, of which %.0f counted and %d kept as events; memory %.1f MiB after 1,000, %.1f MiB after "+
		"all; report %.1f s after Ctrl-C", born, counted, events, mib(early.own), mib(late.own), took.Seconds())
	s.atMost(mib(late.own-early.own), 8, "%.1f MiB more than after 1,000")
	if int(counted) < born {
		s.missed("%d births were not seen: they ended before a tick came, on a machine too busy for one each 100 ms",
			born-int(counted))
	}
	if int(counted) > born || events > born+2 {
		s.Errorf("%.0f births counted and %d events of %d", counted, events, born)
	}
	left := slices.ContainsFunc(rec.Unseen, func(u recording.Unseen) bool { return u.Signal == "process_*" })
	if events < int(counted) && !left {
		s.Errorf("%d of %.0f births are events, and nothing says that some are left out", events, counted)
	}
}

var floodTrials = []trial{
	{
		id: "L7", fault: "the job floods the hook's socket",
		made: "`diagnose -- flood.py`: 64 processes of the job send as fast as they can for 10 s, well-formed, " +
			"without the token, garbage, and 1 MB at a time",
		target: "pipetune takes at most 10 % of a core and 64 MiB; what is left out is counted and said; the job's " +
			"result and status are its own", run: hookFlood,
	},
}

func hookFlood(s *stand) {
	file := s.in("run.jsonl")
	p := s.pipetune([]string{"diagnose", "-o", file, "--", s.python, s.testdata("reliability/flood.py"), "--clients",
		"64", "--seconds", "10"})
	p.awaitLines(1)
	flooded := p.meter(100*time.Millisecond, func(usage) bool { return bytes.Count(p.output(), []byte("\n")) > 1 })
	p.ends(5*time.Minute, 5) // as the job
	var result string
	var tried, sent int
	if _, err := fmt.Sscanf(string(p.output()), "flooding\n%s %d %d", &result, &tried, &sent); err != nil ||
		result != "right" {
		s.Errorf("the job writes %q", p.output())
	}
	if len(flooded) < 2 {
		s.Fatalf("the flood was seen %d times", len(flooded))
	}
	first, last := flooded[0], flooded[len(flooded)-1]
	if last.at-first.at < 2*time.Second {
		s.Fatalf("the flood was seen for %v", last.at-first.at)
	}
	share := (last.alone - first.alone).Seconds() / (last.at - first.at).Seconds()
	peak := max(last.peak, first.peak)
	rec := s.recording(file)
	said := slices.ContainsFunc(rec.Unseen, func(u recording.Unseen) bool { return u.Signal == "hook_*" })
	s.measured("%.2f million datagrams tried, %d taken by the kernel in %.0f s; pipetune %.1f %% of a core, at most "+
		"%.1f MiB; said that messages were left out: %t",
		float64(tried)/1e6, sent, (last.at - first.at).Seconds(), 100*share, mib(peak), said)
	s.atMost(100*share, 10, "%.1f %% of a core")
	s.atMost(mib(peak), 64, "%.1f MiB")
	if !said {
		s.Errorf("messages were left out, and nothing says so: %v", rec.Unseen)
	}
}
