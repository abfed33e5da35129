package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/pipetune/pipetune/internal/lint"
)

// holdSource holds what lint reads on the line of the planted fault to what the run found there: the two are one
// finding.
func (l launched) holdSource(t *try, line int) (err error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "pipetune-source-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	name := filepath.Base(l.file())
	if err := os.WriteFile(filepath.Join(folder, name), []byte(l.script), 0o600); err != nil {
		return err
	}
	asked := lint.Request{Python: python, Folder: folder, Files: []string{name}, Least: lint.Likely}
	for _, r := range lint.All() {
		asked.Rules = append(asked.Rules, r.ID)
	}
	result, err := lint.Run(context.Background(), asked)
	if err != nil {
		return err
	}
	result.Mark(asked, l.rep)
	i := slices.IndexFunc(result.Findings, func(f lint.Finding) bool {
		return f.Line == line && f.Confirms == l.planted[0]
	})
	switch {
	case i < 0:
		t.wrongVerdict("lint finds nothing for %s in line %d: %+v", l.planted[0], line, result.Findings)
	case result.Findings[i].Measured == nil || result.Findings[i].Measured.Verdict != lint.Confirmed:
		t.wrongVerdict("%s in line %d is not confirmed by the report: %+v", result.Findings[i].Rule, line,
			result.Findings[i].Measured)
	}
	return nil
}
