package probe

import (
	"bufio"
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
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// answerPrefix begins a line that is an answer and not the chatter of a library.
const answerPrefix = "pipetune-answer:"

// bootstrap is what the interpreter is started with. The script and the request come on standard input, so that ps shows one line and
// not a program. The folder the interpreter is started in is no place to import from; it is / in any case.
const bootstrap = `import sys
sys.path[:] = [p for p in sys.path if p not in ("", ".")]
if sys.version_info < (3, 8): sys.exit("Python 3.8 or newer is needed")
exec(compile(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())), "<pipetune>", "exec"), {"__name__": "__main__", "PREFIX": "` + answerPrefix + `"})`

const (
	mostAnswer    = 64 << 10               // bytes of one line of answer
	mostComplaint = 8 << 10                // bytes kept of its standard error
	endLimit      = 2 * time.Second        // between SIGKILL or the end of its output and its exit status
	settleLimit   = 500 * time.Millisecond // for the rest of standard error behind the exit
)

// interpreter is a Python of the person's own. It runs outside the sandbox of worker processes, with the person's environment, because
// it is their libraries as their job loads them that are wanted; it gets a process group of its own, which is killed whole.
type interpreter []string

// run starts the interpreter on a script and hands each answer to take, until it ends, the limit is over or the context ends. The answers
// until then were taken whatever the error. Nothing waits for a process that cannot be killed.
func (argv interpreter) run(ctx context.Context, script string, request any, limit time.Duration, take func([]byte) error) error {
	if len(argv) == 0 {
		return errors.New("no interpreter was named")
	}
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encoding what the interpreter is asked: %w", err)
	}
	p, err := argv.start()
	if err != nil {
		return fmt.Errorf("starting the interpreter: %w", err)
	}
	defer p.end()
	go func() {
		fmt.Fprintf(p.stdin, "%d\n%s", len(script), script) // a process that died has a better reason to give than a broken pipe
		_, _ = p.stdin.Write(body)
		p.stdin.Close()
	}()
	answers := make(chan []byte)
	gone := make(chan struct{})
	defer close(gone)
	go scan(p.stdout, answers, gone)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		select {
		case line, more := <-answers:
			if !more {
				return p.verdict()
			}
			if err := take(line); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return fmt.Errorf("the interpreter did not end within %v%s", limit.Round(time.Millisecond), p.complaint())
		}
	}
}

// scan hands over the lines that are answers. A line longer than any answer is chatter.
func scan(from io.Reader, answers chan<- []byte, gone <-chan struct{}) {
	defer close(answers)
	r := bufio.NewReaderSize(from, mostAnswer)
	whole := true // the next piece begins a line
	for {
		piece, err := r.ReadSlice('\n')
		if line, ok := bytes.CutPrefix(piece, []byte(answerPrefix)); ok && whole && err == nil {
			select {
			case answers <- bytes.Clone(line):
			case <-gone:
				return
			}
		}
		whole = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// pythonProcess is a running interpreter.
type pythonProcess struct {
	cmd           *exec.Cmd
	stdin, stdout *os.File
	done          chan struct{} // closed when its exit status is known

	mu     sync.Mutex
	stderr []byte
	heard  chan struct{} // closed at the end of standard error
}

func (argv interpreter) start() (*pythonProcess, error) {
	var open []*os.File
	fail := func(err error) (*pythonProcess, error) {
		for _, f := range open {
			f.Close()
		}
		return nil, err
	}
	var ends [3][2]*os.File
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			return fail(err)
		}
		ends[i] = [2]*os.File{r, w}
		open = append(open, r, w)
	}
	program := argv[0]
	if strings.Contains(program, "/") { // it runs in another folder
		path, err := filepath.Abs(program)
		if err != nil {
			return fail(err)
		}
		program = path
	}
	// faulthandler names the signal a library crashes with.
	cmd := exec.Command(program, append(append([]string{}, argv[1:]...), "-X", "faulthandler", "-W", "ignore", "-c", bootstrap)...)
	cmd.Dir = "/"
	cmd.Env = pythonEnvironment(os.Environ())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = ends[0][0], ends[1][1], ends[2][1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &pythonProcess{cmd: cmd, stdin: ends[0][1], stdout: ends[1][0], done: make(chan struct{}), heard: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the parent-death signal fires when the thread that forked ends (prctl(2))
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		await(cmd.Process.Pid)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind, while its number is still its own
		_ = cmd.Wait()                                      // the state says it all
		close(p.done)
	}()
	if err := <-started; err != nil {
		return fail(err)
	}
	for _, f := range []*os.File{ends[0][0], ends[1][1], ends[2][1]} {
		f.Close()
	}
	go p.listen(ends[2][0])
	return p, nil
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

// pythonEnvironment is the person's own, so that the job's libraries are found and behave as in the job, but for what would start an
// interactive session or write beside the libraries, for threads: a worker of the DataLoader computes with one, and for HDF5's file locks: as long as
// a reader has one, a job that opens the file for writing is refused (errno 11). What a lock costs is measured by itself.
func pythonEnvironment(own []string) []string {
	var out []string
	for _, variable := range own {
		if name, _, _ := strings.Cut(variable, "="); name != "PYTHONINSPECT" && name != "PYTHONSTARTUP" {
			out = append(out, variable)
		}
	}
	return append(out, "PYTHONDONTWRITEBYTECODE=1", "HDF5_USE_FILE_LOCKING=FALSE", "OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
}

// listen reads standard error for ever and keeps its beginning and, behind it, its end.
func (p *pythonProcess) listen(from *os.File) {
	defer close(p.heard)
	defer from.Close()
	buffer := make([]byte, 4096)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		p.stderr = append(p.stderr, buffer[:n]...)
		if extra := len(p.stderr) - mostComplaint; extra > 0 {
			p.stderr = append(p.stderr[:mostComplaint/2], p.stderr[mostComplaint/2+extra:]...)
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// complaint is the line of standard error that says most, as the end of a sentence; "" when there is none.
func (p *pythonProcess) complaint() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line := tellingLine(string(p.stderr)); line != "" {
		return ": " + line
	}
	return ""
}

// tellingLine picks the exception behind a traceback, else a fatal error, else the first line that is not empty.
func tellingLine(text string) string {
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

// verdict says how an interpreter ended that has closed its output; nil is well.
func (p *pythonProcess) verdict() error {
	select {
	case <-p.done:
	case <-time.After(endLimit):
		return fmt.Errorf("the interpreter closed its output and did not end%s", p.complaint())
	}
	select {
	case <-p.heard:
	case <-time.After(settleLimit):
	}
	status, _ := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case status.Signaled():
		return fmt.Errorf("the interpreter died (signal %d, %v)%s", int(status.Signal()), status.Signal(), p.complaint())
	case p.cmd.ProcessState.ExitCode() != 0:
		return fmt.Errorf("the interpreter failed (exit status %d)%s", p.cmd.ProcessState.ExitCode(), p.complaint())
	}
	return nil
}

// end kills the whole group, if it is still there, and does not wait long: a process in a system call on a dead mount goes when it can.
func (p *pythonProcess) end() {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		select {
		case <-p.done:
		case <-time.After(endLimit):
		}
	}
	p.stdin.Close()
	p.stdout.Close()
}
