package python

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// answerPrefix begins a line that is an answer and not the chatter of a library. The script has it as PREFIX.
const answerPrefix = "pipetune-answer:"

// mostAnswer bounds one line of answer, in bytes.
const mostAnswer = 64 << 10

// listening is what Listen starts the interpreter with. The script and what is asked come on standard input, so that ps
// shows one line and not a program. The folder the interpreter is started in is no place to import from; it is / in any
// case.
const listening = `import sys
sys.path[:] = [p for p in sys.path if p not in ("", ".")]
if sys.version_info < (3, 8): sys.exit("Python 3.8 or newer is needed")
exec(compile(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())), "<pipetune>", "exec"),
    {"__name__": "__main__", "PREFIX": "` + answerPrefix + `"})`

// Listen starts an interpreter, given with its arguments, in the person's environment, because it is their libraries as
// their job loads them that are wanted, and hands each answer of the script to take: a line that begins with PREFIX,
// without it. It returns when the interpreter has ended, the limit is over, ctx has ended or take has refused an
// answer. The answers until then were taken whatever the error.
func Listen(ctx context.Context, argv []string, asked []byte, limit time.Duration, take func([]byte) error) error {
	if len(argv) == 0 {
		return errors.New("no interpreter was named")
	}
	program := argv[0]
	if strings.Contains(program, "/") { // it runs in another folder
		path, err := filepath.Abs(program)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotStarted, err)
		}
		program = path
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, said := &answers{take: take, stop: cancel}, &complaint{}
	defer out.end()
	// faulthandler names the signal a library crashes with.
	cmd := exec.Command(program,
		slices.Concat(argv[1:], []string{"-X", "faulthandler", "-W", "ignore", "-c", listening})...)
	cmd.Env = ownEnvironment(os.Environ())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(asked), out, said
	err := execute(within, cmd)
	switch {
	case out.end() != nil:
		return out.end()
	case err == nil, errors.Is(err, ErrNotStarted):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return fmt.Errorf("the interpreter did not end within %v%s", limit.Round(time.Millisecond), said)
	}
	return fmt.Errorf("%w%s", err, said)
}

// answers takes the lines of an output that are answers. A line longer than any answer is chatter.
type answers struct {
	take func([]byte) error
	stop func() // called when take refuses an answer

	mu   sync.Mutex
	line []byte
	long bool
	over bool
	err  error // of take
}

func (a *answers) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for rest := p; !a.over && len(rest) > 0; {
		piece, after, whole := bytes.Cut(rest, []byte("\n"))
		a.long = a.long || len(a.line)+len(piece) > mostAnswer
		if !a.long {
			a.line = append(a.line, piece...)
		}
		if rest = after; !whole {
			break
		}
		if answer, ok := bytes.CutPrefix(a.line, []byte(answerPrefix)); ok && !a.long {
			if a.err = a.take(answer); a.err != nil {
				a.over = true
				a.stop()
			}
		}
		a.line, a.long = a.line[:0], false
	}
	return len(p), nil
}

// end takes no more answers, and returns why take refused one.
func (a *answers) end() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	return a.err
}

// ownEnvironment is the person's own, so that the job's libraries are found and behave as in the job, but for what
// would start an interactive session or write beside the libraries, for threads: a worker of the DataLoader computes
// with one, and for HDF5's file locks: as long as a reader has one, a job that opens the file for writing is refused
// (errno 11). What a lock costs is measured by itself.
func ownEnvironment(own []string) []string {
	var out []string
	for _, variable := range own {
		if name, _, _ := strings.Cut(variable, "="); name != "PYTHONINSPECT" && name != "PYTHONSTARTUP" {
			out = append(out, variable)
		}
	}
	return append(out, "PYTHONDONTWRITEBYTECODE=1", "HDF5_USE_FILE_LOCKING=FALSE", "OMP_NUM_THREADS=1",
		"OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1")
}
