package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

// TestNoFolderMaySet: what writes files, opens ports or runs programs is refused in a folder's own settings, for each
// command that has it.
func TestNoFolderMaySet(t *testing.T) {
	t.Chdir(t.TempDir())
	env := Env{Stderr: t.Output(), Getenv: func(string) string { return "" }}
	root := newRoot(env)
	for _, name := range onesOwn {
		found := false
		for command, flags := range settable(root) {
			if !slices.Contains(flags, name) {
				continue
			}
			found = true
			file := fmt.Sprintf("[%s]\n%s = \"x\"\n", command, name)
			must.Do(t, os.WriteFile("pipetune.toml", []byte(file), 0o600))
			c, _, err := root.Find([]string{command})
			if err == nil {
				_, err = settle(c, env)
			}
			want := command + "." + name + ": not for a folder to say"
			if exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", file, err)
			}
		}
		if !found {
			t.Errorf("no command has --%s", name)
		}
	}
}
