package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pipetune/pipetune/internal/render"
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
	f, err := createDraft(o.path)
	if err != nil {
		return fail(exitUsage, "choose a folder you may write to", "%s %s: %w", cmp.Or(o.flag, "-o"), o.path, err)
	}
	return f.drop()
}

// write writes a report or a comparison to the output's file.
func (o output) write(s render.Subject) error {
	return o.fill(func(w io.Writer) error { return o.format.Write(w, s, render.Options{Verbose: true}) })
}

// fill writes to a temporary name in the file's folder, which is then renamed, so that the old file stays whole until
// the new one is.
func (o output) fill(content func(w io.Writer) error) error {
	f, err := createDraft(o.path)
	if err != nil {
		return fail(exitUsage, "choose a folder you may write to", "%s %s: %w", cmp.Or(o.flag, "-o"), o.path, err)
	}
	if err := f.settle(content(f)); err != nil {
		return fail(exitUsage, "free some space or choose another folder; what stood in the file before is still there",
			"%s %s: %w", cmp.Or(o.flag, "-o"), o.path, err)
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

// recordingFile is a recording being written: whole lines under a temporary name, renamed at the end. Where a write
// fails the torn line is taken back, so that what is there can be read.
type recordingFile struct {
	f    *draft
	path string
	good int64 // bytes of whole lines
	err  error
}

func createRecording(path string) (*recordingFile, error) {
	f, err := createDraft(path)
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

// finish gives the recording its name. After a failed write what was recorded until then is kept under its temporary
// name, and the error says so.
func (r *recordingFile) finish() error {
	if r.err != nil {
		return fail(exitUsage, fmt.Sprintf("what was recorded until then is in %s, and `pipetune report` reads it",
			r.f.Name()),
			"-o %s: %w", r.path, errors.Join(r.err, r.f.Close()))
	}
	if err := r.f.settle(nil); err != nil {
		return fail(exitUsage, "", "-o %s: %w", r.path, err)
	}
	return nil
}

// drop removes the recording: nothing was measured.
func (r *recordingFile) drop() error { return r.f.drop() }
