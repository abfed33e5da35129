package lint

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/patch"
	"github.com/pipetune/pipetune/internal/python"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// scriptFiles follow those of patch, which they build on.
var scriptFiles = []string{"facts.py", "loops.py", "items.py", "registry.py", "rules_loader.py", "rules_item.py",
	"rules_worker.py", "rules_step.py", "rules_hdf5.py", "notebook.py", "fix.py", "main.py"}

const (
	together   = 50               // files that one child judges
	longest    = 20 * time.Second // of a child, and
	longestOne = 2 * time.Second  // for each of its files
	mostAnswer = 64 << 20         // bytes
	mostText   = 400              // bytes of a message
)

// Request says what to judge and how.
type Request struct {
	Python string   // the interpreter
	Folder string   // absolute: where relative names begin, and names in diffs
	Files  []string // as they are to be shown
	Rules  []string // ids
	Least  Certainty
	Fix    bool // make the changes of findings that know one
}

// Finding is one place that a rule speaks of.
type Finding struct {
	Rule      string          `json:"rule"`
	Severity  report.Severity `json:"severity"`
	Certainty Certainty       `json:"certainty"`
	Message   string          `json:"message"`
	Help      string          `json:"help"`
	Confirms  string          `json:"confirms,omitempty"`
	File      string          `json:"file"`
	Cell      int             `json:"cell,omitempty"` // of a notebook, from 1; its lines are counted within
	Line      int             `json:"line"`
	Column    int             `json:"column"` // in characters from 1
	EndLine   int             `json:"end_line"`
	EndColumn int             `json:"end_column"` // behind the last character
	Fixable   bool            `json:"fixable"`
	Measured  *Measured       `json:"measured,omitempty"` // by a run, where a report of one was given
}

// Unjudged is a file that could not be read or parsed.
type Unjudged struct {
	File string `json:"file"`
	Why  string `json:"reason"`
}

// Change is a file with the changes of its findings made.
type Change struct {
	File string
	Diff []byte // unified, with names that patch -p1 takes in Folder
	Text []byte
}

// absolute is the path of a file that may be given relative to a folder.
func absolute(folder, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(folder, file)
}

// Result is what was found.
type Result struct {
	Files    int
	Findings []Finding // by file, line and column
	Unjudged []Unjudged
	Changes  []Change
}

// answer is a line of the script's: one file.
type answer struct {
	Refused  string
	Diff     []byte
	Text     []byte
	Findings []Finding // where and what; the catalogue says the rest
}

// Run judges files. The error says that no interpreter could be run; what one file does is in the result.
func Run(ctx context.Context, r Request) (Result, error) {
	result := Result{Files: len(r.Files), Findings: []Finding{}, Unjudged: []Unjudged{}}
	script, err := scriptOf()
	if err != nil {
		return result, err
	}
	for rest := r.Files; len(rest) > 0; {
		batch := rest[:min(together, len(rest))]
		judged, err := result.judge(ctx, r, script, batch)
		if err != nil {
			return result, err
		}
		rest = rest[judged:]
	}
	return result, nil
}

// judge has one child judge some files and tells how many it has dealt with. A file that ends the child is unjudged,
// and those behind it are left.
func (result *Result) judge(ctx context.Context, r Request, script []byte, batch []string) (int, error) {
	asked, err := python.Question(script, question(r, batch))
	if err != nil {
		return 0, err
	}
	limited, cancel := context.WithTimeout(ctx, longest+time.Duration(len(batch))*longestOne)
	defer cancel()
	text, failed := python.Run(limited, r.Python, asked, mostAnswer)
	failed = cmp.Or(failed, errors.New("the interpreter gave no answer")) // said where one is missing
	ready, text, began := bytes.Cut(text, []byte("\n"))
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	if !began || string(ready) != "ready" {
		return 0, failed
	}
	for i, file := range batch {
		line, after, whole := bytes.Cut(text, []byte("\n"))
		if text = after; !whole {
			result.Unjudged = append(result.Unjudged, Unjudged{file, untrusted.Cut(failed.Error(), mostText).String()})
			return i + 1, nil
		}
		if err := result.take(file, line); err != nil {
			return 0, err
		}
	}
	return len(batch), nil
}

// question is what the script reads. Names are bytes, not text.
func question(r Request, batch []string) map[string]any {
	asked, keep, certainty := [][]byte{}, Certainties[:slices.Index(Certainties, r.Least)+1], map[string]Certainty{}
	for _, file := range batch {
		asked = append(asked, []byte(absolute(r.Folder, file)))
	}
	for _, rule := range All() {
		certainty[rule.ID] = rule.Certainty
	}
	return map[string]any{"files": asked, "folder": []byte(r.Folder), "rules": r.Rules, "certainty": certainty,
		"keep": keep, "fix": r.Fix}
}

// take adds what the script says of one file. What it says is checked: it has read a text that nobody vouches for.
func (result *Result) take(file string, line []byte) error {
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("the interpreter's answer cannot be read: %w", err)
	}
	if a.Refused != "" {
		result.Unjudged = append(result.Unjudged, Unjudged{file, untrusted.Cut(a.Refused, mostText).String()})
		return nil
	}
	for _, f := range a.Findings {
		rule, known := Find(f.Rule)
		f.Certainty = cmp.Or(f.Certainty, rule.Certainty)
		if !known || !slices.Contains(Certainties, f.Certainty) || f.Line < 1 || f.Column < 1 || f.EndLine < f.Line ||
			f.EndColumn < 1 || f.Cell < 0 {
			return errors.New("the interpreter's answer makes no sense")
		}
		f.Rule, f.Severity, f.Help, f.Confirms = rule.ID, rule.Severity, rule.Help, rule.Confirms
		f.File, f.Message, f.Measured = file, untrusted.Cut(f.Message, mostText).String(), nil
		result.Findings = append(result.Findings, f)
	}
	if len(a.Diff) > 0 {
		result.Changes = append(result.Changes, Change{file, a.Diff, a.Text})
	}
	return nil
}

func scriptOf() ([]byte, error) {
	first, err := patch.Script()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(scriptFiles))
	for i, name := range scriptFiles {
		names[i] = "python/" + name
	}
	second, err := python.Script(files, names...)
	return slices.Concat(first, second), err
}
