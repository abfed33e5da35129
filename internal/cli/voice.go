package cli

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"

	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// complain writes an error and its hint to stderr, the only way errors are reported.
func complain(w io.Writer, err error) {
	var q quietExit
	if err == nil || errors.As(err, &q) {
		return
	}
	fmt.Fprintf(w, "pipetune: error: %s\n", untrusted.Message(err.Error()))
	var f *failure
	if errors.As(err, &f) && f.hint != "" {
		fmt.Fprintf(w, "pipetune: hint: %s\n", untrusted.Message(f.hint))
	}
}

// note writes one line about what is going on to stderr.
func note(w io.Writer, s string) { fmt.Fprintf(w, "pipetune: %s\n", untrusted.Message(s)) }

// useColor decides on colour for a stream: flag, then NO_COLOR, CLICOLOR_FORCE, TERM, then whether it is a terminal.
func useColor(flag string, getenv func(string) string, terminal bool) bool {
	switch {
	case flag == "always":
		return true
	case flag == "never", getenv("NO_COLOR") != "":
		return false
	case getenv("CLICOLOR_FORCE") != "" && getenv("CLICOLOR_FORCE") != "0":
		return true
	case getenv("TERM") == "dumb":
		return false
	}
	return terminal
}

// width is how many columns the terminal has: those that COLUMNS names, else its own; 0 where neither is known. Longer
// lines than widest are not read with ease.
func (e Env) width() int {
	if n, err := strconv.Atoi(e.Getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, widest)
	}
	if e.Columns == nil {
		return 0
	}
	return min(e.Columns(), widest)
}

const widest = 160

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
