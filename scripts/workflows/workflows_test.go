// Package workflows holds the workflows of .github and docs/ci to what GitHub takes, by actionlint. It is a module of
// its own, so that what it takes from there is no dependency of pipetune.
package workflows

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

var (
	uses   = regexp.MustCompile(`(?m)^[\s-]*uses:\s*(\S+)(.*)$`)
	pinned = regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40}$`)
	named  = regexp.MustCompile(`^ # v\d+\.\d+\.\d+$`)
)

// breaches lists what is wrong with a workflow: what actionlint finds, and actions without a commit and its version.
func breaches(name string, text []byte) ([]string, error) {
	linter, err := actionlint.NewLinter(io.Discard,
		&actionlint.LinterOptions{ConfigFile: "../../.github/actionlint.yaml"})
	if err != nil {
		return nil, err
	}
	errors, err := linter.Lint(name, text, nil)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range errors {
		all = append(all, e.Error())
	}
	for _, m := range uses.FindAllSubmatch(text, -1) {
		if !pinned.Match(m[1]) || !named.Match(m[2]) {
			all = append(all, fmt.Sprintf("%s: %s%s: needs the full hash of a commit, and its version", name, m[1],
				m[2]))
		}
	}
	return all, nil
}

func TestWorkflowsAreWhatGitHubTakes(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../.github/workflows/*.yml", "../../docs/ci/*.yml"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := breaches(file, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, breach := range all {
			t.Error(breach)
		}
	}
}

func TestWhatGitHubDoesNotTakeIsFound(t *testing.T) {
	const head = "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n"
	const hash = "11bd71901bbe5b1630ceea73d27597364c9af683"
	for name, c := range map[string]struct{ text, want string }{
		"nothing wrong":         {head + "      - uses: actions/checkout@" + hash + " # v4.2.2\n", ""},
		"no steps":              {"on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n", "steps"},
		"an unknown key":        {head + "      - run: make\n        shel: sh\n", "shel"},
		"an unknown event":      {strings.Replace(head, "push", "pushed", 1) + "      - run: make\n", "pushed"},
		"an unknown expression": {head + "      - run: echo ${{ githib.ref }}\n", "githib"},
		"a tag for a hash":      {head + "      - uses: actions/checkout@v4\n", "full hash"},
		"a hash cut short":      {head + "      - uses: actions/checkout@11bd719 # v4.2.2\n", "full hash"},
		"a hash of no version":  {head + "      - uses: actions/checkout@" + hash + "\n", "full hash"},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := breaches("trial.yml", []byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(all, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
