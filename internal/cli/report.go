package cli

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
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
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fail(exitUsage, "see: pipetune report --help", "report takes one file")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			format, outs, err := p.check()
			if err != nil {
				return err
			}
			for _, o := range outs {
				if o.recording {
					return fail(exitUsage, "copy the file instead", "-o %s: report writes no recordings", o.path)
				}
			}
			r, rec, err := replay(env, args[0])
			if err != nil {
				return unreadable(args[0], err)
			}
			return p.show(env, r, rec, format, outs)
		},
	}
	p.addFlags(c)
	p.addThreshold(c)
	return c
}

// replayMemory is from where on the collector runs as often as it must while a file is read and judged: the file may be
// anybody's. It is no limit: a long recording takes 16 bytes a reading.
const replayMemory = 160 << 20

// replay reads a file of either kind and returns its report, and the recording where it is one.
func replay(env Env, path string) (*report.Report, *recording.Recording, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(replayMemory))
	in := env.Stdin
	if path != "-" {
		f, err := openRegular(path)
		if err != nil {
			return nil, nil, fail(exitUsage, readHint(err), "reading %s: %w", path, err)
		}
		defer f.Close()
		in = f
	}
	br := bufio.NewReaderSize(in, 64<<10)
	if looksLikeRecording(br) {
		rec, err := recording.Read(br)
		if err != nil {
			return nil, nil, fail(exitUsage, readHint(err), "reading %s: %w", path, err)
		}
		r, err := rules.Judge(rec)
		if err != nil {
			return nil, nil, fail(exitNotMeasured, "the recording may have been cut off before its first readings",
				"judging %s: %w", path, err)
		}
		if r.Job != nil {
			r.Job.Mode = "replay"
		}
		return r, rec, nil
	}
	r, err := readReport(br, path)
	return r, nil, err
}

// readReport reads what is no recording.
func readReport(br *bufio.Reader, path string) (*report.Report, error) {
	what, json := whatIs(br), beginsAsJSON(br)
	r, err := report.Decode(br)
	if errors.Is(err, report.ErrInvalid) && !json {
		// such as of a dataset, which is too large before it is anything else
		err = report.ErrNotReport
	}
	if errors.Is(err, report.ErrNotReport) && what != "" {
		return nil, fail(exitUsage, readHint(err), "reading %s: %w, it is %s", path, err, what)
	}
	if err != nil {
		return nil, fail(exitUsage, readHint(err), "reading %s: %w", path, err)
	}
	return r, nil
}

var errFolder = errors.New("it is a folder")

// openRegular opens a file that can be read to its end: no folder, no device, no pipe that may hang.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, plainPathError(err)
	}
	if info.IsDir() {
		return nil, errFolder
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	return f, plainPathError(err)
}

// looksLikeRecording tells the two kinds apart by their first bytes; what is neither is left to the report's decoder to
// refuse.
func looksLikeRecording(br *bufio.Reader) bool {
	head, err := br.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte(`{"header":`))
}

func readHint(err error) string {
	switch {
	case errors.Is(err, errFolder), errors.Is(err, fs.ErrNotExist):
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
