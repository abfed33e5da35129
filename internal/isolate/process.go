package isolate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// process is one running child.
type process struct {
	spec     Spec
	child    *os.Process
	pid      int
	runs     chan error // says once, without being read, whether the program runs
	opens    chan bool  // says before whether the child waits for a place it may use
	requests *os.File
	answers  *os.File
	reader   *bufio.Reader
	stderr   *stderrTail
	next     int
	ending   sync.Once
	done     chan struct{} // closed once the child has been reaped; state is valid then
	state    *os.ProcessState
}

// start forks a child and exchanges greetings with it.
func (r *Runner) start(ctx context.Context, spec Spec) (*process, error) {
	p := &process{spec: spec, runs: make(chan error, 1), opens: make(chan bool, 2), done: make(chan struct{})}
	if err := r.admits(); err != nil {
		return nil, err
	}
	open, err := p.fork(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("starting the %s process: %w", spec.Task, err)
	}
	if !open {
		p.end()
		return nil, errClosed
	}
	err = p.running(ctx)
	late := new(TimeoutError)
	if err == nil {
		hello := greeting{Limits: spec.Limits.withDefaults(), UnixSockets: spec.UnixSockets}
		if _, err = p.exchange(ctx, hello, startLimit, 0); errors.As(err, &late) {
			late.Key, late.Starting = "", true // whatever it may get stuck on, it has not come to that yet
		}
	}
	switch {
	case errors.As(err, &late):
		r.abandon(p, late.Key)
		return nil, err
	case err != nil:
		r.part(p)
		return nil, err
	}
	return p, nil
}

// fork starts the child and takes it into the account; open says whether the runner still is. A start that the caller
// did not wait for goes into the account all the same, and the child is ended as soon as there is one.
func (p *process) fork(ctx context.Context, r *Runner) (open bool, err error) {
	var ours, theirs []*os.File
	shut := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	for _, weRead := range []bool{false, true, true} { // requests, answers, complaints
		own, other, err := pipe(weRead)
		if err != nil {
			shut(append(ours, theirs...))
			return false, err
		}
		ours, theirs = append(ours, own), append(theirs, other)
	}
	what := program{
		path: r.config.Executable,
		// What ps shows is pipetune and not /proc/self/exe.
		args:  append(append([]string{"pipetune"}, r.config.Args...), p.spec.Task),
		env:   childEnvironment(r.config, privileged(r.config.Environ)),
		files: [spawnFiles]*os.File{2: theirs[2], requestDescriptor: theirs[0], answerDescriptor: theirs[1]},
		reach: r.reach(p.spec),
	}
	begin := func() (*started, error) {
		defer shut(theirs)
		child, err := spawn(what)
		if err != nil {
			shut(ours)
		}
		return child, err
	}
	follow := func(child *started) (open bool) {
		p.child, p.pid = child.process, child.process.Pid
		p.requests, p.answers, p.reader = ours[0], ours[1], bufio.NewReader(ours[1])
		p.stderr = listen(ours[2])
		open = r.register(p)
		go func() { p.runs <- child.wait(what.path, func(yes bool) { p.opens <- yes }) }()
		go func() {
			p.state, _ = p.child.Wait() // the state says it all
			p.stderr.settle()
			r.forget(p)
			close(p.done)
		}()
		return open
	}
	child, begun, err := r.fork.do(ctx, begin, func(child *started) {
		follow(child)
		r.part(p)
	})
	if !begun {
		shut(append(ours, theirs...))
	}
	if err != nil {
		return false, err
	}
	return follow(child), nil
}

// running waits until the program of the child runs. What the child may use lies on the mount that is its key, mostly;
// when it does not come back from opening that, the mount is to blame.
func (p *process) running(ctx context.Context) error {
	for took, key := startLimit, ""; ; {
		due := time.Now().Add(took)
		select {
		case err := <-p.runs:
			if err != nil {
				return fmt.Errorf("starting the %s process: %w", p.spec.Task, err)
			}
			return nil
		case opens := <-p.opens:
			if took, key = startLimit, ""; opens {
				took, key = pathLimit, p.spec.Key
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(took):
			if time.Since(due) <= pauseSign {
				return &TimeoutError{Task: p.spec.Task, Key: key, After: took, Starting: key == ""}
			}
		}
	}
}

// pauseSign is how late a deadline must be noticed to show that pipetune itself did not run meanwhile: it was stopped,
// or the machine slept. The answer is there then, but was not read; the child gets its time once more. Timers fire some
// milliseconds late on a machine that is busy.
const pauseSign = 500 * time.Millisecond

// exchange writes one line and reads one. It returns a *TimeoutError, *DeathError, *GarbageError or the context's
// error; after any of them the process is of no further use. An answer that came in is returned even when the context
// ended meanwhile, and the process is as good as before.
func (p *process) exchange(ctx context.Context, line any, limit time.Duration, id int) (answer, error) {
	deadline := time.Now().Add(limit)
	_ = p.requests.SetWriteDeadline(deadline)
	_ = p.answers.SetReadDeadline(deadline)
	past := time.Unix(1, 0)
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cut)
		_ = p.requests.SetWriteDeadline(past)
		_ = p.answers.SetReadDeadline(past)
	})
	defer func() {
		if !stop() {
			<-cut // it has begun in a goroutine of its own; later it would cut the next exchange short
		}
	}()
	err := writeLine(p.requests, line)
	var got answer
	if err == nil {
		var reply []byte
		reply, err = readLine(p.reader, maxLine)
		if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil && time.Since(deadline) > pauseSign {
			_ = p.answers.SetReadDeadline(time.Now().Add(limit))
			if ctx.Err() != nil {
				_ = p.answers.SetReadDeadline(past) // what the line above may just have undone
			}
			var rest []byte
			rest, err = readLine(p.reader, maxLine-len(reply))
			reply = append(reply, rest...)
		}
		if err == nil {
			if err := json.Unmarshal(reply, &got); err != nil || got.ID != id {
				return answer{}, &GarbageError{Task: p.spec.Task, Reason: "no answer to what was asked: " +
					untrusted.Cut(string(reply), 80).String()}
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
		return answer{}, &GarbageError{Task: p.spec.Task, Reason: fmt.Sprintf("more than %d bytes", maxLine)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.EPIPE):
		return answer{}, p.death()
	}
	return answer{}, fmt.Errorf("asking the %s process: %w", p.spec.Task, err)
}

// death waits a moment for the exit status of a child that closed its pipe.
func (p *process) death() error {
	failure := &DeathError{Task: p.spec.Task, ExitCode: -1}
	var state *os.ProcessState // nil while the child runs, or where its status is not known
	select {
	case <-p.done:
		state = p.state
	case <-time.After(reapLimit):
	}
	failure.Line = p.stderr.line()
	if state == nil {
		return failure
	}
	if status, known := state.Sys().(syscall.WaitStatus); known && status.Signaled() {
		failure.Signal = status.Signal()
		return failure
	}
	failure.ExitCode = state.ExitCode()
	failure.Signal = p.stderr.signal() // the Go runtime catches a signal of C code, prints it and exits with 2
	return failure
}

// end asks the child to go by closing its pipe and SIGTERM, and kills it when it has not gone after its grace. It
// returns at once and may be called often.
func (p *process) end() {
	p.ending.Do(func() {
		p.requests.Close()
		p.answers.Close()
		_ = p.child.Signal(syscall.SIGTERM)
		go func() {
			select {
			case <-p.done:
			case <-time.After(p.spec.grace()):
				p.kill()
			}
		}()
	})
}

func (p *process) kill() { _ = p.child.Kill() }
