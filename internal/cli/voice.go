package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// complain writes an error and its hint to stderr, the only way errors are told.
func complain(w io.Writer, err error) {
	var q quietExit
	if err == nil || errors.As(err, &q) {
		return
	}
	fmt.Fprintf(w, "pipetune: error: %s\n", untrusted.Message(err.Error()))
	var f *failure
	if errors.As(err, &f) && f.hint != "" {
		hint(w, f.hint)
	}
}

// hint writes what to do next to stderr.
func hint(w io.Writer, s string) { fmt.Fprintf(w, "pipetune: hint: %s\n", untrusted.Message(s)) }

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
