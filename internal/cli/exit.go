package cli

import (
	"errors"
	"fmt"
)

// The exit codes of pipetune's own, as `pipetune help exit-codes` prints them. A launched job has others: package
// launch.
const (
	exitOK           = 0   // ran and reported; findings are not failures
	exitGate         = 1   // a gate failed: --fail-on, --threshold, --gate; a file that lint could not judge
	exitUsage        = 2   // usage, configuration, unreadable input, unknown rule, newer schema
	exitNotMeasured  = 3   // could not measure; inconclusive under --strict
	exitMissing      = 4   // a signal named by --require was missing; the report is still written
	exitInterrupted  = 130 // second Ctrl-C, or one before there is anything to report
	exitTerminated   = 143 // second SIGTERM
	exitChildFailure = 70  // a child of pipetune's own could not serve; never seen by a person
)

const exitCodesHelp = `pipetune ends with one of these:

  0    ran and reported; findings are not failures unless a gate was asked for
  1    a gate failed (--fail-on, --threshold, compare --gate), or lint met a
       file that it could not parse; the findings of the others are given
  2    usage, configuration, unreadable input, unknown rule, newer schema
  3    could not measure: no target, target ended too early, permission denied,
       a dataset of which no item could be timed; --threshold of what was not
       measured; inconclusive under --strict
  4    a signal named by --require was missing (the report is still written)
  130  second Ctrl-C, or one before enough was seen to conclude anything from:
       no report, and files of -o stay as they were
  143  the same by SIGTERM

A reader of stdout that goes away (| head) is no failure: files are written and
gates applied as if it had stayed.

With a command after -- the job's own status is passed on, as a shell would give
it, so these come beside those above:

  N    the job's own status where it is not 0, whatever the report says
  128+N  the job was ended by signal N: 130 Ctrl-C, 137 SIGKILL, 143 SIGTERM
  125  pipetune itself could not start the job
  126  the command may not be executed
  127  there is no such command

Where the job ended with 0: 1, 3 (--strict, --threshold), 4 (--require) and 2 (a
file of -o could not be written) as above, else 0, also where nothing could be
measured; stderr says so. A job that --then terminate ended counts as 0,
whatever its own status; stderr tells one that is not 143.
`

const environmentHelp = `Every flag can be given in the environment as PIPETUNE_<FLAG>, in capitals, with
_ for -: PIPETUNE_DURATION=60s, PIPETUNE_FORMAT=json. A flag on the command
line wins; a file of settings (pipetune help settings) comes after it.

  NO_COLOR         not empty: no colour
  CLICOLOR_FORCE   not empty and not 0: colour even where output is no terminal
  TERM=dumb        no colour

Order: --color, then NO_COLOR, then CLICOLOR_FORCE, then TERM, then whether the
output is a terminal.
`

// failure is an error with the exit code it leads to, and a hint on what to do.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail makes a failure; hint may be "".
func fail(code int, hint, format string, args ...any) error {
	return &failure{code: code, err: fmt.Errorf(format, args...), hint: hint}
}

// quietExit leads to an exit code without a word: all has been said.
type quietExit int

func (q quietExit) Error() string { return fmt.Sprintf("exit status %d", int(q)) }

// exitCode says which code an error leads to: that of the failure, else usage.
func exitCode(err error) int {
	var f *failure
	var q quietExit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &q):
		return int(q)
	case errors.As(err, &f):
		return f.code
	}
	return exitUsage
}
