// Package python runs a script of ours in a person's Python. Run reads their source as that interpreter reads it, and
// neither imports nor runs anything of theirs; Listen is for working with their libraries as their job does.
//
// Either way the child has a process group of its own, which is killed whole at the end of its time, there is a bound
// on what it answers, and nothing waits for a process that cannot be killed.
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
)

// bootstrap is what Run starts the interpreter with; the script and what is asked come on standard input. It can write
// no file and leave no core.
const bootstrap = `import sys
if sys.version_info < (3, 8): sys.exit("Python 3.8 or newer is needed to read the source")
import resource
for limit, most in (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, 4 << 30):
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
exec(compile(sys.stdin.buffer.read(int(sys.stdin.buffer.readline())), "<pipetune>", "exec"))`

// Script joins the parts of an embedded script, which run one behind the other in one namespace: the interpreter is
// sent one script and has no folder of ours to import from.
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
// most bytes, and with an error what came before it.
func Run(ctx context.Context, program string, asked []byte, most int) ([]byte, error) {
	stdout, said := &bounded{most: most}, &complaint{}
	cmd := exec.Command(program, "-I", "-S", "-B", "-W", "ignore", "-c", bootstrap)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(asked), stdout, said
	err := execute(ctx, cmd)
	switch {
	case errors.Is(err, ErrNotStarted), errors.Is(err, errNotEnded): // which may still write
		return nil, err
	case err != nil && errors.Is(err, ctx.Err()):
		return stdout.Bytes(), fmt.Errorf("reading it took too long: %w", err)
	case stdout.over:
		return stdout.Bytes(), errors.New("the interpreter answered too much")
	case err != nil:
		return stdout.Bytes(), fmt.Errorf("%w%s", err, said)
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
