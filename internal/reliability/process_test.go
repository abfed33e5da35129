//go:build reliability

package reliability

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// command is a running program with what it writes. It leads a session of its own, so that all it starts can be found
// and ended.
type command struct {
	stand  *stand
	cmd    *exec.Cmd
	name   string
	own    bool   // pipetune's: nothing of its session may outlive it
	stdout string // file
	stderr string // file
	ended  chan struct{}
}

// pipetune starts the binary with the trial's own HOME, TMPDIR and XDG_RUNTIME_DIR; change may add to the command
// before it starts.
func (s *stand) pipetune(args []string, change ...func(*exec.Cmd)) *command {
	s.Helper()
	return s.under(nil, args, change...)
}

// under is pipetune within another program, as strace or unshare, given with its arguments.
func (s *stand) under(program, args []string, change ...func(*exec.Cmd)) *command {
	s.Helper()
	c := s.start("pipetune", slices.Concat(program, []string{s.binary}, args), append([]func(*exec.Cmd){s.ownFolders},
		change...)...)
	c.own = true
	return c
}

// shell lets a program run after some lines of shell, in its place.
func shell(lines string) []string { return []string{"/bin/sh", "-ec", lines + "\nexec \"$@\"", "sh"} }

// watchOf are the arguments of a watch of a job.
func watchOf(job *command, duration string, more ...string) []string {
	return append([]string{"diagnose", "--pid", strconv.Itoa(job.pid()), "--duration", duration}, more...)
}

// asPython runs the interpreter under the name that a command line begins with.
func (s *stand) asPython(cmd *exec.Cmd) { cmd.Path, cmd.Err = s.python, nil }

// ownFolders gives a command the trial's own places for what it leaves.
func (s *stand) ownFolders(cmd *exec.Cmd) {
	cmd.Env = append(cmd.Env, "HOME="+s.home, "TMPDIR="+s.tmp, "XDG_RUNTIME_DIR="+s.runtime)
}

// start runs any program in the trial's working folder, its output going to files.
func (s *stand) start(name string, argv []string, change ...func(*exec.Cmd)) *command {
	s.Helper()
	dir := s.folder(name)
	c := &command{stand: s, name: name, stdout: filepath.Join(dir, "stdout"), stderr: filepath.Join(dir, "stderr"),
		ended: make(chan struct{})}
	stdout := must.Get(os.Create(c.stdout))(s)
	defer stdout.Close()
	stderr := must.Get(os.Create(c.stderr))(s)
	defer stderr.Close()
	c.cmd = exec.Command(argv[0], argv[1:]...)
	c.cmd.Dir, c.cmd.Stdout, c.cmd.Stderr = s.work, stdout, stderr
	c.cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	for _, f := range change {
		f(c.cmd)
	}
	if err := c.cmd.Start(); err != nil {
		s.Fatalf("starting %s: %v", name, err)
	}
	go func() {
		_ = c.cmd.Wait() // ProcessState says it all
		close(c.ended)
	}()
	s.Cleanup(c.kill)
	return c
}

func (c *command) pid() int { return c.cmd.Process.Pid }

// signal sends one to the program itself.
func (c *command) signal(sig syscall.Signal) {
	c.stand.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.stand.Errorf("sending %v to %s: %v", sig, c.name, err)
	}
}

// wait returns the exit status as a shell gives it: 128 and the signal's number where one ended it. Of pipetune it
// holds that no process outlives it by some seconds.
func (c *command) wait(limit time.Duration) int {
	c.stand.Helper()
	status := c.exit(limit)
	if c.own {
		c.alone()
	}
	return status
}

// ends is wait, and holds the status to these, and what was written to be no crash.
func (c *command) ends(limit time.Duration, codes ...int) int {
	c.stand.Helper()
	status := c.wait(limit)
	if said := c.complaints(); !slices.Contains(codes, status) || crashed(said) {
		c.stand.Errorf("%s: exit %d, want %v: %.2000s", c, status, codes, said)
	}
	return status
}

// String is the command line, or the beginning of it.
func (c *command) String() string { return fmt.Sprintf("%.200q", c.cmd.Args) }

// exit is wait for the program alone.
func (c *command) exit(limit time.Duration) int {
	c.stand.Helper()
	select {
	case <-c.ended:
	case <-time.After(limit):
		c.stand.Fatalf("%s has not ended within %v; stderr: %s", c.name, limit, c.complaints())
	}
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return c.cmd.ProcessState.ExitCode()
}

// hasEnded says whether the program itself has.
func (c *command) hasEnded() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// ending is wait, and how long the program itself took to end.
func (c *command) ending(limit time.Duration) (status int, took time.Duration) {
	c.stand.Helper()
	began := time.Now()
	c.exit(limit)
	took = time.Since(began)
	return c.wait(limit), took
}

// output is what was written to stdout so far.
func (c *command) output() []byte {
	c.stand.Helper()
	return must.Get(os.ReadFile(c.stdout))(c.stand)
}

// complaints is what was written to stderr so far.
func (c *command) complaints() string {
	c.stand.Helper()
	return string(must.Get(os.ReadFile(c.stderr))(c.stand))
}

// lastLine is the last line that a program has written.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// crashed says whether what a program wrote holds the traceback that Go's runtime ends with.
func crashed(words string) bool { return strings.Contains(words, "goroutine ") }

// awaitLines waits until stdout holds n lines.
func (c *command) awaitLines(n int) {
	c.stand.Helper()
	c.stand.until(2*time.Minute, "lines in the output of "+c.name, func() bool {
		if c.hasEnded() {
			c.stand.Fatalf("%s has ended; stderr: %s", c.name, c.complaints())
		}
		return bytes.Count(c.output(), []byte("\n")) >= n
	})
}

// session returns the processes of the program's session that still run, zombies left out.
func (c *command) session() []int {
	c.stand.Helper()
	return processes(func(pid int, stat []string) bool {
		return stat[3] == strconv.Itoa(c.pid()) && stat[0] != "Z" // session and state: fields 6 and 3 of man 5 proc
	})
}

// alone fails the trial where a process of an ended program's session outlives it by some seconds: a helper must go
// with its parent.
func (c *command) alone() {
	c.stand.Helper()
	c.stand.until(30*time.Second, "the processes that "+c.name+" started have ended",
		func() bool { return len(c.session()) == 0 })
}

// kill ends the whole session.
func (c *command) kill() {
	for range 50 {
		left := c.session()
		if len(left) == 0 {
			break
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have gone meanwhile
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
		time.Sleep(20 * time.Millisecond)
	}
	select {
	case <-c.ended:
	case <-time.After(10 * time.Second):
		c.stand.Errorf("%s, process %d, cannot be ended", c.name, c.pid())
	}
}

// processes lists those that match; stat is /proc/PID/stat from the state on.
func processes(match func(pid int, stat []string) bool) (found []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	for _, path := range paths {
		pid := int(number(filepath.Base(path)))
		if stat := statOf(pid); len(stat) > 20 && match(pid, stat) {
			found = append(found, pid)
		}
	}
	return found
}

// statOf is a process's /proc/PID/stat from the state on; nothing where it has ended.
func statOf(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}
