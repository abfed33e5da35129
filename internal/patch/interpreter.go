package patch

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/untrusted"
)

//go:embed python/*.py
var python embed.FS

// scriptFiles are run one behind the other in one namespace.
var scriptFiles = []string{"source.py", "call.py", "edit.py", "origin.py", "main.py"}

// bootstrap is what the interpreter is started with; the script and what is asked come on standard input.
const bootstrap = `import sys
if sys.version_info < (3, 8): sys.exit("Python 3.8 or newer is needed to read the source")
exec(compile(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())), "<pipetune>", "exec"))`

const (
	mostAnswer    = 1 << 20         // bytes of an answer
	mostComplaint = 4 << 10         // bytes kept of its standard error
	endLimit      = 2 * time.Second // between SIGKILL and its exit status
)

// errNotStarted is wrapped where there is no such interpreter, or it may not be run.
var errNotStarted = errors.New("the interpreter cannot be started")

// question is what the script reads: itself, then the request. Names are bytes, not text.
func question(r Request) ([]byte, error) {
	var script bytes.Buffer
	for _, name := range scriptFiles {
		part, err := python.ReadFile("python/" + name)
		if err != nil {
			return nil, fmt.Errorf("reading the embedded script: %w", err)
		}
		script.Write(part)
		script.WriteByte('\n')
	}
	since := 0.0
	if !r.Began.IsZero() {
		since = float64(r.Began.UnixNano()) / 1e9
	}
	request, err := json.Marshal(map[string]any{
		"file": base64.StdEncoding.EncodeToString([]byte(r.File)), "folder": base64.StdEncoding.EncodeToString([]byte(r.Folder)),
		"line": r.Line, "since": since, "workers": r.Workers, "settings": r.Settings,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding what the interpreter is asked: %w", err)
	}
	return append(fmt.Appendf(nil, "%d\n%s", script.Len(), script.Bytes()), request...), nil
}

// run starts the interpreter without the person's environment or libraries (-I -S) and returns what it wrote. It gets a process group of its own,
// which is killed whole, and nothing waits for a process that cannot be killed.
func run(ctx context.Context, program string, asked []byte) ([]byte, error) {
	stdout, stderr := &bounded{most: mostAnswer}, &bounded{most: mostComplaint}
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
		return nil, fmt.Errorf("%w: %w", errNotStarted, err)
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
		return nil, fmt.Errorf("reading it took too long: %w", ctx.Err())
	}
	err := <-ended
	switch {
	case stdout.over:
		return nil, errors.New("the interpreter answered too much")
	case err != nil:
		return nil, fmt.Errorf("the interpreter failed: %w%s", err, stderr.complaint())
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
