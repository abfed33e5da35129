package archtest

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// raced is the line of the Makefile that names the packages whose tests run under the race detector.
var raced = regexp.MustCompile(`(?m)^RACED := (.+)$`)

// startsGoroutine reports whether a file has a go statement, or calls what starts one for it.
func startsGoroutine(s source) (starts bool) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = starts || n.Sel.Name == "Go" // of a sync.WaitGroup, or what is like one
			if x, ok := n.X.(*ast.Ident); ok {
				starts = starts || slices.Contains([]string{"time.AfterFunc", "context.AfterFunc", "signal.Notify"},
					x.Name+"."+n.Sel.Name)
			}
		}
		return !starts
	})
	return starts
}

// TestRacedPackages holds `make test` to the code: under the race detector run the tests of the packages that start
// goroutines, and only these.
func TestRacedPackages(t *testing.T) {
	makefile := must.Get(os.ReadFile(filepath.Join(root, "Makefile")))(t)
	line := raced.FindSubmatch(makefile)
	if line == nil {
		t.Fatal("the Makefile has no line RACED := …")
	}
	want := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test && startsGoroutine(s) {
			want["./"+s.pkg] = true
		}
	}
	got := map[string]bool{}
	for _, pkg := range strings.Fields(string(line[1])) {
		got[pkg] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages that start goroutines (-code +RACED of the Makefile):\n%s", diff)
	}
}

func TestGoroutinesAreFound(t *testing.T) {
	for code, want := range map[string]bool{
		"func f() { go f() }":                                     true,
		"func f() { g := func() { go f() }; g() }":                true,
		"import \"time\"\nvar _ = time.AfterFunc(0, func() {})":   true,
		"func f(g *sync.WaitGroup) { g.Go(f) }":                   true,
		"func f() { goes := 1; _ = goes }":                        false,
		"import \"time\"\nfunc f() { <-time.After(time.Second) }": false,
	} {
		if got := startsGoroutine(parse(t, "internal/x/x.go", "package x\n"+code)); got != want {
			t.Errorf("%q: %t, want %t", code, got, want)
		}
	}
}
