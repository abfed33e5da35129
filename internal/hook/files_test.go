package hook

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// TestTheSameModulesAreWaitedForAndPatched: sitecustomize.py names them once more, as it loads nothing before they
// come.
func TestTheSameModulesAreWaitedForAndPatched(t *testing.T) {
	named := func(file, pattern string) (names []string) {
		for _, found := range regexp.MustCompile(pattern).FindAllSubmatch(must.Get(os.ReadFile(file))(t), -1) {
			names = append(names, string(found[1]))
		}
		slices.Sort(names)
		return names
	}
	waited := named("python/sitecustomize.py", `(?m)^ {12}"([\w.]+)",$`)
	patched := named("python/pipetune_hook/__init__.py", `(?m)^ {4}"([\w.]+)": "\w+",$`)
	if diff := cmp.Diff(patched, waited); diff != "" || len(waited) < 10 {
		t.Errorf("modules that are patched and those that are waited for (-patched +waited for):\n%s", diff)
	}
}
