package cli

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// launched is the job that pipetune started: an ordinary child, in pipetune's own process group, which nothing ties to pipetune's life.
type launched struct {
	process *os.Process
	// gone is closed when it has ended. It is collected only by collect: until then its number stays its own, and its CPU time is not
	// among that of the children pipetune has collected.
	gone       chan struct{}
	terminated bool // it was told to end by --then terminate
}

// startJob starts a command as a shell would: with the descriptors 0, 1 and 2 as they are, in the same folder, process group and session.
// The error leads to the exit codes that env, nice and nohup have for it.
func startJob(argv, environ []string) (*launched, error) {
	program, err := findProgram(argv[0])
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}}
	process, err := os.StartProcess(program, argv, attr)
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!: execvp and every shell hand it to sh
		process, err = os.StartProcess("/bin/sh", append([]string{"sh", program}, argv[1:]...), attr)
	}
	if err != nil {
		return nil, startFailure(argv[0], err)
	}
	l := &launched{process: process, gone: make(chan struct{})}
	go l.watch()
	return l, nil
}

// findProgram looks a command up in PATH as execvp does.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		return path, nil
	case folder(name):
		return "", fail(exitNotExecutable, "name the program, or Python and the script: pipetune diagnose -- python "+filepath.Join(name, "train.py"),
			"starting %s: it is a folder", name)
	case errors.Is(err, fs.ErrPermission) || inPath(name):
		return "", fail(exitNotExecutable, "chmod +x it, or name the interpreter: pipetune diagnose -- python "+name, "starting %s: it may not be executed", name)
	}
	return "", fail(exitNotFound, "", "starting %s: there is no such program", name)
}

// folder says whether a name with a slash in it, which is not looked up in PATH, is a folder's.
func folder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() && strings.Contains(name, "/")
}

// inPath says whether a file of this name lies in a folder of PATH.
func inPath(name string) bool {
	if strings.Contains(name, "/") {
		return false
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// startFailure gives a failed start its exit code.
func startFailure(name string, err error) error {
	code, hint := exitNotExecutable, ""
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	switch number {
	case syscall.ENOENT:
		code, hint = exitNotFound, "the program, or the interpreter its first line names, is missing"
	case syscall.EAGAIN, syscall.ENOMEM:
		code, hint = exitNotStarted, "the limit of processes (ulimit -u) or of memory was reached"
	}
	return fail(code, hint, "starting %s: %w", name, err)
}

// watch closes gone when the job has ended, and leaves it to be collected.
func (l *launched) watch() {
	defer close(l.gone)
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_PID, l.process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil); err != syscall.EINTR {
			return // what else can fail here is that there is no such child, and then there is nothing to wait for
		}
	}
}

// ended says whether the job has ended.
func (l *launched) ended() bool { return closed(l.gone) }

// signal passes a signal on. A job that has ended needs none.
func (l *launched) signal(s os.Signal) { _ = l.process.Signal(s) }

// terminate asks the job to end.
func (l *launched) terminate() {
	l.terminated = true
	l.signal(syscall.SIGTERM)
}

// collect waits for the job's end and returns its status as a shell would give it.
func (l *launched) collect() (int, error) {
	<-l.gone
	state, err := l.process.Wait()
	if err != nil {
		return exitNotStarted, fail(exitNotStarted, "", "waiting for the job, process %d: %w", l.process.Pid, err)
	}
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return state.ExitCode(), nil
	}
	return jobStatus(status), nil
}

// jobStatus is the status of a shell for a job that ended so: its own, or 128 and the number of the signal.
func jobStatus(status syscall.WaitStatus) int {
	if status.Signaled() {
		return signalBase + int(status.Signal())
	}
	return status.ExitStatus()
}
