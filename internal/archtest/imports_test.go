package archtest

import (
	"go/ast"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// anything, as an entry of layers, stands for every package of ours.
const anything = "*"

// untold are the packages that the page leaves out: tests and tools.
var untold = map[string][]string{
	"archtest": {}, "scripts/sbom": {}, "scripts/man": {"cli"}, "scripts/manifests": {}, "scripts/workflows": {},
	"e2e": {anything}, "replay": {anything}, "reliability": {anything},
}

// inCode are names as a table of docs/architecture.md writes them.
var inCode = regexp.MustCompile("`([^`]+)`")

// layers lists, for each package, which packages of ours it may import: the table of docs/architecture.md is the law.
// All else is denied; a package that is not listed, nor below one that is, may not exist. Names are below internal/
// unless they start with pkg/, cmd/ or scripts/.
var layers = sync.OnceValue(func() map[string][]string {
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		panic(err)
	}
	all := maps.Clone(untold)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		allowed := []string{}
		for _, m := range inCode.FindAllStringSubmatch(cells[3], -1) {
			allowed = append(allowed, m[1])
		}
		if strings.TrimSpace(cells[3]) == "everything" {
			allowed = []string{anything}
		}
		for _, m := range inCode.FindAllStringSubmatch(cells[1], -1) {
			all[strings.TrimPrefix(m[1], "internal/")] = allowed
		}
	}
	return all
})

// thirdParty lists who may import which module of others. golang.org/x/sys is open to all that touch the machine.
var thirdParty = map[string][]string{
	"charm.land/bubbletea":         {"top"},
	"github.com/charmbracelet":     {"top"},
	"github.com/NVIDIA/go-nvml":    {"nvml"},
	"github.com/prometheus/procfs": {"procfs"},
	"github.com/spf13/cobra":       {"cli", "scripts/man"},
	"github.com/BurntSushi/toml":   {"settings"},
	"github.com/spf13/pflag":       {"cli", "settings"},
	"golang.org/x/image":           {"dataset"},
	"golang.org/x/term":            {"cli"},
	"github.com/rivo/uniseg":       {"render"},
	"golang.org/x/perf":            {"stat"},
	"github.com/yuin/goldmark":     {"reliability", "test files"},
	"golang.org/x/sys": {"cli", "job", "hook", "python", "host", "openfiles", "sampler", "probe", "storage", "rewrite",
		"dataset", "isolate", "nvml", "perf", "procfs", "hdf5", "jpeg", "e2e", "reliability", "launch", "watch",
		"footprint", "saved"},
	"github.com/google/go-cmp":              {"test files"},
	"github.com/rogpeppe/go-internal":       {"test files", "procfs/fakeroot"},
	"github.com/santhosh-tekuri/jsonschema": {"test files"},
	"go.opentelemetry.io/proto":             {"test files"},
	"google.golang.org/protobuf":            {"test files"},
	"k8s.io":                                {"scripts/manifests"}, // a module of its own
	"sigs.k8s.io/yaml":                      {"scripts/manifests"},
	"github.com/rhysd/actionlint":           {"scripts/workflows"}, // a module of its own
}

// short names a package as the table does: below internal, and by the listed package that it is a part of.
func short(pkg string) string {
	name := strings.TrimPrefix(pkg, "internal/")
	for part := name; part != "."; part = path.Dir(part) {
		if _, listed := layers()[part]; listed {
			return part
		}
	}
	return name
}

// breaches lists what is wrong with the imports of one file.
func breaches(s source) []string {
	var found []string
	from := short(s.pkg)
	allowed, known := layers()[from]
	if !known {
		return []string{s.path + ": package " + s.pkg + " has no row in docs/architecture.md: say which layer it is of"}
	}
	s.imports(func(spec *ast.ImportSpec, imported string) {
		switch {
		case strings.HasPrefix(imported, module):
			to := short(strings.TrimPrefix(imported, module))
			if !s.test && to != from && !slices.Contains(allowed, anything) && !slices.Contains(allowed, to) {
				found = append(found, s.at(spec)+": "+from+" may not import "+to)
			}
		case !strings.Contains(strings.Split(imported, "/")[0], "."):
			// the standard library; purity_test.go has a word on it
		case !mayImportModule(from, imported, s.test):
			found = append(found, s.at(spec)+": "+from+" may not import "+imported)
		}
	})
	return found
}

// mayImportModule looks a package of somebody else's up in thirdParty. Tests may use what the code beside them may,
// golang.org/x/sys, and the two libraries for tests.
func mayImportModule(from, imported string, test bool) bool {
	for prefix, users := range thirdParty {
		if imported != prefix && !strings.HasPrefix(imported, prefix+"/") {
			continue
		}
		return slices.Contains(users, from) || test && (slices.Contains(users, "test files") ||
			prefix == "golang.org/x/sys")
	}
	return false
}

// TestImports: each package has a row, and imports nothing else.
func TestImports(t *testing.T) {
	for _, s := range sources(t) {
		for _, breach := range breaches(s) {
			t.Error(breach)
		}
	}
}

func TestImportBreachesAreFound(t *testing.T) {
	for name, c := range map[string]struct{ path, imports string }{
		"judge reaches for an adapter": {"internal/rules/x.go", `"github.com/pipetune/pipetune/internal/procfs"`},
		"render sees the recording":    {"internal/render/x.go", `"github.com/pipetune/pipetune/internal/recording"`},
		"report is not self-contained": {"pkg/report/x.go", `"github.com/pipetune/pipetune/internal/unit"`},
		"main does more than main":     {"cmd/pipetune/main.go", `"github.com/pipetune/pipetune/internal/job"`},
		"cobra outside of cli":         {"internal/render/x.go", `"github.com/spf13/cobra"`},
		"a new module":                 {"internal/cli/x.go", `"example.com/new"`},
		"go-cmp outside of tests":      {"internal/cli/x.go", `"github.com/google/go-cmp/cmp"`},
		"a package without a row":      {"internal/util/x.go", `"github.com/pipetune/pipetune/internal/stat"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse(t, c.path, "package x\nimport _ "+c.imports+"\n")
			if found := breaches(s); len(found) != 1 {
				t.Errorf("%d breaches found, want one: %v", len(found), found)
			}
		})
	}
	s := parse(t, "internal/rules/x_test.go", "package x\nimport _ \"github.com/google/go-cmp/cmp\"\n")
	if found := breaches(s); len(found) != 0 {
		t.Errorf("go-cmp in a test: %v", found)
	}
}
