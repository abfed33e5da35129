package isolate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Spec says what a child is for.
type Spec struct {
	Task   string // the name in the child's Table
	Key    string // what it may get stuck on, a mount point say; "" for nothing in particular
	Limits Limits
	// Timeout is for one request, the start of the child not counted; 0 is 1 s.
	Timeout time.Duration
	// Grace is between SIGTERM and SIGKILL; 0 is 300 ms.
	Grace time.Duration
	// Only are the files and folders that it may read, if the kernel has Landlock; nil is everything. They may not be
	// below /proc: a child that is kept to some files cannot look through other processes there.
	Only []string
	// Write are the folders below which it may read, write, make and remove, and talk to devices. Naming one keeps the
	// child to these and Only.
	Write []string
	// UnixSockets says that it may make sockets of that kind. No child may make others.
	UnixSockets bool
}

func (s Spec) timeout() time.Duration { return cmp.Or(max(s.Timeout, 0), defaultLimit) }

func (s Spec) grace() time.Duration { return cmp.Or(max(s.Grace, 0), defaultGrace) }

// Child is a long-lived child for many requests of one task. It is started by its first request and, after a death,
// by the next one, at most MaxRestarts times. Requests from several goroutines wait for each other.
type Child struct {
	runner *Runner
	spec   Spec
	turn   chan struct{} // holds one token: whoever has it may use the fields below
	proc   *process
	starts int
	parted *process // told to end in the middle of a request; nil when there is none
	last   error    // why the last process ended
	closed bool
}

// Child returns a session for the task. Close ends it.
func (r *Runner) Child(spec Spec) *Child {
	c := &Child{runner: r, spec: spec, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// Call starts a child, asks it one thing and ends it. A child that hangs is given up after spec.Timeout. The errors
// are those of Ask.
func Call[In, Out any](ctx context.Context, r *Runner, spec Spec, in In) (Out, error) {
	spec.Limits.CPUSeconds = cmp.Or(spec.Limits.CPUSeconds, 60)
	c := r.Child(spec)
	defer c.Close()
	return Ask[In, Out](ctx, c, in)
}

// Ask sends one request and returns its answer. Errors: *RemoteError (the handler said no; the child lives on),
// *TimeoutError, *DeathError, *GarbageError, *StuckError (refused at once), ErrGaveUp around the last of these once
// the child died too often, and the context's own.
func Ask[In, Out any](ctx context.Context, c *Child, in In) (Out, error) {
	return AskWithin[In, Out](ctx, c, c.spec.Key, c.spec.timeout(), in)
}

// AskWithin is Ask with a time-out and a key of this request: one of several things that the child deals with, a mount
// say, may be slow, and is then alone to blame.
func AskWithin[In, Out any](ctx context.Context, c *Child, key string, limit time.Duration, in In) (Out, error) {
	var out Out
	body, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("encoding a request for %s: %w", c.spec.Task, err)
	}
	if len(body) > maxLine-256 { // 256: room for the envelope
		return out, fmt.Errorf("a request for %s of %d bytes, %d allowed", c.spec.Task, len(body), maxLine)
	}
	raw, err := c.roundTrip(ctx, key, limit, body)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, &GarbageError{Task: c.spec.Task, Reason: err.Error()}
	}
	return out, nil
}

func (c *Child) roundTrip(ctx context.Context, key string, limit time.Duration, body []byte) (json.RawMessage, error) {
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	leave, err := c.runner.enter(ctx, key, c.proc != nil && c.spec.Task != pathsTask)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	c.proc.next++
	got, err := c.proc.exchange(ctx, request{ID: c.proc.next, Body: body}, limit, c.proc.next)
	if err == nil {
		if got.Error != nil {
			return nil, got.Error
		}
		return got.Body, nil
	}
	var late *TimeoutError
	if errors.As(err, &late) {
		late.Key = key
		c.runner.abandon(c.proc, key)
		if key != "" {
			c.starts-- // the key is to blame and is refused from now on; the account of stuck children bounds this
		}
	} else if ctx.Err() != nil {
		c.runner.part(c.proc) // nobody knows yet whether it hangs, so no key is to blame
		c.parted = c.proc
		c.starts--
	} else {
		c.proc.end()
	}
	c.proc, c.last = nil, err
	return nil, err
}

// ready starts the process when there is none.
func (c *Child) ready(ctx context.Context) error {
	if c.closed {
		return fmt.Errorf("asking the %s process: it was closed", c.spec.Task)
	}
	if c.proc != nil {
		select {
		case <-c.proc.done: // it died between two requests
			c.last = c.proc.death()
			c.proc.end()
			c.proc = nil
		default:
			return nil
		}
	}
	if c.starts > MaxRestarts {
		return fmt.Errorf("the %s process %w, %d times: %w", c.spec.Task, ErrGaveUp, c.starts, c.last)
	}
	if err := c.settle(ctx); err != nil {
		return err
	}
	proc, err := c.runner.start(ctx, c.spec)
	late := new(TimeoutError)
	if errors.Is(err, ErrStuck) || err != nil && ctx.Err() != nil || errors.As(err, &late) && late.Key != "" {
		return err // it says nothing about the task
	}
	c.starts++
	if err != nil {
		c.last = err
		return err
	}
	c.proc = proc
	return nil
}

// settle waits until a process that was told to end in the middle of a request has ended, so that the next one finds
// what it left and not what it is about to leave. One that stays is stuck and is not waited for.
func (c *Child) settle(ctx context.Context) error {
	if c.parted == nil {
		return nil
	}
	select {
	case <-c.parted.done:
	case <-time.After(c.spec.grace() + reapLimit):
	case <-ctx.Done():
		return ctx.Err()
	}
	c.parted = nil
	return nil
}

// Starts says how many times a process was started for this child.
func (c *Child) Starts() int {
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	return c.starts
}

// Close ends the process, if there is one, without waiting for it. It waits for a request that is under way.
func (c *Child) Close() {
	<-c.turn
	defer func() { c.turn <- struct{}{} }()
	c.closed = true
	if c.proc != nil {
		c.proc.end()
		c.proc = nil
	}
}
