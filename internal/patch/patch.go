// Package patch turns recommended settings into a change of the person's source: a unified diff, never an edited file.
//
// The source is read and parsed by the job's own interpreter (ast), in a process of its own. A change is offered only
// where the changed file parses, and its syntax tree differs from the old one in the wanted settings and in nothing
// else. Where a value does not stand in the call, Make says where it comes from instead.
package patch

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/python"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

//go:embed python/*.py
var files embed.FS

// mostAnswer bounds an answer, in bytes.
const mostAnswer = 1 << 20

// Setting is one recommended value.
type Setting struct {
	Name string `json:"name"` // a parameter of DataLoader: "num_workers"
	To   string `json:"to"`   // as Python writes it: "6", "True", "\"fork\""
}

// Request says what to change where.
type Request struct {
	// the interpreter that ran the job; where it cannot be started, the python3 of PATH takes its place
	Python   string
	File     string    // absolute
	Line     int       // a line of the DataLoader call
	Folder   string    // names in the diff are relative to it where File lies below it, else to /
	Began    time.Time // of the job: a file that was changed later is not what the job runs. Zero: not known
	Workers  *int      // num_workers as the job had it, for settings that need workers; nil: not known
	Settings []Setting
}

// limit is how long the interpreter may take: a file of 4 MiB on a busy machine.
const limit = 10 * time.Second

// Make makes the patch. The names and the text in it are as they are, in the source's own encoding: not redacted, and
// not always UTF-8. The error says what could not be read or parsed.
func Make(ctx context.Context, r Request) (report.Patch, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var text []byte
	err := unfit(r)
	if err == nil {
		text, err = ask(ctx, r)
	}
	var p report.Patch
	if err == nil {
		p, err = decode(text, r.Settings)
	}
	if err != nil {
		return report.Patch{}, fmt.Errorf("%s: %w", untrusted.Cut(r.File, 200), err)
	}
	return p, nil
}

// unfit says why what a job gives for its source is no file to change, or why there is nothing to change in it.
func unfit(r Request) error {
	switch base := filepath.Base(r.File); {
	case r.File == "":
		return errors.New("the job did not say where the loader is made")
	case strings.HasPrefix(base, "<"): // "<string>", "<stdin>", "<ipython-input-3-…>"
		return errors.New("the loader is made in code that is in no file")
	case strings.Contains(r.File, "/ipykernel_"):
		return errors.New("the loader is made in a cell of a notebook")
	case !filepath.IsAbs(r.File):
		return errors.New("not an absolute path")
	case len(r.Settings) == 0 || r.Line < 1:
		return errors.New("nothing to change, or no line of it is known")
	}
	return nil
}

// editing are the parts of the script that read a file, find the call of its loader and edit it.
var editing = []string{"python/source.py", "python/call.py", "python/edit.py"}

// Script is these parts, for others who change sources the same way.
func Script() ([]byte, error) { return python.Script(files, editing...) }

// question is what the script reads. Names are bytes, not text.
func question(r Request) ([]byte, error) {
	script, err := python.Script(files, append(slices.Clip(editing), "python/origin.py", "python/main.py")...)
	if err != nil {
		return nil, err
	}
	since := 0.0
	if !r.Began.IsZero() {
		since = float64(r.Began.UnixNano()) / 1e9
	}
	return python.Question(script, map[string]any{
		"file": []byte(r.File), "folder": []byte(r.Folder), "line": r.Line, "since": since, "workers": r.Workers,
		"settings": r.Settings,
	})
}

// ask runs the script in the job's interpreter, or in the python3 of PATH where that is gone: it may lie in a
// container.
func ask(ctx context.Context, r Request) ([]byte, error) {
	asked, err := question(r)
	if err != nil {
		return nil, err
	}
	var failed error = errors.New("no interpreter is known")
	if filepath.IsAbs(r.Python) {
		text, err := python.Run(ctx, r.Python, asked, mostAnswer)
		if err == nil || !errors.Is(err, python.ErrNotStarted) {
			return text, err
		}
		failed = err
	}
	other, err := exec.LookPath("python3")
	if err != nil || other == r.Python {
		return nil, failed
	}
	return python.Run(ctx, other, asked, mostAnswer)
}
