//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// topCase is the job that is looked at: one worker too few, on a GPU.
var topCase = testCase{name: "workers_few"}

// startTop starts a job on the stand-in GPU, and opens a terminal beside it.
func startTop(t *testing.T, width, height int) (machine, *job, terminal) {
	t.Helper()
	m := findMachine(t)
	b := m.newGPUBench(t, topCase)
	j := b.start(t, topCase, nil)
	j.flows(t)
	return m, j, openTerminal(t, width, height, b.environment())
}

// top is the command line that watches the job.
func top(m machine, j *job) string { return m.binary + " top --pid " + strconv.Itoa(j.pid) }

// TestTop looks at a real job in terminals of three sizes, presses each key, changes the size while it draws, and finds
// the terminal as it was.
func TestTop(t *testing.T) {
	for _, size := range [][2]int{{60, 18}, {100, 30}, {160, 50}} {
		width, height := size[0], size[1]
		t.Run(fmt.Sprintf("%dx%d", width, height), func(t *testing.T) {
			m, j, p := startTop(t, width, height)
			before := p.settings()
			p.enter(top(m, j) + "; echo le''ft with $?")
			p.wait("data wait")
			for _, row := range []string{"GPU", "VRAM", "CPU", "RAM", "workers", "q quit"} {
				p.wait(row)
			}
			screen := p.wait("VERDICT")
			if err := fits(screen, width, height); err != nil || !strings.Contains(screen, "-BOUND") {
				t.Errorf("%v:\n%s", err, screen)
			}
			p.press("?")
			p.wait("the job runs on")
			p.press("?")
			p.wait("VERDICT")
			p.press("Tab")
			if screen := p.wait("R running"); !strings.Contains(screen, "pid") {
				t.Errorf("workers:\n%s", screen)
			}
			p.press("Tab")
			p.wait("Why")
			p.press("End", "Down", "Down", "Down", "PageDown")
			p.until("the report scrolled", func(s string) bool { return !strings.Contains(s, "VERDICT") })
			p.press("Tab")
			p.wait("data wait")

			p.press("Space")
			still, _, _ := strings.Cut(p.wait("PAUSED"), "\n")
			time.Sleep(2500 * time.Millisecond)
			if now, _, _ := strings.Cut(p.screen(), "\n"); now != still {
				t.Errorf("held still at %q, now %q", still, now)
			}
			p.press("Space")
			p.wait("live")

			p.press("s")
			p.wait("saved pipetune-")
			saved, err := filepath.Glob(filepath.Join(p.folder, "pipetune-*.json"))
			if err != nil || len(saved) != 1 {
				t.Fatalf("saved: %v, %v", saved, err)
			}
			if r := judgedReport(t, saved[0]); r.Job.PID != j.pid {
				t.Errorf("the saved report is of process %d", r.Job.PID)
			}

			for _, small := range [][2]int{{60, 15}, {20, 5}, {7, 2}, {200, 60}, {width, height}} {
				p.resize(small[0], small[1])
				time.Sleep(1500 * time.Millisecond)
				if err := fits(p.screen(), small[0], small[1]); err != nil {
					t.Errorf("at %v: %v", small, err)
				}
			}
			p.wait("VERDICT")
			p.press("q")
			p.wait("left with 0")
			if after := p.settings(); after != before {
				t.Errorf("the terminal was left as\n%s\nand was\n%s", after, before)
			}
		})
	}
}

// TestTopStaysWhenTheJobEnds: its last state and a verdict stay until the person goes, who can still save it.
func TestTopStaysWhenTheJobEnds(t *testing.T) {
	m, j, p := startTop(t, 100, 30)
	p.enter(top(m, j) + " -o last.json; echo le''ft with $?")
	p.wait("VERDICT")
	must.Do(t, j.stop())
	p.wait("the job has ended")
	time.Sleep(3 * time.Second)
	screen := p.wait("verdict on its last")
	if !strings.Contains(screen, "data wait") {
		t.Errorf("the last state is gone:\n%s", screen)
	}
	p.press("s")
	p.wait("saved last.json")
	judgedReport(t, filepath.Join(p.folder, "last.json"))
	p.press("q")
	p.wait("left with 0")
}

// TestTopEndsWithItsTerminal and when it is asked to; the job runs on.
func TestTopEndsWithItsTerminal(t *testing.T) {
	m, j, p := startTop(t, 100, 30)
	number := filepath.Join(p.folder, "number")
	started := func() int {
		p.enter("sh -c 'echo $$ >" + number + "; exec " + top(m, j) + "'; echo le''ft with $?")
		p.wait("data wait")
		return must.Get(strconv.Atoi(strings.TrimSpace(string(must.Get(os.ReadFile(number))(t)))))(t)
	}
	for sig, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		must.Do(t, syscall.Kill(started(), sig))
		p.wait(fmt.Sprintf("left with %d", code))
		p.enter("clear")
	}
	pid := started()
	p.tmux("kill-server")
	until(t, "pipetune to end with its terminal", func() bool {
		return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	})
	if err := syscall.Kill(j.pid, 0); err != nil {
		t.Errorf("the job: %v", err)
	}
}
