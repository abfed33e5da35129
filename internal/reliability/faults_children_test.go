//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/probe"
)

var helperTrials = []trial{
	{
		id: "F13", fault: "a helper dies, lies or does not listen",
		made: "a worker process of `bench-io` gets SIGSEGV, SIGABRT, SIGKILL, SIGXCPU from outside; garbage is " +
			"written to its pipe",
		target: "the report says what ended it; what comes next is measured; exit 0", run: helperFates,
	},
	{
		id: "F13-deaf", fault: "a helper is stopped at its start",
		made:   "SIGSTOP to the first process that `bench-io` starts, before its greeting",
		target: "it is given up and ended, the message says so, nothing is left; exit 0 or 3", run: helperDeaf,
	},
	{
		id: "F9-fork", fault: "no process can be made",
		made:   "clone(2) fails with EAGAIN (strace) in `bench-io` and `doctor`",
		target: "no crash; the message says what failed and why; exit 3 and 0", run: noFork,
	},
	{
		id: "F9-emfile", fault: "few file descriptors",
		made:   "`bench-io` and `doctor` with RLIMIT_NOFILE of 8, 10, 12, 16, 20, 24, 32, 64",
		target: "no crash; a result, or a message and an exit code of 2 or 3", run: fewDescriptors,
	},
	{
		id: "F9-memory", fault: "a helper has no memory",
		made:   "RLIMIT_AS of a worker process of `bench-io` set to what it has and 0, 1, 2, 4, 8, 16, 32, 64 MiB",
		target: "no crash of pipetune; a result or a message; exit 0 or 3", run: noMemory,
	},
}

// rawData makes a small dataset.
func rawData(s *stand) string {
	s.Helper()
	dir := s.folder("data")
	for i := range 32 {
		must.Do(s, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)+".bin"), make([]byte, 1<<18), 0o644))
	}
	return dir
}

// helpers are those that run for a task, past their start.
func (c *command) helpers(task string) []int {
	return slices.DeleteFunc(c.session(), func(pid int) bool {
		args := arguments(pid)
		return len(args) != 3 || args[2] != task || statusNumber(pid, "Seccomp") != 2
	})
}

// helperOf waits for one that will do. The trial ends where pipetune has ended, or for two minutes there is none.
func (c *command) helperOf(task string, will func(pid int) bool) {
	c.stand.Helper()
	c.stand.until(2*time.Minute, "a helper for "+task, func() bool {
		if c.hasEnded() {
			c.stand.Fatalf("it has ended: %s", c.complaints())
		}
		return slices.ContainsFunc(c.helpers(task), will)
	})
}

// words are all that was written.
func (c *command) words() string { return c.complaints() + string(c.output()) }

func helperFates(s *stand) {
	data := rawData(s)
	told := 0
	struck := 0
	signal := func(sig syscall.Signal) func(int) error {
		return func(pid int) error { return syscall.Kill(pid, sig) }
	}
	fates := []struct {
		words  string // that tell of it
		strike func(pid int) error
	}{
		{"SIGSEGV", signal(syscall.SIGSEGV)}, {"SIGABRT", signal(syscall.SIGABRT)}, {"killed", signal(syscall.SIGKILL)},
		{"CPU", signal(syscall.SIGXCPU)}, {"nonsense", func(pid int) error {
			return os.WriteFile(fmt.Sprintf("/proc/%d/fd/4", pid), []byte("\x1b[31mno answer\n"), 0)
		}},
	}
	for _, fate := range fates {
		// A process that ends between two requests is replaced, nothing is lost, and nothing is said: the fault is to
		// strike within one.
		for try := range 6 {
			p := s.pipetune([]string{"bench-io", "-q", "-v", "--budget", "3s", data})
			var err error
			if p.helperOf(probe.Task, func(pid int) bool { err = fate.strike(pid); return true }); err != nil {
				s.Logf("%s: %v", fate.words, err) // it had ended by itself
				p.ends(5*time.Minute, 0)
				continue
			}
			struck++
			p.ends(5*time.Minute, 0)
			words := p.words()
			if !strings.Contains(words, "READING ONE ITEM") {
				s.Errorf("%s: nothing was measured: %.600s", fate.words, words)
			}
			if strings.Contains(strings.ToLower(words), strings.ToLower(fate.words)) {
				told++
				break
			}
			s.Logf("%s: try %d is not told of", fate.words, try+1)
		}
	}
	if told < len(fates) {
		s.missed("%d of %d causes are told", told, len(fates))
	}
	s.measured("%d fates, %d helpers struck, all runs went on; %d causes told", len(fates), struck, told)
}

