package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// patchSuffixes mark the outputs that take the patch instead of the report.
var patchSuffixes = []string{".patch", ".diff"}

func takesPatch(path string) bool {
	return slices.ContainsFunc(patchSuffixes, func(s string) bool { return strings.HasSuffix(path, s) })
}

// refusePatch ends a command that was asked for a patch and never makes one.
func refusePatch(outs []output) error {
	for _, o := range outs {
		if o.patch {
			return fail(exitUsage, "let pipetune start the job: pipetune diagnose -o fix.patch -- python train.py",
				"-o %s: only of a job that it has launched does pipetune know the line to patch", o.path)
		}
	}
	return nil
}

// writePatch writes the patch to the outputs that take one. Where there is none it says why; that is no failure.
func (l *launched) writePatch() error {
	var failed error
	for _, o := range l.outs {
		switch {
		case !o.patch:
		case l.fix.Diff == "":
			note(l.env.Stderr, fmt.Sprintf("-o %s: no patch was written: %s", o.path, l.fix.Why))
		default:
			if err := o.fill(func(w io.Writer) error {
				_, err := io.WriteString(w,
					l.fix.Diff)
				return err
			}); err != nil {
				complain(l.env.Stderr, err)
				failed = errors.Join(failed, quietExit(exitCode(err)))
			}
		}
	}
	return failed
}
