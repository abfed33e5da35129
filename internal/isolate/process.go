package isolate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// process is one running child.
type process struct {
	spec     Spec
	cmd      *exec.Cmd
	pid      int
	requests *os.File
	answers  *os.File
	reader   *bufio.Reader
	stderr   *mouth
	next     int
	ending   sync.Once
	done     chan struct{} // closed once the child has been reaped; state is valid then
	state    *os.ProcessState
}

// start forks a child and exchanges greetings with it.
func (r *Runner) start(ctx context.Context, spec Spec) (*process, error) {
	p := &process{spec: spec, done: make(chan struct{})}
	if err := r.admits(); err != nil {
		return nil, err
	}
	if err := p.fork(r); err != nil {
		return nil, fmt.Errorf("starting the %s process: %w", spec.Task, err)
	}
	open := r.register(p)
	go func() {
		_ = p.cmd.Wait() // the state says it all
		p.state = p.cmd.ProcessState
		p.stderr.settle()
		r.forget(p)
		close(p.done)
	}()
	if !open {
		p.end()
		return nil, errClosed
	}
	hello := greeting{Limits: spec.Limits.withDefaults(), MaxAnswer: spec.maxAnswer()}
	if _, err := p.exchange(ctx, hello, startLimit, 0); err != nil {
		r.abandon(p, "") // it counts as stuck until it is reaped, which takes no time when it died
		return nil, err
	}
	return p, nil
}

func (p *process) fork(r *Runner) error {
	var opened []*os.File
	fail := func(err error) error {
		for _, f := range opened {
			f.Close()
		}
		return err
	}
	pipe := func() (read, write *os.File, err error) {
		read, write, err = os.Pipe()
		if err == nil {
			opened = append(opened, read, write)
		}
		return read, write, err
	}
	childRequests, requests, err := pipe()
	if err != nil {
		return fail(err)
	}
	answers, childAnswers, err := pipe()
	if err != nil {
		return fail(err)
	}
	complaints, childStderr, err := pipe()
	if err != nil {
		return fail(err)
	}
	p.cmd = exec.Command(r.config.Executable, append(append([]string{}, r.config.Args...), p.spec.Task)...)
	p.cmd.Args[0] = "pipetune" // what ps shows instead of /proc/self/exe
	p.cmd.Env = childEnvironment(r.config, privileged(r.config.Environ))
	p.cmd.Dir = "/"
	p.cmd.Stderr = childStderr
	p.cmd.ExtraFiles = []*os.File{childRequests, childAnswers}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Setpgid:   true,            // Ctrl-C on the terminal goes to the foreground group, which is not ours
		Pdeathsig: syscall.SIGKILL, // never outlive pipetune
	}
	if err := r.fork.do(p.cmd.Start); err != nil {
		return fail(err)
	}
	for _, f := range []*os.File{childRequests, childAnswers, childStderr} {
		f.Close()
	}
	p.pid = p.cmd.Process.Pid
	p.requests, p.answers, p.reader = requests, answers, bufio.NewReader(answers)
	p.stderr = listen(complaints)
	return nil
}

// pauseSign is how late a deadline must be noticed to show that pipetune itself did not run meanwhile: it was stopped,
// or the machine slept. The answer is there then, but was not read; the child gets its time once more. Timers fire some
// milliseconds late on a machine that is busy.
const pauseSign = 500 * time.Millisecond

// exchange writes one line and reads one. It returns a *TimeoutError, *DeathError, *GarbageError or the context's
// error; after any of them the process is of no further use.
func (p *process) exchange(ctx context.Context, line any, limit time.Duration, id int) (answer, error) {
	deadline := time.Now().Add(limit)
	_ = p.requests.SetWriteDeadline(deadline)
	_ = p.answers.SetReadDeadline(deadline)
	stop := context.AfterFunc(ctx, func() {
		_ = p.requests.SetWriteDeadline(time.Unix(1, 0))
		_ = p.answers.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	err := writeLine(p.requests, line)
	var got answer
	if err == nil {
		var reply []byte
		reply, err = readLine(p.reader, p.spec.maxAnswer())
		if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil && time.Since(deadline) > pauseSign {
			_ = p.answers.SetReadDeadline(time.Now().Add(limit))
			var rest []byte
			rest, err = readLine(p.reader, p.spec.maxAnswer()-len(reply))
			reply = append(reply, rest...)
		}
		if err == nil {
			if err := json.Unmarshal(reply, &got); err != nil || got.ID != id {
				return answer{}, &GarbageError{Task: p.spec.Task, Reason: "no answer to what was asked: " + untrusted.Cut(string(reply), 80).String()}
			}
			return got, nil
		}
	}
	switch {
	case ctx.Err() != nil:
		return answer{}, ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return answer{}, &TimeoutError{Task: p.spec.Task, Key: p.spec.Key, After: limit}
	case errors.Is(err, errLongLine):
		return answer{}, &GarbageError{Task: p.spec.Task, Reason: fmt.Sprintf("more than %d bytes", p.spec.maxAnswer())}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		return answer{}, p.death()
	}
	return answer{}, fmt.Errorf("asking the %s process: %w", p.spec.Task, err)
}

// death waits a moment for the exit status of a child that closed its pipe.
func (p *process) death() error {
	failure := &DeathError{Task: p.spec.Task, ExitCode: -1}
	limit := time.NewTimer(reapLimit)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		failure.Line = p.stderr.line()
		return failure
	}
	failure.Line = p.stderr.line()
	status, known := p.state.Sys().(syscall.WaitStatus)
	switch {
	case known && status.Signaled():
		failure.Signal = status.Signal()
	default:
		failure.ExitCode = p.state.ExitCode()
		failure.Signal = p.stderr.signal() // the Go runtime catches a signal of C code, prints it and exits with 2
	}
	return failure
}

// end asks the child to go by closing its pipe and SIGTERM, and kills it when it has not gone after its grace. It
// returns at once and may be called often.
func (p *process) end() {
	p.ending.Do(func() {
		p.requests.Close()
		p.answers.Close()
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		go func() {
			grace := time.NewTimer(p.spec.grace())
			defer grace.Stop()
			select {
			case <-p.done:
			case <-grace.C:
				p.kill()
			}
		}()
	})
}

func (p *process) kill() { _ = p.cmd.Process.Kill() }
