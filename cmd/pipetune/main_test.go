package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pipetune/pipetune/internal/cli"
	"github.com/pipetune/pipetune/internal/must"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"pipetune": main})
}

// TestScripts runs the real program: every command, flag and exit code.
func TestScripts(t *testing.T) {
	root := must.Get(filepath.Abs("../.."))(t)
	written := newSchemas(t, root)
	t.Cleanup(func() { written.done(t) }) // scripts run beside each other, and after this function
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("ROOT", root)
			e.Setenv("NO_COLOR", "1")
			before := jsonFiles(e.WorkDir)
			e.Defer(func() { written.check(e.WorkDir, before) })
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status},
	})
}

// status runs a command and expects its exit code: status CODE COMMAND ARGS….
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND ARGS")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("exit status %s, want %s", got, args[0])
	}
}

// TestEveryCommandHasAScript keeps the list of commands and the scripts together.
func TestEveryCommandHasAScript(t *testing.T) {
	for _, name := range cli.Commands() {
		if _, err := os.Stat(filepath.Join("testdata", "script", name+".txtar")); err != nil {
			t.Errorf("command %s: %v", name, err)
		}
	}
}
