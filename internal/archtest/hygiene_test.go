package archtest

import (
	"bytes"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

var (
	unfinished = regexp.MustCompile(`\b(TODO|FIXME|XXX|HACK)\b`)
	vagueNames = []string{"util", "utils", "common", "helpers", "helper", "types", "base", "manager", "misc"}
)

// exits lists the files beside main's that may end the program, with the reason.
var exits = map[string]string{
	"internal/cli/requests.go": "a second Ctrl-C or SIGTERM ends everything at once, whatever is still going on",
}

// untidy lists what no Go file of ours may hold.
func untidy(s source) []string {
	var found []string
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			if word := unfinished.FindString(c.Text); word != "" {
				found = append(found, s.at(c)+": a comment says "+word)
			}
		}
	}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			found = append(found, s.at(f)+": an init function: tables are explicit here")
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok || !s.test {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) &&
			strings.HasPrefix(selector.Sel.Name, "Skip") {
			found = append(found, s.at(n)+": a test that may be skipped proves nothing")
		}
		return true
	})
	if _, excepted := exits[s.path]; !s.test && s.pkg != "cmd/pipetune" && !excepted {
		s.uses("os", func(n ast.Node, name string) {
			if name == "Exit" {
				found = append(found, s.at(n)+": os.Exit belongs to main alone")
			}
		})
	}
	if slices.Contains(vagueNames, path.Base(s.pkg)) {
		found = append(found, s.path+": a package is named for a noun of the field, not "+path.Base(s.pkg))
	}
	return found
}

func TestNothingUntidy(t *testing.T) {
	for _, s := range sources(t) {
		for _, u := range untidy(s) {
			t.Error(u)
		}
	}
}

// mostLines is where a file of code holds more than one thing.
const mostLines = 400

func TestFilesAreShort(t *testing.T) {
	for _, name := range append(files(t, ".go"), files(t, ".py")...) {
		text := must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t)
		if n := bytes.Count(text, []byte("\n")); n > mostLines {
			t.Errorf("%s has %d lines: split it by what its parts hold", name, n)
		}
	}
}

func TestEveryPackageHasAComment(t *testing.T) {
	commented := map[string]bool{}
	for _, s := range sources(t) {
		has := s.file.Doc != nil && strings.HasPrefix(s.file.Doc.Text(), "Package ") || s.file.Name.Name == "main" &&
			s.file.Doc != nil
		commented[s.pkg] = commented[s.pkg] || has
	}
	for pkg, has := range commented {
		if !has {
			t.Errorf("%s: no file has a package comment", pkg)
		}
	}
}

func TestUntidyIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		path, code string
		want       int
	}{
		"a note to oneself":    {"internal/stat/x.go", "// " + "TO" + "DO: think\nvar _ = 1", 1},
		"an init function":     {"internal/stat/x.go", "func init() {}", 1},
		"a method called init": {"internal/stat/x.go", "type a struct{}\nfunc (a) init() {}", 0},
		"a skipped test": {"internal/stat/x_test.go",
			"import \"testing\"\nfunc TestX(t *testing.T) { t.Skip() }", 1},
		"a package called util": {"internal/util/x.go", "var _ = 1", 1},
		"an exit":               {"internal/cli/x.go", "import \"os\"\nvar _ = os.Exit", 1},
		"the exit of main":      {"cmd/pipetune/main.go", "import \"os\"\nvar _ = os.Exit", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if found := untidy(parse(t, c.path, "package x\n"+c.code)); len(found) != c.want {
				t.Errorf("found %v, want %d", found, c.want)
			}
		})
	}
}
