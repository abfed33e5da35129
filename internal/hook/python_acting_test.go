package hook_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/must"
)

// acted is a job whose hook takes orders.
type acted struct {
	t      *testing.T
	hook   *hook.Receiver
	over   string // a file that ends the job
	output bytes.Buffer
	cmd    *exec.Cmd
}

func act(t *testing.T, args ...string) *acted {
	t.Helper()
	needTorch(t)
	t.Parallel()
	a := &acted{t: t, over: filepath.Join(t.TempDir(), "over")}
	entity := func(pid int) (string, bool) { return "process/" + strconv.Itoa(pid) + ".1", true }
	a.hook = must.Get(hook.New(hook.Config{Identify: entity, Acts: true}))(t)
	t.Cleanup(a.hook.Close)
	a.cmd = exec.Command(python, append([]string{script(t, "acting.py"), a.over}, args...)...)
	a.cmd.Env = a.hook.Environ(os.Environ())
	a.cmd.Stdout, a.cmd.Stderr = &a.output, &a.output
	must.Do(t, a.cmd.Start())
	return a
}

// controls waits until so many trainers take orders.
func (a *acted) controls(want int) []*hook.Control {
	a.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if list := a.hook.Controls(); len(list) >= want {
			return list
		}
	}
	a.t.Fatalf("of %d trainers %d take orders", want, len(a.hook.Controls()))
	return nil
}

// row waits for one of a kind.
func (a *acted) row(from *hook.Control, kind string) hook.Row {
	a.t.Helper()
	for late := time.After(time.Minute); ; {
		select {
		case row, ok := <-from.Rows():
			if !ok {
				a.t.Fatalf("the trainer is gone before a row %q: %s", kind, a.output.String())
			}
			if row.Row == kind {
				return row
			}
			if row.Row == hook.RowFailed {
				a.t.Fatalf("acting failed: %s", row.Why)
			}
		case <-late:
			a.t.Fatalf("no row %q", kind)
		}
	}
}

// answers are the rows that orders are answered with where all goes well.
var answers = map[string]string{hook.OrderCount: hook.RowCount, hook.OrderReplay: hook.RowReplay,
	hook.OrderDescribe: hook.RowLoader, hook.OrderCandidate: hook.RowMade, hook.OrderStop: hook.RowDone,
	hook.OrderUse: hook.RowMade}

// ask gives an order and waits for its answer.
func (a *acted) ask(to *hook.Control, o hook.Order) hook.Row {
	a.t.Helper()
	must.Do(a.t, to.Send(o))
	return a.row(to, answers[o.Order])
}

// end ends the job and returns the lines it has printed.
func (a *acted) end() []string {
	a.t.Helper()
	must.Do(a.t, os.WriteFile(a.over, nil, 0o600))
	if err := a.cmd.Wait(); err != nil {
		a.t.Fatalf("the job: %v\n%s", err, a.output.String())
	}
	return strings.Split(strings.TrimSpace(a.output.String()), "\n")
}

// distinct is how many different lines there are.
func distinct(lines []string) int {
	slices.Sort(lines)
	return len(slices.Compact(lines))
}

func TestReplayHandsOutTheLastBatchesAgain(t *testing.T) {
	for _, c := range []struct {
		name   string
		copied bool
	}{{"plain", false}, {"workers", false}, {"zip", false}, {"changing", true}} {
		t.Run(c.name, func(t *testing.T) {
			a := act(t, c.name)
			trainer := a.controls(1)[0]
			if row := a.ask(trainer, hook.Order{Order: hook.OrderCount}); row.Steps < 1 || row.Time <= 0 {
				t.Errorf("count: %+v", row)
			}
			row := a.ask(trainer, hook.Order{Order: hook.OrderReplay, Keep: 4})
			if row.Kept != 4 || row.Copied != c.copied {
				t.Errorf("replay: %+v, want 4 batches, copied %t", row, c.copied)
			}
			steps := int64(0)
			for range 4 {
				row := a.row(trainer, hook.RowChunk)
				steps += row.Steps
				if row.Steps < 1 || row.Time <= 0 || row.Void {
					t.Errorf("chunk %+v", row)
				}
			}
			lines := a.end()
			last := lines[len(lines)-int(steps)/2:]
			if n := distinct(last); n != 4 {
				t.Errorf("%d different batches in the last %d steps, want the 4 that were kept, unchanged", n,
					len(last))
			}
		})
	}
}

// TestCandidatesAreMadeOfTheJobsOwnLoader: alone and in the loop, map-style and iterable, with short epochs too.
func TestCandidatesAreMadeOfTheJobsOwnLoader(t *testing.T) {
	for _, c := range []struct {
		args     []string
		iterable bool
		batches  int
	}{{[]string{"plain"}, false, 50000}, {[]string{"plain", "short"}, false, 10},
		{[]string{"workers", "stream"}, true, 0}} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			a := act(t, c.args...)
			trainer := a.controls(1)[0]
			if row := a.ask(trainer, hook.Order{Order: hook.OrderDescribe}); row.Why != "" || row.Made == nil ||
				row.Made.Iterable != c.iterable || row.Batches != c.batches {
				t.Errorf("the loader: %+v, %+v", row, row.Made)
			}
			try := &hook.Candidate{NumWorkers: 2, PrefetchFactor: 3, Seconds: 30, Patience: 30}
			row := a.ask(trainer, hook.Order{Order: hook.OrderCandidate, Candidate: try})
			if len(row.PIDs) != 2 || row.Time <= 0 {
				t.Errorf("made: %+v", row)
			}
			if row := a.row(trainer, hook.RowChunk); row.Steps < 1 || row.Time <= 0 {
				t.Errorf("chunk: %+v", row)
			}
			a.ask(trainer, hook.Order{Order: hook.OrderStop})
			if row := a.ask(trainer, hook.Order{Order: hook.OrderUse, Candidate: try}); len(row.PIDs) != 2 {
				t.Errorf("in the loop: %+v", row)
			}
			a.row(trainer, hook.RowChunk)
			try.NumWorkers = 0
			a.ask(trainer, hook.Order{Order: hook.OrderUse, Candidate: try})
			a.row(trainer, hook.RowChunk)
			a.end()
		})
	}
}

