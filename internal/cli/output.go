package cli

import (
	"cmp"
	"io"
	"path/filepath"
	"strings"

	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/saved"
)

// recordingSuffix marks the output that takes the recording instead of the report.
const recordingSuffix = ".jsonl"

// output is one -o file, checked before anything is measured and written whole or not at all.
type output struct {
	path      string
	flag      string // that named it; "": -o
	format    render.Format
	recording bool
	patch     bool
}

// parseOutputs checks the -o flags: a known suffix, no name twice, and at most one recording. ofRun says that there may
// be a recording and a patch, as there are of a watch; also are endings to name beside those of formats.
func parseOutputs(paths []string, formats []render.Format, ofRun bool, also ...string) ([]output, error) {
	var outs []output
	seen := map[string]bool{}
	recordings := 0
	for _, p := range paths {
		if seen[filepath.Clean(p)] {
			return nil, fail(exitUsage, "", "-o %s: named twice", p)
		}
		seen[filepath.Clean(p)] = true
		o := output{path: p, recording: ofRun && strings.HasSuffix(p, recordingSuffix), patch: ofRun && takesPatch(p)}
		var err error
		switch {
		case o.recording:
			recordings++
		case o.patch:
		default:
			if o.format, err = render.BySuffix(formats, p, also...); err != nil {
				return nil, fail(exitUsage, "", "-o: %w", err)
			}
		}
		outs = append(outs, o)
	}
	if recordings > 1 {
		return nil, fail(exitUsage, "", "-o: only one recording (%s) can be written", recordingSuffix)
	}
	return outs, nil
}

// check tries the output before a minute is spent on measuring: it makes the temporary file and removes it again.
func (o output) check() error {
	f, err := saved.Create(o.path)
	if err != nil {
		return fail(exitUsage, "choose a folder you may write to", "%s %s: %w", cmp.Or(o.flag, "-o"), o.path, err)
	}
	return f.Drop()
}

// write writes a report or a comparison to the output's file.
func (o output) write(s render.Subject) error {
	return o.fill(func(w io.Writer) error { return o.format.Write(w, s, render.Options{Verbose: true}) })
}

// fill writes to a temporary name in the file's folder, which is then renamed, so that the old file stays whole until
// the new one is.
func (o output) fill(content func(w io.Writer) error) error {
	f, err := saved.Create(o.path)
	if err != nil {
		return fail(exitUsage, "choose a folder you may write to", "%s %s: %w", cmp.Or(o.flag, "-o"), o.path, err)
	}
	if err := f.Settle(content(f)); err != nil {
		return fail(exitUsage, "free some space or choose another folder; what stood in the file before is still there",
			"%s %s: %w", cmp.Or(o.flag, "-o"), o.path, err)
	}
	return nil
}
