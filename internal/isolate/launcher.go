package isolate

import (
	"errors"
	"runtime"

	"golang.org/x/sys/unix"
)

// launcher is one operating-system thread that starts all children. Two kernel rules ask for it: the parent-death
// signal fires when the thread that forked ends, not the process (prctl(2), PR_SET_PDEATHSIG), and no_new_privs
// belongs to a thread and is inherited over fork and exec, so it can be set here without binding pipetune itself.
type launcher struct {
	jobs   chan func(setup error)
	closed chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func(error)), closed: make(chan struct{})}
	go l.run()
	return l
}

// run finds a thread other than the process's first one. That one never ends before the process does, and its
// /proc/self/status stands for the whole of pipetune: it must not carry no_new_privs.
func (l *launcher) run() {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		l.work()
		return
	}
	elsewhere := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(elsewhere)
		l.work()
	}()
	<-elsewhere
	runtime.UnlockOSThread()
}

// work runs on a locked thread that is never unlocked: the thread ends with it, and the kernel kills what it started.
func (l *launcher) work() {
	setup := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	for {
		select {
		case job := <-l.jobs:
			job(setup)
		case <-l.closed:
			return
		}
	}
}

// do runs start on the thread.
func (l *launcher) do(start func() error) error {
	result := make(chan error, 1)
	job := func(setup error) {
		if setup != nil {
			result <- setup
			return
		}
		result <- start()
	}
	select {
	case l.jobs <- job:
		return <-result
	case <-l.closed:
		return errors.New("the runner is closed")
	}
}

func (l *launcher) close() {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
}
