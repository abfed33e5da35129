package archtest

import (
	"go/ast"
	"slices"
	"strconv"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
)

// The packages that read signals. Whoever only writes one, or lists what it is made from, is none of them.
var (
	rawReaders = []string{"internal/evidence", "internal/evidence/hooked", "internal/evidence/watched",
		"internal/launch"}
	derivedReaders = []string{"internal/rules", "internal/diagnose", "internal/compare", "internal/document",
		"internal/cli"}
)

// unread are the signals that nobody reads, with the reason that they are there all the same.
var unread = map[string]string{
	"loader_worker_births": "goes on where events stop at their bound: reliability trials hold the watch to it",
	"hook_item_s":          "of the hook's own account: its tests hold what it counts to what a job did",
	"hook_decodes":         "the same",
}

// TestSignalsAreRead: what is recorded or derived is read by somebody, or is listed with the reason.
func TestSignalsAreRead(t *testing.T) {
	variables := map[string]string{} // name of a signal → its variable in package metric
	reads := map[string][]string{}   // variable → packages
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if s.pkg == "internal/metric" {
			declared(s, variables)
			continue
		}
		s.uses(module+"internal/metric", func(_ ast.Node, name string) { reads[name] = append(reads[name], s.pkg) })
	}
	check := func(list []metric.Desc, readers []string) {
		for _, d := range list {
			variable, ok := variables[d.Name]
			if !ok {
				t.Errorf("%s: no variable of package metric", d.Name)
			}
			read := slices.ContainsFunc(reads[variable], func(pkg string) bool { return slices.Contains(readers, pkg) })
			switch _, listed := unread[d.Name]; {
			case !read && !listed:
				t.Errorf("%s (metric.%s): nobody reads it", d.Name, variable)
			case read && listed:
				t.Errorf("%s is listed as unread, and is read", d.Name)
			}
		}
	}
	check(metric.Raw(), rawReaders)
	check(slices.Concat(metric.Derived, metric.HookDerived, metric.BenchDerived), derivedReaders)
}

// declared notes the signals that a file of package metric declares.
func declared(s source, variables map[string]string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) != 1 {
			return true
		}
		if value, ok := spec.Values[0].(*ast.CallExpr); ok && len(value.Args) > 0 {
			if name, ok := value.Args[0].(*ast.BasicLit); ok {
				if text, err := strconv.Unquote(name.Value); err == nil {
					variables[text] = spec.Names[0].Name
				}
			}
		}
		return true
	})
}
