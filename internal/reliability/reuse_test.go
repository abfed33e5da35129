//go:build reliability

package reliability

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/procfs"
)

var reuseTrials = []trial{
	{
		id: "F5-worker", fault: "a worker ends and its number is given to a stranger at once",
		made: "ns_last_pid in a pid namespace of the trial's own, 1,000 times under a watch; each stranger reads " +
			"16 MiB",
		target: "0 readings of a stranger among the job's", run: reusedWorkers,
	},
	{
		id: "F5-attach", fault: "the process that is being attached to ends and its number is given away",
		made:   "the same, 0 to 60 ms after pipetune was started, 25 times",
		target: "exit 3, or a recording of one of the two processes alone, under its own start time and command",
		run:    reusedAtAttach,
	},
}

// strangersRead is what a stranger of reuse.py reads; its workers read nothing.
const strangersRead = 16 << 20

// reused runs reuse.py in a pid namespace of its own, and reads what it wrote down of it.
func reused[T any](s *stand, way, folder string, rounds int, args ...string) T {
	s.Helper()
	c := s.start("reuse", append([]string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", s.python,
		s.testdata("reliability/reuse.py"), way, folder, strconv.Itoa(rounds), s.binary}, args...))
	if status := c.wait(10 * time.Minute); status != 0 {
		s.Fatalf("reuse.py ended with %d: %s", status, c.complaints())
	}
	return fromJSON[T](s, filepath.Join(folder, "truth.json"))
}

// processOf is the process that an entity of a recording names.
func processOf(entity string) (procfs.ID, bool) {
	kind, name, _ := strings.Cut(entity, "/")
	number, start, ok := strings.Cut(name, ".")
	pid, err1 := strconv.Atoi(number)
	ticks, err2 := strconv.ParseUint(start, 10, 64)
	return procfs.ID{PID: pid, Start: ticks}, ok && err1 == nil && err2 == nil &&
		slices.Contains([]string{"process", "pin", "loader"}, kind)
}

func reusedWorkers(s *stand) {
	const rounds = 1000
	folder := s.folder("churn")
	truth := reused[struct {
		Status, Rounds, Missed int
		Watched                bool
		Own, Strangers         [][2]uint64
	}](s, "churn", folder, rounds, "diagnose", "-q", "--duration", "8m", "-o", filepath.Join(folder, "run.jsonl"))
	if truth.Status != 0 || !truth.Watched || truth.Rounds < rounds || truth.Missed > rounds/10 {
		text, err := os.ReadFile(filepath.Join(folder, "stderr"))
		s.Fatalf("exit %d, watched to the end: %t, %d rounds, %d numbers not given away; stderr: %s %v", truth.Status,
			truth.Watched, truth.Rounds, truth.Missed, text, err)
	}
	set := func(list [][2]uint64) map[procfs.ID]bool {
		ids := map[procfs.ID]bool{}
		for _, p := range list {
			ids[procfs.ID{PID: int(p[0]), Start: p[1]}] = true
		}
		return ids
	}
	own, strangers := set(truth.Own), set(truth.Strangers)
	rec := s.recording(filepath.Join(folder, "run.jsonl"))
	readings, seen := 0, map[procfs.ID]bool{}
	for _, series := range rec.Series {
		id, ok := processOf(series.Entity)
		if !ok {
			continue
		}
		readings += len(series.Points)
		seen[id] = true
		if !own[id] {
			s.Errorf("%s of %s was recorded, a stranger: %t", series.Metric, series.Entity, strangers[id])
		}
		if series.Metric != metric.ProcReadChars.Name {
			continue
		}
		for _, p := range series.Points {
			if p.Value >= strangersRead/2 {
				s.Errorf("%s is said to have read %.0f bytes: a stranger's", series.Entity, p.Value)
				break
			}
		}
	}
	for _, e := range rec.Events {
		if id, ok := processOf(e.Entity); ok && !own[id] {
			s.Errorf("event %s of %s, which is none of the job's", e.Kind, e.Entity)
		}
	}
	if len(seen) < 50 {
		s.Errorf("only %d processes were recorded: the trial tells nothing", len(seen))
	}
	s.measured("%d numbers given away at once, %d processes of the job with %d readings recorded, 0 of a stranger",
		truth.Rounds-truth.Missed, len(seen), readings)
}

func reusedAtAttach(s *stand) {
	folder := s.folder("attach")
	tries := reused[[]struct {
		PID, Status int
		Old, New    uint64
	}](s, "attach", folder, 25, "diagnose", "-q", "--duration", "6s", "--warmup", "0s")
	refused, olds, news := 0, 0, 0
	for n, try := range tries {
		stderr := must.Get(os.ReadFile(filepath.Join(folder, "stderr-"+strconv.Itoa(n))))(s)
		path := filepath.Join(folder, "run-"+strconv.Itoa(n)+".jsonl")
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if refused++; try.Status != 3 {
				s.Errorf("no recording, exit %d: %s", try.Status, stderr)
			}
			continue
		}
		rec := s.recording(path)
		job := rec.Header.Job
		command := strings.Join(job.Command, " ")
		switch job.StartTicks {
		case try.Old:
			if olds++; !strings.Contains(command, "1111.") {
				s.Errorf("the first process is recorded with the command of the second: %q", command)
			}
		case try.New:
			if news++; strings.Contains(command, "1111.") {
				s.Errorf("the second process is recorded with the command of the first: %q", command)
			}
		default:
			s.Errorf("start %d is neither the first's, %d, nor the second's, %d", job.StartTicks, try.Old, try.New)
		}
		for _, series := range rec.Series {
			if id, ok := processOf(series.Entity); ok && id != (procfs.ID{PID: try.PID, Start: job.StartTicks}) {
				s.Errorf("%s of %s in the recording of %d", series.Metric, series.Entity, job.StartTicks)
			}
		}
		if try.Status != 0 && try.Status != 3 {
			s.Errorf("exit %d: %s", try.Status, stderr)
		}
	}
	s.measured("%d tries: %d refused with exit 3, %d recordings of the first process, %d of the second, none of both",
		len(tries), refused, olds, news)
	if len(tries) < 25 || olds+news == 0 || refused+olds == 0 {
		s.Errorf("the tries did not meet the moment: the trial tells nothing")
	}
}
