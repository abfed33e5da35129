package python

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	endLimit    = 2 * time.Second        // between SIGKILL and its exit status
	settleLimit = 500 * time.Millisecond // for the rest of its output behind the exit
)

// ErrNotStarted is wrapped where there is no such interpreter, or it may not be run.
var ErrNotStarted = errors.New("the interpreter cannot be started")

// errNotEnded says that the process goes when it can: it is in a system call that does not end.
var errNotEnded = errors.New("the interpreter does not end; the file may lie on a mount that is gone")

// execute runs the interpreter in a process group of its own until it or ctx ends, and kills what is left of the group.
// The error is that of ctx where it ended first, and else says how the interpreter ended. Only with errNotEnded may it
// still write.
func execute(ctx context.Context, cmd *exec.Cmd) error {
	cmd.Dir, cmd.WaitDelay = "/", settleLimit
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the parent-death signal fires when the thread that forked ends (prctl(2))
		defer runtime.UnlockOSThread()
		ended <- runGroup(ctx, cmd)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(endLimit):
		return errNotEnded
	}
}

// runGroup is execute for as long as it takes.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
	}()
	var late error
	select {
	case <-exited:
	case <-ctx.Done():
		late = ctx.Err()
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // while its number is still its own
	<-exited
	err, exit := cmd.Wait(), new(exec.ExitError)
	switch {
	case late != nil:
		return late
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("running the interpreter: %w", err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Errorf("the interpreter died (signal %d, %v)", int(status.Signal()), status.Signal())
	}
	return fmt.Errorf("the interpreter failed (exit status %d)", exit.ExitCode())
}
