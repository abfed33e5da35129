package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/launch"
)

// TestWritePatch: the patch goes to the outputs that take one; where there is none no file is made, and it is said why.
func TestWritePatch(t *testing.T) {
	path := t.TempDir() + "/fix.patch"
	var stderr bytes.Buffer
	l := &launched{env: Env{Stderr: &stderr}, fix: launch.Fix{Why: "no setting"}, o: &diagnoseOptions{}}
	l.o.outs = []output{{path: path, patch: true}, {path: path + ".md"}}
	if err := l.writePatch(); err != nil || stderr.String() != "pipetune: -o "+path+
		": no patch was written: no setting\n" {
		t.Errorf("%v, said %q", err, stderr.String())
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	stderr.Reset()
	l.fix = launch.Fix{Diff: "--- a\n+++ b\n"}
	if err := l.writePatch(); err != nil || strings.TrimSpace(stderr.String()) != "" {
		t.Errorf("%v, said %q", err, stderr.String())
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != l.fix.Diff {
		t.Errorf("%q, %v", got, err)
	}
}
