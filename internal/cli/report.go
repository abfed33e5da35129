package cli

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/pkg/report"
)

func newReport(env Env) *cobra.Command {
	var p presentation
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "show a recording or a report again, in any format",
		Long: `report reads a recording (.jsonl) and reaches the verdict again with the rules
of this version, or shows a report (.json) as it is. FILE - is the standard
input.`,
		Example: `  pipetune report run.jsonl
  pipetune report before.json --format md`,
		Args: expect(func(args []string) bool { return len(args) == 1 }, "see: pipetune report --help",
			"report takes one file"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := p.check(); err != nil {
				return err
			}
			for _, o := range p.outs {
				if o.recording {
					return fail(exitUsage, "copy the file instead", "-o %s: report writes no recordings", o.path)
				}
			}
			r, rec, err := replay(env, args[0])
			if err != nil {
				return err
			}
			return p.show(env, r, rec)
		},
	}
	p.addFlags(c)
	p.addThreshold(c)
	return c
}

// replay reads a file of either kind and returns its report, and the recording where it is one.
func replay(env Env, path string) (*report.Report, *recording.Recording, error) {
	r, rec, err := saved.Load(path, env.Stdin)
	switch {
	case err != nil && rec != nil:
		return nil, nil, fail(exitNotMeasured, "the recording may have been cut off before its first readings", "%w",
			err)
	case err != nil:
		return nil, nil, fail(exitUsage, readHint(path, err), "%w", err)
	}
	return r, rec, nil
}

// readHint says what to do about a file that cannot be read.
func readHint(path string, err error) string {
	switch {
	case errors.Is(err, report.ErrInvalid):
		return "the file was edited, or cut off while it was written: make it again with pipetune diagnose -o " +
			filepath.Base(path)
	case errors.Is(err, saved.ErrFolder), errors.Is(err, fs.ErrNotExist):
		return "a report is a .json, a recording a .jsonl file that pipetune wrote: pipetune diagnose -o run.json"
	case errors.Is(err, recording.ErrNewer), errors.Is(err, report.ErrNewer):
		return "install a newer pipetune"
	case errors.Is(err, recording.ErrNotRecording), errors.Is(err, report.ErrNotReport):
		return "give a .jsonl recording or a .json report that pipetune wrote"
	case errors.Is(err, recording.ErrDamaged):
		return "the lines before the damage can be kept: head -n LINES file > whole.jsonl"
	}
	return ""
}