// TestCandidateThatDies is reported, alone and in the loop, which then goes on with its own loader.
func TestCandidateThatDies(t *testing.T) {
	a := act(t, "workers", "dies")
	trainer := a.controls(1)[0]
	try := &hook.Candidate{NumWorkers: 2, PrefetchFactor: 2, Seconds: 5, Patience: 30}
	for _, order := range []string{hook.OrderCandidate, hook.OrderUse} {
		must.Do(t, trainer.Send(hook.Order{Order: order, Candidate: try}))
		if row := a.row(trainer, hook.RowDied); !strings.Contains(row.Why, "exited unexpectedly") {
			t.Errorf("%s died of %q", order, row.Why)
		}
	}
	count := func() int64 {
		return a.ask(trainer, hook.Order{Order: hook.OrderCount}).Steps
	}
	for from, late := count(), time.Now().Add(time.Minute); count() <= from; {
		if time.Now().After(late) {
			t.Fatal("no step after the deaths")
		}
	}
	a.end()
}

// TestLoaderThatCannotBeMadeAgain says why.
func TestLoaderThatCannotBeMadeAgain(t *testing.T) {
	a := act(t, "plain", "own")
	trainer := a.controls(1)[0]
	if row := a.ask(trainer, hook.Order{Order: hook.OrderDescribe}); !strings.Contains(row.Why,
		"__main__.Own, which goes over its batches in a way of its own") {
		t.Errorf("why: %q", row.Why)
	}
	a.end()
}

func TestReplayIsMarkedWhereTheJobEvaluates(t *testing.T) {
	a := act(t, "plain", "evaluates")
	trainer := a.controls(1)[0]
	must.Do(t, trainer.Send(hook.Order{Order: hook.OrderReplay, Keep: 2}))
	void := false
	for range 3 {
		void = void || a.row(trainer, hook.RowChunk).Void
	}
	if lines := a.end(); !void || !slices.Contains(lines, "evaluated [0, 2]") {
		t.Errorf("chunks with evaluations in them: marked %t; the evaluation's own batches are its loader's: %t", void,
			slices.Contains(lines, "evaluated [0, 2]"))
	}
}

// TestReplayOfRanksBeginsAtOneStep: two trainers that were forked from one which had taken a batch each have a line of
// their own, and begin where they are told to.
func TestReplayOfRanksBeginsAtOneStep(t *testing.T) {
	a := act(t, "forked")
	list := a.controls(3)
	var forked []*hook.Control
	for _, each := range list {
		if each.PID != a.cmd.Process.Pid {
			forked = append(forked, each)
		}
	}
	if len(forked) != 2 {
		t.Fatalf("%d of %d trainers were forked, want 2", len(forked), len(list))
	}
	for _, each := range forked {
		must.Do(t, each.Send(hook.Order{Order: hook.OrderReplay, From: 300, Keep: 2}))
	}
	for _, each := range forked {
		a.row(each, hook.RowReplay)
		if row := a.ask(each, hook.Order{Order: hook.OrderCount}); row.Steps < 300 {
			t.Errorf("process %d replays at step %d, want from 300 on", each.PID, row.Steps)
		}
	}
	a.end()
}

// TestJobRunsOnWithItsOwnLoader once pipetune is gone.
func TestJobRunsOnWithItsOwnLoader(t *testing.T) {
	a := act(t, "plain")
	trainer := a.controls(1)[0]
	must.Do(t, trainer.Send(hook.Order{Order: hook.OrderReplay, Keep: 2}))
	a.row(trainer, hook.RowChunk)
	a.hook.Close()
	time.Sleep(300 * time.Millisecond)
	lines := a.end()
	if last := lines[len(lines)-10:]; distinct(last) != 10 {
		t.Errorf("the last batches are %q, want ten new ones", last)
	}
}

// TestActingIsOutOfReachElsewhere: without Acts the Python that acts is not there, no variable of an outer pipetune
// comes through, and nobody takes orders.
func TestActingIsOutOfReachElsewhere(t *testing.T) {
	r := must.Get(hook.New(hook.Config{Identify: func(int) (string, bool) { return "process/1.1", true }}))(t)
	defer r.Close()
	for _, variable := range r.Environ([]string{hook.EnvOrders + "=/outer"}) {
		if strings.HasPrefix(variable, hook.EnvOrders) {
			t.Errorf("%s reaches the job", variable)
		}
		if folder, ok := strings.CutPrefix(variable, "PYTHONPATH="); ok {
			if _, err := os.Stat(filepath.Join(folder, "pipetune_hook", "state.py")); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(folder, "pipetune_hook", "acting")); !os.IsNotExist(err) {
				t.Errorf("the Python that acts lies in the private folder: %v", err)
			}
		}
	}
	if len(r.Controls()) != 0 {
		t.Error("somebody takes orders")
	}
}
