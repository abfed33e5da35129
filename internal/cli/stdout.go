package cli

import (
	"errors"
	"io"
	"syscall"

	"github.com/pipetune/pipetune/internal/saved"
)

// stdoutWriter is stdout. It keeps the first failure of a write, since not everybody who writes to it reports one. A
// pipe whose reader has gone is none: who reads through head has seen what was wanted, and what else was asked for,
// files and a gate, is still owed.
type stdoutWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer. After a failure nothing is written any more.
func (o *stdoutWriter) Write(b []byte) (int, error) {
	if o.err == nil {
		n, err := o.w.Write(b)
		if err == nil {
			return n, nil
		}
		o.err = err
	}
	return len(b), o.failure()
}

// failure says what was lost, nil where nothing was that somebody waits for.
func (o *stdoutWriter) failure() error {
	if o.err == nil || errors.Is(o.err, syscall.EPIPE) {
		return nil
	}
	return fail(exitUsage, "free some space, or write to another file; -o FILE is written in any case",
		"writing to stdout: %w", saved.Plain(o.err))
}
