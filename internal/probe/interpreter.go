package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// answerPrefix begins a line that is an answer and not the chatter of a library.
const answerPrefix = "pipetune-answer:"

// bootstrap is what the interpreter is started with. The script and the request come on standard input, so that ps
// shows one line and not a program. The folder the interpreter is started in is no place to import from; it is / in any
// case.
const bootstrap = `import sys
sys.path[:] = [p for p in sys.path if p not in ("", ".")]
if sys.version_info < (3, 8): sys.exit("Python 3.8 or newer is needed")
exec(compile(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())), "<pipetune>", "exec"), {"__name__": "__main__", "PREFIX": "` + answerPrefix + `"})`

const (
	mostAnswer    = 64 << 10               // bytes of one line of answer
	mostComplaint = 8 << 10                // bytes kept of its standard error
	endLimit      = 2 * time.Second        // between SIGKILL and its exit status
	settleLimit   = 500 * time.Millisecond // for the rest of its output behind the exit
)

// interpreter is a Python of the person's own. It runs outside the sandbox of worker processes, with the person's
// environment, because it is their libraries as their job loads them that are wanted; it gets a process group of its
// own, which is killed whole.
type interpreter []string

// run starts the interpreter on a script and hands each answer to take, until it ends, the limit is over or the context
// ends. The answers until then were taken whatever the error. Nothing waits for a process that cannot be killed.
func (argv interpreter) run(ctx context.Context, script string, request any, limit time.Duration,
	take func([]byte) error) error {
	if len(argv) == 0 {
		return errors.New("no interpreter was named")
	}
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding what the interpreter is asked: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd, err := argv.command(within)
	if err != nil {
		return fmt.Errorf("starting the interpreter: %w", err)
	}
	out, said := &answers{take: take, stop: cancel}, &stderrEnds{}
	defer out.end()
	head := fmt.Sprintf("%d\n%s", len(script), script)
	cmd.Stdin = io.MultiReader(strings.NewReader(head), bytes.NewReader(body))
	cmd.Stdout, cmd.Stderr = out, said
	ended := make(chan error, 1)
	go func() { ended <- runGroup(cmd) }()
	select {
	case err = <-ended:
	case <-within.Done():
		err = within.Err()
		select {
		case <-ended:
		case <-time.After(endLimit): // in a system call on a dead mount: it goes when it can
		}
	}
	exit := new(exec.ExitError)
	switch {
	case out.end() != nil:
		return out.end()
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("the interpreter did not end within %v%s", limit.Round(time.Millisecond), said)
	case !errors.As(err, &exit):
		return fmt.Errorf("starting the interpreter: %w", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("the interpreter died (signal %d, %v)%s", int(status.Signal()), status.Signal(), said)
	}
	return fmt.Errorf("the interpreter failed (exit status %d)%s", exit.ExitCode(), said)
}

// command is the interpreter with its arguments, which is killed with its group when the context ends.
func (argv interpreter) command(ctx context.Context) (*exec.Cmd, error) {
	program := argv[0]
	if strings.Contains(program, "/") { // it runs in another folder
		path, err := filepath.Abs(program)
		if err != nil {
			return nil, err
		}
		program = path
	}
	// faulthandler names the signal a library crashes with.
	cmd := exec.CommandContext(ctx, program,
		slices.Concat(argv[1:], []string{"-X", "faulthandler", "-W", "ignore", "-c", bootstrap})...)
	cmd.Dir = "/"
	cmd.Env = pythonEnvironment(os.Environ())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = settleLimit
	return cmd, nil
}

// runGroup runs a command to its end, and kills what it left behind in its group.
func runGroup(cmd *exec.Cmd) error {
	runtime.LockOSThread() // the parent-death signal fires when the thread that forked ends (prctl(2))
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return err
	}
	await(cmd.Process.Pid)
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // while its number is still its own
	return cmd.Wait()
}

// answers takes the lines of an output that are answers. A line longer than any answer is chatter.
type answers struct {
	take func([]byte) error
	stop func() // called when take refuses an answer

	mu   sync.Mutex
	line []byte
	long bool
	over bool
	err  error // of take
}

func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for rest := p; !a.over && len(rest) > 0; {
		piece, after, whole := bytes.Cut(rest, []byte("\n"))
		a.long = a.long || len(a.line)+len(piece) > mostAnswer
		if !a.long {
			a.line = append(a.line, piece...)
		}
		if rest = after; !whole {
			break
		}
		if answer, ok := bytes.CutPrefix(a.line, []byte(answerPrefix)); ok && !a.long {
			if a.err = a.take(answer); a.err != nil {
				a.over = true
				a.stop()
			}
		}
		a.line, a.long = a.line[:0], false
	}
	return len(p), nil
}

// end takes no more answers, and returns why take refused one.
func (a *answers) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	return a.err
}

// await returns when a child has ended, and leaves its status to be waited for.
func await(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// pythonEnvironment is the person's own, so that the job's libraries are found and behave as in the job, but for what
// would start an interactive session or write beside the libraries, for threads: a worker of the DataLoader computes
// with one, and for HDF5's file locks: as long as a reader has one, a job that opens the file for writing is refused
// (errno 11). What a lock costs is measured by itself.
func pythonEnvironment(own []string) []string {
	var out []string
	for _, variable := range own {
		if name, _, _ := strings.Cut(variable, "="); name != "PYTHONINSPECT" && name != "PYTHONSTARTUP" {
			out = append(out, variable)
		}
	}
	return append(out, "PYTHONDONTWRITEBYTECODE=1", "HDF5_USE_FILE_LOCKING=FALSE", "OMP_NUM_THREADS=1",
		"OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
}

// stderrEnds keeps the beginning of a standard error and, behind it, its end.
type stderrEnds struct {
	mu   sync.Mutex
	text []byte
}

func (c *stderrEnds) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if extra := len(c.text) - mostComplaint; extra > 0 {
		c.text = append(c.text[:mostComplaint/2], c.text[mostComplaint/2+extra:]...)
	}
	return len(p), nil
}

// String is the line that says most, as the end of a sentence; "" when there is none.
func (c *stderrEnds) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if line := errorLine(string(c.text)); line != "" {
		return ": " + line
	}
	return ""
}

// errorLine picks the exception behind a traceback, else a fatal error, else the first line that is not empty.
func errorLine(text string) string {
	var first, fatal, exception string
	traceback := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case strings.HasPrefix(line, "Traceback (most recent call last)"):
			traceback = true
		case strings.HasPrefix(line, "Fatal Python error: ") && fatal == "":
			fatal = line
		case traceback && !strings.HasPrefix(line, " "):
			exception, traceback = line, false
		}
		if first == "" {
			first = line
		}
	}
	for _, line := range []string{exception, fatal, first} {
		if line != "" {
			return untrusted.Cut(line, 200).String()
		}
	}
	return ""
}
