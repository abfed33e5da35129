package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/recording"
)

// process is the job's first process: an ordinary child, in pipetune's own process group, which nothing ties to
// pipetune's life.
type process struct {
	*os.Process
	// gone is closed when it has ended. It is collected only by collect: until then its number stays its own, and its
	// CPU time is not among that of the children pipetune has collected.
	gone       chan struct{}
	end        recording.JobEnd // what it has ended with; known once gone is closed
	terminated bool             // it was told to end by --then terminate
}

// The statuses that env, nice and nohup end with where they cannot start a program.
const (
	notStarted    = 125 // for a reason of their own
	notExecutable = 126
	notFound      = 127
	signalBase    = 128 // and the number of the signal that ended the job
)

// Error says why a job was not started or not waited for.
type Error struct {
	Status int    // that a shell would end with
	Hint   string // what to do; may be ""
	Err    error
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func fail(status int, hint, format string, args ...any) error {
	return &Error{Status: status, Hint: hint, Err: fmt.Errorf(format, args...)}
}

// start starts a command as a shell would: with the descriptors 0, 1 and 2 as they are, in the same folder, process
// group and session.
func start(argv, environ []string) (*process, error) {
	program, err := findProgram(argv[0])
	if err != nil {
		return nil, err
	}
	attr := &os.ProcAttr{Env: environ, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}}
	p, err := os.StartProcess(program, argv, attr)
	if errors.Is(err, syscall.ENOEXEC) { // a script without #!: execvp and every shell hand it to sh
		p, err = os.StartProcess("/bin/sh", append([]string{"sh", program}, argv[1:]...), attr)
	}
	if err != nil {
		return nil, startFailure(argv[0], err)
	}
	started := &process{Process: p, gone: make(chan struct{})}
	go started.watch()
	return started, nil
}

// findProgram looks a command up in PATH as execvp does.
func findProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	switch {
	case err == nil, errors.Is(err, exec.ErrDot):
		return path, nil
	case folder(name):
		return "", fail(notExecutable, "name the program, or Python and the script: pipetune diagnose -- python "+
			filepath.Join(name, "train.py"), "starting %s: it is a folder", name)
	case errors.Is(err, fs.ErrPermission) || inPath(name):
		return "", fail(notExecutable, "chmod +x it, or name the interpreter: pipetune diagnose -- python "+name,
			"starting %s: it may not be executed", name)
	}
	return "", fail(notFound, "", "starting %s: there is no such program", name)
}

// folder says whether a name, of which PATH has no program, is a folder's.
func folder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
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
	code, hint := notExecutable, ""
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	switch number {
	case syscall.ENOENT:
		code, hint = notFound, "the program, or the interpreter its first line names, is missing"
	case syscall.EAGAIN, syscall.ENOMEM:
		code, hint = notStarted, "the limit of processes (ulimit -u) or of memory was reached"
	}
	return fail(code, hint, "starting %s: %w", name, err)
}

// watch closes gone when the job has ended, and leaves it to be collected.
func (p *process) watch() {
	defer close(p.gone)
	began := time.Now()
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if err == nil {
			p.end = childEnd(&info)
			p.end.LastedS = time.Since(began).Seconds()
		}
		if err != syscall.EINTR {
			return // what else can fail here is that there is no such child, and then there is nothing to wait for
		}
	}
}

// childEnd is what waitid says of a child that has ended. The fields stand in a union that the library leaves out
// (siginfo_t of <asm-generic/siginfo.h>): si_pid, si_uid, si_status, from where the union begins.
func childEnd(info *unix.Siginfo) recording.JobEnd {
	const exited, union = 1, 16 // CLD_EXITED; bytes, where a pointer has eight
	child := (*struct{ pid, uid, status int32 })(unsafe.Add(unsafe.Pointer(info), union))
	if info.Code == exited {
		return recording.JobEnd{Status: int(child.status)}
	}
	return recording.JobEnd{Status: signalBase + int(child.status), Signal: unix.SignalName(unix.Signal(child.status))}
}

// signal passes a signal on. A job that has ended needs none.
func (p *process) signal(s os.Signal) { _ = p.Signal(s) }

// terminate asks the job to end.
func (p *process) terminate() {
	p.terminated = true
	p.signal(syscall.SIGTERM)
}

// Collect waits for the job's end and returns its status as a shell would give it; 0 where Terminate has ended it.
// notes are what there is to say of that.
func (j *Job) Collect() (status int, notes Notes, err error) {
	p := j.process
	if p.terminated && !j.endsInTime() {
		notes.Warnings = append(notes.Warnings, fmt.Sprintf("process %d, the job's first, still runs %s after "+
			"SIGTERM; to end it: kill -KILL %d", p.Pid,
			terminatePatience, p.Pid))
		return 0, notes, nil
	}
	<-p.gone
	if _, err := p.Wait(); err != nil {
		return notStarted, notes, fail(notStarted, "", "waiting for the job, process %d: %w", p.Pid, err)
	}
	status = p.end.Status
	if p.terminated {
		status, notes = j.endTrainings(status)
	}
	return status, notes, nil
}
