package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// anything, as an entry of mayImport, stands for every package of ours.
const anything = "*"

// mayImport lists, for each package, which packages of ours it may import. All else is denied; a package that is not
// listed, nor below one that is, may not exist. Names are below internal/ unless they start with pkg/ or cmd/.
// untrusted, the gate that names come in through, and unit's and metric's plain words are what the layers share.
var mayImport = map[string][]string{
	"cmd/pipetune": {"cli"},
	"cli":          {anything},

	// acquire: touches the machine
	"job":    {"isolate", "procfs", "recording", "metric", "untrusted"},
	"hook":   {"recording", "metric", "untrusted"},
	"python": {"untrusted"},
	"patch":  {"python", "untrusted", "pkg/report"},
	"lint":   {"python", "patch", "untrusted", "pkg/report"},
	"launch": {"footprint", "hook", "patch", "isolate", "predict", "procfs", "job", "metric", "recording", "stat",
		"tune", "untrusted", "pkg/report"},
	"host":      {"isolate", "procfs", "recording", "untrusted"},
	"batches":   {"procfs", "metric", "recording"},
	"openfiles": {"format", "host", "isolate", "procfs", "job", "metric", "recording", "untrusted"},
	"sampler":   {"batches", "isolate", "procfs", "job", "metric", "recording", "untrusted", "nvml", "perf"},
	"probe": {"format", "isolate", "rewrite", "dataset", "benchmark", "metric", "procfs", "python", "stat",
		"storage", "pkg/report", "untrusted"},
	"storage": {"dataset", "procfs"},
	"rewrite": {"isolate", "dataset", "benchmark", "stat", "untrusted"},
	"dataset": {"format", "hdf5", "isolate", "jpeg", "untrusted"},
	"benchrun": {"dataset", "diagnose", "evidence", "footprint", "host", "isolate", "job", "metric", "probe",
		"procfs", "recording", "rules", "unit", "untrusted", "pkg/report"},
	"slurm":  {"merge", "untrusted", "pkg/report"},
	"demo":   {},
	"doctor": {"dataset", "demo", "hdf5", "hook", "isolate", "nvml", "perf", "procfs", "openfiles", "sampler", "unit"},
	// rules: what is read is judged anew
	"saved": {"merge", "recording", "rules", "untrusted", "pkg/report"},
	// it judges beside the watch: rules
	"watch": {"dataset", "evidence", "footprint", "host", "isolate", "job", "launch", "live", "procfs", "recording",
		"rules", "openfiles", "sampler", "untrusted", "pkg/report"},
	"footprint": {"isolate", "procfs", "unit"},

	// adapters and the parts that know nothing of ours but the gate
	"isolate":    {"untrusted"},
	"nvml":       {"metric", "untrusted"},
	"perf":       {},
	"procfs":     {"untrusted"},
	"hdf5":       {"format", "untrusted"},
	"jpeg":       {"untrusted"},
	"untrusted":  {},
	"format":     {},
	"stat":       {},
	"unit":       {"stat"},
	"metric":     {},
	"timeline":   {},
	"settings":   {},
	"pkg/report": {}, // for other people's programs: the standard library and nothing else

	// the first waist
	"recording": {"metric", "untrusted"},
	"benchmark": {"metric", "stat", "pkg/report"},

	// what goes on now, beside judging
	"live":     {"metric", "recording"},
	"exporter": {"live", "metric", "otlp", "pkg/report"},
	"otlp":     {},

	// judge: pure
	"step":     {"stat"},
	"evidence": {"format", "recording", "benchmark", "metric", "stat", "step", "timeline", "untrusted", "pkg/report"},
	"tune":     {"diagnose", "evidence", "metric", "predict", "stat", "pkg/report"},
	// pkg/report: what a change must bring to be worth one
	"predict": {"stat", "pkg/report"},
	// unit: its statements hold numbers
	"diagnose": {"evidence", "metric", "predict", "stat", "step", "unit", "pkg/report"},
	"merge":    {"diagnose", "metric", "stat", "unit", "pkg/report"}, // diagnose: from where on a share is too large
	"rules": {"diagnose", "format", "evidence", "metric", "predict", "recording", "stat", "unit",
		"pkg/report"},

	// present: pure
	"compare":  {"metric", "stat", "pkg/report"},
	"document": {"format", "metric", "timeline", "unit", "pkg/report"},
	"render":   {"document", "timeline", "pkg/report", "untrusted"},
	"top":      {"document", "live", "metric", "pkg/report", "render", "unit", "untrusted"},

	"must":              {},
	"procfs/fakeroot":   {"must"},
	"archtest":          {},
	"scripts/sbom":      {},
	"scripts/man":       {"cli"},
	"scripts/manifests": {},
	"scripts/workflows": {},
	"e2e":               {anything},
	"replay":            {anything},
	"reliability":       {anything},
}

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

// short names a package as the tables do: below internal, and by the listed package that it is a part of.
func short(pkg string) string {
	name := strings.TrimPrefix(pkg, "internal/")
	for part := name; part != "."; part = path.Dir(part) {
		if _, listed := mayImport[part]; listed {
			return part
		}
	}
	return name
}

// breaches lists what is wrong with the imports of one file.
func breaches(s source) []string {
	var found []string
	from := short(s.pkg)
	allowed, known := mayImport[from]
	if !known {
		return []string{s.path + ": package " + s.pkg + " has no row in mayImport: say which layer it belongs to"}
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
