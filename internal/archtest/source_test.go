// Package archtest holds the tests that keep the house in order: who may import whom, what the pure layers may not
// touch, and what no source file of ours may hold. It has no code of its own. The layers and their reasons are reported
// in docs/architecture.md.
package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
)

const (
	root   = "../.."
	module = "github.com/pipetune/pipetune/"
)

// source is one parsed Go file of the module.
type source struct {
	path string // from the module's root, with slashes
	pkg  string // the same without the file: internal/stat
	test bool
	fset *token.FileSet
	file *ast.File
}

// at says where a node is, for a message.
func (s source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.fset.Position(n.Pos()).Line)
}

// imports calls visit with the path of each import.
func (s source) imports(visit func(spec *ast.ImportSpec, path string)) {
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			visit(spec, p)
		}
	}
}

// localName returns the name by which the file calls a package, or "" where it does not import it.
func (s source) localName(importPath string) string {
	name := ""
	s.imports(func(spec *ast.ImportSpec, p string) {
		switch {
		case p != importPath:
		case spec.Name != nil:
			name = spec.Name.Name
		default:
			name = strings.TrimSuffix(path.Base(p), "/v2")
			if name == "v2" {
				name = path.Base(path.Dir(p))
			}
		}
	})
	return name
}

// uses calls visit for each selector of a package in the file: the Now of time.Now.
func (s source) uses(importPath string, visit func(n ast.Node, name string)) {
	local := s.localName(importPath)
	if local == "" {
		return
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && x.Name == local {
			visit(selector, selector.Sel.Name)
		}
		return true
	})
}

func parse(t *testing.T, name string, content any) source {
	t.Helper()
	s := source{path: name, pkg: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), fset: token.NewFileSet()}
	from := filepath.Join(root, filepath.FromSlash(name))
	s.file = must.Get(parser.ParseFile(s.fset, from, content, parser.ParseComments|parser.SkipObjectResolution))(t)
	return s
}

// files lists the module's files of an ending, from its root, with slashes. Folders that are built or hidden are left
// out.
func files(t *testing.T, ending string) []string {
	t.Helper()
	var all []string
	must.Do(t, filepath.WalkDir(root, func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(p, root+string(filepath.Separator)))
		switch {
		case entry.IsDir() && (name == "build" || name == "bin" || strings.HasPrefix(entry.Name(), ".") && p != root):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ending):
			all = append(all, name)
		}
		return nil
	}))
	if len(all) == 0 {
		t.Fatalf("no files found that end in %s", ending)
	}
	return all
}

// parsed is what sources has parsed, once for all tests.
var parsed []source

// sources are all Go files of the module, whatever their build tags, but for those in folders named testdata.
func sources(t *testing.T) []source {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	for _, name := range files(t, ".go") {
		if !slices.Contains(strings.Split(name, "/"), "testdata") {
			parsed = append(parsed, parse(t, name, nil))
		}
	}
	return parsed
}
