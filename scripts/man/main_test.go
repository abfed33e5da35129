package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/cli"
	"github.com/pipetune/pipetune/internal/must"
)

// Each command has its page, with its flags, and the first names the others.
func TestEveryCommandHasItsPage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "man1")
	must.Do(t, write(folder))
	for name, want := range map[string][]string{
		"pipetune.1":          {"pipetune-diagnose(1)", "pipetune-bench-io(1)", ".SH EXAMPLE"},
		"pipetune-diagnose.1": {`--duration`, `--fail-on`, ".SH OPTIONS"},
		"pipetune-bench-io.1": {`--budget`}, "pipetune-top.1": {".SH NAME"},
	} {
		page := strings.ReplaceAll(string(must.Get(os.ReadFile(filepath.Join(folder, name)))(t)), `\-`, "-")
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s has no %s", name, text)
			}
		}
	}
	for _, command := range cli.Tree().Commands() {
		if _, err := os.Stat(filepath.Join(folder, "pipetune-"+command.Name()+".1")); command.Runnable() &&
			command.Name() != "help" && err != nil {
			t.Error(err)
		}
	}
}