func helperDeaf(s *stand) {
	p := s.pipetune([]string{"bench-io", "-q", "-v", "--budget", "3s", rawData(s)})
	stopped := 0
	for deadline := time.Now().Add(time.Minute); stopped == 0 && time.Now().Before(deadline) && !p.hasEnded(); {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.pid()))
		for _, task := range tasks {
			text, _ := os.ReadFile(task)
			first, _, _ := strings.Cut(string(text), " ")
			if pid, err := strconv.Atoi(first); err == nil && syscall.Kill(pid, syscall.SIGSTOP) == nil {
				stopped = pid
			}
		}
	}
	if stopped == 0 {
		s.Fatal("no helper was caught at its start")
	}
	began := time.Now()
	status := p.ends(5*time.Minute, 0, 3)
	s.Logf("%.600s", p.words())
	if _, err := os.Stat(fmt.Sprint("/proc/", stopped)); err == nil {
		s.Errorf("process %d is left", stopped)
	}
	s.measured("exit %d %.1f s after the stop", status, time.Since(began).Seconds())
}

func noFork(s *stand) {
	run := func(code int, args ...string) int {
		c := s.under([]string{"strace", "-f", "-qq", "-o", s.in("trace"), "-e", "trace=clone", "-e",
			"inject=clone:error=EAGAIN"}, args)
		status, words := c.ends(5*time.Minute, code), c.words()
		if !strings.Contains(strings.Join(strings.Fields(words), " "), "resource temporarily unavailable") { // in lines
			s.Errorf("%s: the cause is not said: %.600s", args[0], words)
		}
		return status
	}
	s.measured("bench-io: exit %d, doctor: exit %d, both with the cause", run(3, "bench-io", "-q", "-v", "--budget",
		"3s", rawData(s)), run(0, "doctor"))
}

func fewDescriptors(s *stand) {
	data := rawData(s)
	var said []string
	for _, n := range []int{8, 10, 12, 16, 20, 24, 32, 64} {
		run := func(args ...string) int {
			c := s.under(shell(fmt.Sprintf("ulimit -n %d", n)), args)
			status := c.wait(5 * time.Minute)
			switch words := c.words(); {
			case strings.Contains(words, "runtime.netpollinit"):
				s.missed("Go's runtime needs some descriptors of its own and ends with %d and a fatal error where it "+
					"cannot have them", status)
			case status != 0 && status != 2 && status != 3, crashed(words),
				status != 0 && !strings.Contains(words, "error: "):
				s.Errorf("%d descriptors: %s: exit %d: %.1000s", n, args[0], status, words)
			}
			return status
		}
		bench, doctor := run("bench-io", "-q", "-v", "--budget", "2s", data), run("doctor")
		said = append(said, fmt.Sprintf("%d: %d/%d", n, bench, doctor))
	}
	s.measured("exit codes of bench-io and doctor by descriptors: %s", strings.Join(said, ", "))
}

func noMemory(s *stand) {
	data := rawData(s)
	var said []string
	for _, mib := range []int64{0, 1, 2, 4, 8, 16, 32, 64} {
		p := s.pipetune([]string{"bench-io", "-q", "-v", "--budget", "2s", data})
		p.helperOf(probe.Task, func(pid int) bool {
			limit := uint64(statusNumber(pid, "VmSize")<<10 + mib<<20)
			if err := unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit}, nil); err != nil {
				s.Logf("%d MiB: %v", mib, err) // it has ended already
			}
			return true
		})
		said = append(said, fmt.Sprintf("%d MiB: %d", mib, p.ends(5*time.Minute, 0, 3)))
	}
	s.measured("exit codes: %s", strings.Join(said, ", "))
}
