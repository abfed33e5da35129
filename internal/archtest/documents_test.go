package archtest

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/pipetune/pipetune/internal/must"
)

// document is one Markdown page of the repository.
type document struct {
	path string // from the module's root, with slashes
	text string
}

var (
	linkTarget = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	fence      = regexp.MustCompile("(?ms)^```.*?^```$")
	codeSpan   = regexp.MustCompile("`[^`\n]+`")
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	makeCall   = regexp.MustCompile(`(?m)(?:^|[\x60$;&(] ?|=\S+ )make ([a-z][a-z0-9-]*)`)
	treePath   = regexp.MustCompile(`^(?:cmd|docs|internal|pkg|scripts|testdata)/[\w./*-]+$|^[a-z0-9]+/\w+\.go$`)
)

// documents reads every Markdown page of the module.
func documents(t *testing.T) []document {
	t.Helper()
	var all []document
	for _, name := range files(t, ".md") {
		text := must.Get(os.ReadFile(filepath.Join(root, filepath.FromSlash(name))))(t)
		all = append(all, document{name, string(text)})
	}
	return all
}

// unfenced is a page without its blocks of code.
func (d document) unfenced() string { return fence.ReplaceAllString(d.text, "") }

// links lists the targets of a page's links that lie in the repository, as written.
func (d document) links() []string {
	var list []string
	for _, m := range linkTarget.FindAllStringSubmatch(codeSpan.ReplaceAllString(d.unfenced(), ""), -1) {
		if !strings.Contains(m[1], ":") { // https:, mailto:
			list = append(list, m[1])
		}
	}
	return list
}

// resolve is where a link of the page leads: a path from the module's root, and the heading in it.
func (d document) resolve(link string) (target, anchor string) {
	to, anchor, _ := strings.Cut(link, "#")
	if to == "" {
		return d.path, anchor
	}
	return path.Join(path.Dir(d.path), to), anchor
}

// anchors are the names that a forge gives to a page's headings.
func (d document) anchors() []string {
	var list []string
	for _, m := range heading.FindAllStringSubmatch(d.unfenced(), -1) {
		list = append(list, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, m[1]))
	}
	return list
}

// there says whether a path of the repository, or a pattern of such, exists. A file of Go may leave out internal, a
// path that begins with testdata may be that of a package, and what a fixture is called may leave out its endings.
func there(pattern string) bool {
	tries := []string{pattern}
	if strings.HasSuffix(pattern, ".go") {
		tries = append(tries, "internal/"+pattern)
	}
	if strings.HasPrefix(pattern, "testdata/") {
		tries = append(tries, pattern+".*", "internal/*/"+pattern)
	}
	return slices.ContainsFunc(tries, func(p string) bool {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p)))
		return err == nil && len(found) > 0
	})
}

// untrue lists what a page says of the repository that does not hold: links, paths in code, targets of make.
func untrue(d document, all []document, targets []string) []string {
	var found []string
	for _, link := range d.links() {
		to, anchor := d.resolve(link)
		at := slices.IndexFunc(all, func(other document) bool { return other.path == to })
		switch {
		case at < 0 && !there(to):
			found = append(found, "links to "+link+", which is not there")
		case anchor != "" && (at < 0 || !slices.Contains(all[at].anchors(), anchor)):
			found = append(found, "links to "+link+", where no heading is called so")
		}
	}
	spans := codeSpan.FindAllString(d.unfenced(), -1)
	for _, span := range spans {
		if name := strings.Trim(span, "`"); treePath.MatchString(name) && !there(name) {
			found = append(found, "names "+name+", which is not there")
		}
	}
	code := strings.Join(append(spans, fence.FindAllString(d.text, -1)...), "\n")
	for _, m := range makeCall.FindAllStringSubmatch(code, -1) {
		if !slices.Contains(targets, m[1]) {
			found = append(found, "says make "+m[1]+", which the Makefile does not know")
		}
	}
	return found
}

// makeTargets are the targets of the Makefile.
func makeTargets(t *testing.T) []string {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(root, "Makefile")))(t)
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`).FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	return list
}

func TestDocumentsAreTrueOfTheTree(t *testing.T) {
	all, targets := documents(t), makeTargets(t)
	for _, d := range all {
		for _, what := range untrue(d, all, targets) {
			t.Errorf("%s %s", d.path, what)
		}
	}
}

// A page that nothing leads to is read by nobody.
func TestEveryPageIsReachedFromTheReadme(t *testing.T) {
	all := documents(t)
	reached := map[string]bool{}
	var follow func(name string)
	follow = func(name string) {
		for _, d := range all {
			if d.path != name && d.path != path.Join(name, "README.md") || reached[d.path] {
				continue
			}
			reached[d.path] = true
			for _, link := range d.links() {
				to, _ := d.resolve(link)
				follow(to)
			}
		}
	}
	follow("README.md")
	for _, d := range all {
		if strings.HasPrefix(d.path, "docs/") && !reached[d.path] {
			t.Errorf("no link leads from README.md to %s", d.path)
		}
	}
}

func TestUntrueWordsAreFound(t *testing.T) {
	other := document{"docs/other.md", "# Some title, with `code` in it\n"}
	for name, c := range map[string]struct {
		text string
		want int
	}{
		"a page that is there":        {"[x](rules/README.md) [y](../README.md)", 0},
		"a page that is not there":    {"[x](gone.md)", 1},
		"another site":                {"[x](https://example.com/gone.md)", 0},
		"a heading":                   {"[x](other.md#some-title-with-code-in-it)", 0},
		"a heading that is not there": {"[x](other.md#another)", 1},
		"a heading of its own":        {"# Here\n[x](#here)", 0},
		"a link within code":          {"`[x](gone.md)`\n```\n[x](gone.md)\n```\n", 0},
		"a file": {"`internal/archtest/source_test.go`, `archtest/source_test.go`, " +
			"`scripts/*`, `internal/<name>/x.go`", 0},
		"a file that is not there":       {"`internal/archtest/gone.go`, `archtest/gone.go`", 2},
		"a target":                       {"`make test`, or\n```console\n$ make build  # all\n```\n", 0},
		"a target that is not there":     {"`make tests`\n```console\n$ make everything\n```\n", 2},
		"the word make outside of code":  {"make sure", 0},
		"the word make in what it shows": {"```text\nthreads make room\n```\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := document{"docs/x.md", c.text}
			if found := untrue(d, []document{d, other, {"docs/rules/README.md", ""}, {"README.md", ""}},
				[]string{"build", "test"}); len(found) != c.want {
				t.Errorf("found %q, want %d", found, c.want)
			}
		})
	}
}
