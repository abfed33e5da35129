// Package python runs a script of ours in a person's Python: to read their source as that interpreter reads it. Nothing
// of theirs is imported or run, and the child has a process group, a bound on what it answers and limits of its own.
package python

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// bootstrap is what the interpreter is started with; the script and what is asked come on standard input. It can write
// no file and leave no core.
const bootstrap = `import sys
if sys.version_info < (3, 8): sys.exit("Python 3.8 or newer is needed to read the source")
import resource
for limit, most in (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, 4 << 30):
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
exec(compile(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())), "<pipetune>", "exec"))`

const (
	mostComplaint = 4 << 10         // bytes kept of its standard error
	endLimit      = 2 * time.Second // between SIGKILL and its exit status
)

// ErrNotStarted is wrapped where there is no such interpreter, or it may not be run.
var ErrNotStarted = errors.New("the interpreter cannot be started")

// Script joins the parts of an embedded script, which run one behind the other in one namespace.
func Script(files fs.FS, names ...string) ([]byte, error) {
	var script bytes.Buffer
	for _, name := range names {
		part, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading the embedded script: %w", err)
		}
		script.Write(part)
		script.WriteByte('\n')
	}
	return script.Bytes(), nil
}

// Question is what an interpreter reads: the script, then the request in JSON.
func Question(script []byte, request any) ([]byte, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encoding what the interpreter is asked: %w", err)
	}
	return append(fmt.Appendf(nil, "%d\n%s", len(script), script), text...), nil
}

// Run starts the interpreter without the person's environment or libraries (-I -S) and returns what it wrote: at most
// most bytes, and with an error what came before it. It gets a process group of its own, which is killed whole, and
// nothing waits for a process that cannot be killed.
func Run(ctx context.Context, program string, asked []byte, most int) ([]byte, error) {
	stdout, stderr := &bounded{most: most}, &bounded{most: mostComplaint}
	cmd := exec.Command(program, "-I", "-S", "-B", "-W", "ignore", "-c", bootstrap)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = "/", bytes.NewReader(asked), stdout, stderr, endLimit/2
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started, exited, ended := make(chan error, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the parent-death signal fires when the thread that forked ends (prctl(2))
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		for errors.Is(unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
		}
		close(exited)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind, while its number is still its own
		ended <- cmd.Wait()
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	select {
	case <-exited:
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		select {
		case <-exited:
		case <-time.After(endLimit):
			return nil, errors.New("the interpreter does not end; the file may lie on a mount that is gone")
		}
		<-ended
		return stdout.Bytes(), fmt.Errorf("reading it took too long: %w", ctx.Err())
	}
	err := <-ended
	switch {
	case stdout.over:
		return stdout.Bytes(), errors.New("the interpreter answered too much")
	case err != nil:
		return stdout.Bytes(), fmt.Errorf("the interpreter failed: %w%s", err, stderr.complaint())
	}
	return stdout.Bytes(), nil
}

// bounded keeps the first bytes that are written to it and takes the rest without a word.
type bounded struct {
	bytes.Buffer
	most int
	over bool
}

func (b *bounded) Write(p []byte) (int, error) {
	room := max(0, b.most-b.Len())
	b.over = b.over || len(p) > room
	b.Buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}

// ReadFrom keeps io.Copy from using that of bytes.Buffer, which knows no bound.
func (b *bounded) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, from)
}

// complaint is the last line that was written, as the end of a sentence; "" where there is none.
func (b *bounded) complaint() string {
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return ": " + untrusted.Cut(last, 200).String()
	}
	return ""
}
