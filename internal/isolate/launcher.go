package isolate

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// launcher is one operating-system thread that starts all children: the parent-death signal fires when the thread that
// started a child ends, not when the process does (prctl(2), PR_SET_PDEATHSIG).
//
// Starting takes a fraction of a millisecond and waits for nothing, so one thread is enough. Should the kernel not come
// back from it all the same, the launcher is stuck by that alone: that it has been inside one start longer than its
// limit. A caller that goes meanwhile, at Ctrl-C say, says nothing about the next start.
type launcher struct {
	limit   time.Duration
	jobs    chan func()
	closed  chan struct{}
	closing sync.Once

	mu    sync.Mutex
	since time.Time // when the start under way began; zero when there is none
}

// errLauncher says that no child can be started because an earlier start has not come back.
var errLauncher = fmt.Errorf("starting a child: the start before has not come back from the kernel: %w", ErrStuck)

func newLauncher(limit time.Duration) *launcher {
	l := &launcher{limit: limit, jobs: make(chan func()), closed: make(chan struct{})}
	go l.work()
	return l
}

// work runs on a locked thread that is never unlocked: the thread ends with it, and the kernel kills what it started.
func (l *launcher) work() {
	runtime.LockOSThread()
	for {
		select {
		case job := <-l.jobs:
			l.inside(time.Now())
			job()
			l.inside(time.Time{})
		case <-l.closed:
			return
		}
	}
}

func (l *launcher) inside(since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = since
}

// left is how long the start under way may still take, or one that begins now.
func (l *launcher) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since.IsZero() {
		return l.limit
	}
	return l.limit - time.Since(l.since)
}

// do runs start on the thread. When the context ends or the limit passes first, the start goes on, and late gets the
// child that comes of it, in a goroutine of its own. begun says whether start has been run, or will be.
func (l *launcher) do(ctx context.Context, start func() (*started, error), late func(*started)) (child *started,
	begun bool, err error) {
	type outcome struct {
		child *started
		err   error
	}
	result := make(chan outcome, 1)
	if err := l.hand(ctx, func() { child, err := start(); result <- outcome{child, err} }); err != nil {
		return nil, false, err
	}
	select {
	case o := <-result:
		return o.child, true, o.err
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(l.limit):
		err = fmt.Errorf("%w after %v", errLauncher, l.limit)
	}
	go func() {
		if o := <-result; o.err == nil {
			late(o.child)
		}
	}()
	return nil, true, err
}

// hand gives a job to the thread as soon as that is free.
func (l *launcher) hand(ctx context.Context, job func()) error {
	for {
		left := l.left()
		if left <= 0 {
			return errLauncher
		}
		select {
		case l.jobs <- job:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-l.closed:
			return errClosed
		case <-time.After(left): // another start may have taken its place meanwhile
		}
	}
}

func (l *launcher) close() { l.closing.Do(func() { close(l.closed) }) }
