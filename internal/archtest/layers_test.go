package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

// inCode are names as a table of docs/architecture.md writes them.
var inCode = regexp.MustCompile("`([^`]+)`")

// layersOf reads the table of layers: for each package, which of ours it may import.
func layersOf(page string) map[string][]string {
	layers := map[string][]string{}
	for line := range strings.Lines(page) {
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
		slices.Sort(allowed)
		for _, m := range inCode.FindAllStringSubmatch(cells[1], -1) {
			layers[strings.TrimPrefix(m[1], "internal/")] = allowed
		}
	}
	return layers
}

// untold are packages that the page leaves out: tests and tools.
var untold = []string{"archtest", "scripts/sbom", "scripts/man", "scripts/manifests", "scripts/workflows", "e2e",
	"reliability", "replay"}

func TestArchitectureTellsTheLayers(t *testing.T) {
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "architecture.md")))(t)
	want := map[string][]string{}
	for name, allowed := range mayImport {
		if !slices.Contains(untold, name) {
			want[name] = append([]string{}, allowed...)
			slices.Sort(want[name])
		}
	}
	if diff := cmp.Diff(want, layersOf(string(page))); diff != "" {
		t.Errorf("the table of docs/architecture.md (-mayImport +page):\n%s", diff)
	}
}
