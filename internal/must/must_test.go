package must

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ended stands in for a test, and goes on where that would end.
type ended struct {
	testing.TB
	with []any
}

func (e *ended) Helper() {}

func (e *ended) Fatal(args ...any) { e.with = append(e.with, args...) }

func TestOnlyAnErrorEndsATest(t *testing.T) {
	failed := errors.New("no such luck")
	var e ended
	Do(&e, nil)
	if n := Get(7, nil)(&e); n != 7 || len(e.with) != 0 {
		t.Errorf("%d, ended with %v", n, e.with)
	}
	Do(&e, failed)
	Get("", failed)(&e)
	if len(e.with) != 2 || e.with[0] != failed || e.with[1] != failed {
		t.Errorf("ended with %v, want the error twice", e.with)
	}
}

func TestAFileThatCannotBeReadEndsATest(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.json")
	Do(t, os.WriteFile(name, []byte(`[7]`), 0o600))
	var e ended
	if n := Read(&e, name, JSON[[]int]); len(n) != 1 || n[0] != 7 || len(e.with) != 0 {
		t.Errorf("%v, ended with %v", n, e.with)
	}
	Read(&e, name, JSON[string])
	Read(&e, name, Unzipped(JSON[[]int]))
	Read(&e, name+".gone", JSON[[]int])
	if len(e.with) != 3 {
		t.Errorf("ended with %v, want two errors of the content and one of the file", e.with)
	}
}

func TestPythonThatFailsEndsATest(t *testing.T) {
	var e ended
	Python(&e, "-c", "pass")
	if len(e.with) != 0 {
		t.Errorf("ended with %v", e.with)
	}
	Python(&e, "-c", "raise SystemExit('no such luck')")
	if len(e.with) != 1 || !strings.Contains(e.with[0].(string), "no such luck") {
		t.Errorf("ended with %v, want what it wrote", e.with)
	}
}
