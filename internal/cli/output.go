package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/pkg/report"
)

// recordingSuffix marks the output that takes the recording instead of the report.
const recordingSuffix = ".jsonl"

// output is one -o file, checked before anything is measured and written whole or not at all.
type output struct {
	path      string
	format    render.Format
	recording bool
	patch     bool
}

// parseOutputs checks the -o flags: a known suffix, no name twice, and at most one recording.
func parseOutputs(paths []string) ([]output, error) {
	var outs []output
	seen := map[string]bool{}
	recordings := 0
	for _, p := range paths {
		if seen[p] {
			return nil, fail(exitUsage, "", "-o %s: named twice", p)
		}
		seen[p] = true
		o := output{path: p, recording: strings.HasSuffix(p, recordingSuffix)}
		switch {
		case o.recording:
			recordings++
		case takesPatch(p):
			o.patch = true
		default:
			f, err := render.BySuffix(p)
			if err != nil {
				return nil, fail(exitUsage, "", "-o: %w; of a command after --, %s for the patch", err, strings.Join(patchSuffixes, " or "))
			}
			o.format = f
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
	f, err := createBeside(o.path)
	if err != nil {
		return fail(exitUsage, "choose a folder you may write to", "-o %s: %w", o.path, err)
	}
	return f.drop()
}

// writeReport writes r to the output's file: to a temporary name in the same folder, then renamed, so that the old file stays whole until
// the new one is.
func (o output) writeReport(r *report.Report) error {
	f, err := createBeside(o.path)
	if err != nil {
		return fail(exitUsage, "", "-o %s: %w", o.path, err)
	}
	return o.settle(f, o.format.Write(f, r, render.Options{}))
}

// writeText writes text to the output's file in the same way.
func (o output) writeText(text string) error {
	f, err := createBeside(o.path)
	if err != nil {
		return fail(exitUsage, "", "-o %s: %w", o.path, err)
	}
	_, err = f.WriteString(text)
	return o.settle(f, err)
}

func (o output) settle(f *draft, err error) error {
	if err := f.settle(err); err != nil {
		return fail(exitUsage, "free some space or choose another folder; what stood in the file before is still there", "-o %s: %w", o.path, err)
	}
	return nil
}

// plainPathError leaves out the temporary name that a person never chose.
func plainPathError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// recordingFile is a recording being written: whole lines under a temporary name, renamed at the end. Where a write fails the torn line
// is taken back, so that what is there can be read.
type recordingFile struct {
	f    *draft
	path string
	good int64 // bytes of whole lines
	err  error
}

func createRecording(path string) (*recordingFile, error) {
	f, err := createBeside(path)
	if err != nil {
		return nil, fail(exitUsage, "choose a folder you may write to", "-o %s: %w", path, err)
	}
	return &recordingFile{f: f, path: path}, nil
}

// Write implements io.Writer; each call holds whole lines.
func (r *recordingFile) Write(b []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.f.Write(b)
	if err != nil {
		_, seekErr := r.f.Seek(r.good, io.SeekStart)
		r.err = errors.Join(plainPathError(err), r.f.Truncate(r.good), seekErr)
		return 0, r.err
	}
	r.good += int64(n)
	return n, nil
}

// finish gives the recording its name. After a failed write what was recorded until then is kept under its temporary name, and the
// error says so.
func (r *recordingFile) finish() error {
	if r.err != nil {
		return fail(exitUsage, fmt.Sprintf("what was recorded until then is in %s, and `pipetune report` reads it", r.f.Name()),
			"-o %s: %w", r.path, errors.Join(r.err, r.f.Close()))
	}
	if err := r.f.settle(nil); err != nil {
		return fail(exitUsage, "", "-o %s: %w", r.path, err)
	}
	return nil
}

// drop removes the recording: nothing was measured.
func (r *recordingFile) drop() error { return r.f.drop() }
