package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/compare"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
	"github.com/pipetune/pipetune/pkg/report"
)

const comparisons = "../../testdata/comparisons"

// cases are the comparisons with goldens: reports before and after, and a gate.
var cases = []struct {
	name          string
	before, after string
	gate          float64
}{
	{"workers", comparisons + "/workers-1.json", comparisons + "/workers-2.json", 0},
	{"same", comparisons + "/workers-1.json", comparisons + "/workers-1-again.json", 0.05},
	{"slower", comparisons + "/workers-2.json", comparisons + "/workers-1.json", 0.05},
	{"released", fixtures + "/reopened.json", comparisons + "/workers-2.json", 0},
	{"bench", fixtures + "/bench-gzip-chunk64.json", comparisons + "/bench-rewritten.json", 0},
}

func compared(t *testing.T, i int) *report.Comparison {
	t.Helper()
	o := compare.Options{Tool: report.Tool{Name: "pipetune", Version: "0.3.0"}}
	if cases[i].gate > 0 {
		o.Gate = &cases[i].gate
	}
	return must.Get(compare.Run([]compare.Input{{Name: cases[i].before, Report: load(t, cases[i].before)}},
		[]compare.Input{{Name: cases[i].after, Report: load(t, cases[i].after)}}, o))(t)
}

func compareTo(t *testing.T, format string, c *report.Comparison) string {
	t.Helper()
	return written(t, format, Comparison(c), Options{})
}

// TestComparisonGolden writes each comparison in every format and holds it to the files under testdata/comparisons.
func TestComparisonGolden(t *testing.T) {
	for i, c := range cases {
		for _, f := range ComparisonFormats() {
			suffix := f.Suffix
			switch f.Name {
			case "json":
				suffix = ".comparison.json"
			case "github":
				suffix = ".github"
			}
			golden := filepath.Join(comparisons, c.name+suffix)
			t.Run(filepath.Base(golden), func(t *testing.T) {
				compareToFile(t, golden, compareTo(t, f.Name, compared(t, i)))
			})
		}
	}
}

// TestComparisonKeepsToTheContract: in Markdown the key first, one alert, one series of bars, empty lines inside
// details. TestTextKeepsToItsWidth holds its text to the width.
func TestComparisonKeepsToTheContract(t *testing.T) {
	for i := range cases {
		markdown := compareTo(t, "md", compared(t, i))
		if first, _, _ := strings.Cut(markdown, "\n"); !strings.HasPrefix(first, "<!-- pipetune:compare:v1:") ||
			!strings.HasSuffix(first, " -->") {
			t.Errorf("%s: first line %q", cases[i].name, first)
		}
		for _, what := range []string{"\n> [!", "\n### "} {
			if got := strings.Count(markdown, what); got != 1 {
				t.Errorf("%s: %d of %q, want one", cases[i].name, got, what)
			}
		}
		if bars := strings.Count(markdown, "\n    bar ["); bars > 1 {
			t.Errorf("%s: %d series of bars", cases[i].name, bars)
		}
		if strings.Count(markdown, "</summary>\n\n") != strings.Count(markdown, "<summary>") ||
			strings.Count(markdown, "\n\n</details>") != strings.Count(markdown, "<details>") {
			t.Errorf("%s: no empty lines inside details:\n%s", cases[i].name, markdown)
		}
	}
}

// TestComparisonHostile puts each payload into every string of both reports, and into every string of the comparisons
// that were made of them, and holds each format to its syntax.
func TestComparisonHostile(t *testing.T) {
	for _, c := range cases {
		hostileComparison(t, c.name, func(p string) *report.Comparison {
			b, a := load(t, c.before), load(t, c.after)
			poison(reflect.ValueOf(b), p)
			poison(reflect.ValueOf(a), p+"2")
			return must.Get(compare.Run([]compare.Input{{Name: p, Report: b}},
				[]compare.Input{{Name: "a" + p, Report: a}}, compare.Options{Tool: report.Tool{Version: p}}))(t)
		})
		path := comparisons + "/" + c.name + ".comparison.json"
		hostileComparison(t, path, func(p string) *report.Comparison {
			out := must.Read(t, path, must.JSON[report.Comparison])
			poison(reflect.ValueOf(&out), p)
			return &out
		})
	}
}

// annotated is one annotation of GitHub Actions, with a title that is ours.
var annotated = regexp.MustCompile(`^::(notice|warning|error) title=pipetune compare::[^\n]*\n$`)

func hostileComparison(t *testing.T, name string, run func(p string) *report.Comparison) {
	shape := markdownShape(t, compareTo(t, "md", run("name")))
	for _, p := range untrustedtest.Payloads {
		c := run(p)
		for _, f := range ComparisonFormats() {
			out := compareTo(t, f.Name, c)
			if f.Name == "json" {
				if err := json.Unmarshal([]byte(out), new(report.Comparison)); err != nil {
					t.Errorf("%s: payload %.30q: %v", name, p, err)
				}
				continue
			}
			checkVisible(t, f.Name, p, out)
			switch f.Name {
			case "text":
				checkWidth(t, Comparison(c), out, usual)
				if !strings.HasPrefix(p, "::") && strings.Contains("\n"+out, "\n::") {
					t.Errorf("%s: payload %.30q: a workflow command", name, p)
				}
			case "github":
				if !annotated.MatchString(out) {
					t.Errorf("%s: payload %.30q: not one annotation: %q", name, p, out)
				}
			case "md":
				checkMarkdown(t, p, shape, out, 500)
			}
		}
	}
}

// TestComparisonIsCut: what grows past a comment's limit loses its folded parts first and says so.
func TestComparisonIsCut(t *testing.T) {
	c := compared(t, 0)
	for range 600 {
		c.Changes = append(c.Changes, c.Changes[0])
	}
	c.Before.Job = strings.Repeat("x", 3000)
	out := compareTo(t, "md", c)
	if len(out) > maxMarkdown || !strings.Contains(out, "Some sections were left out") ||
		strings.Contains(out, "More figures") || !strings.Contains(out, "How it was measured") ||
		!strings.Contains(out, "samples/s") {
		t.Errorf("%d bytes: %.300s", len(out), out)
	}
	for range 400 {
		c.Conditions = append(c.Conditions, report.Condition{Name: strings.Repeat("name ", 100)})
	}
	out = compareTo(t, "md", c)
	if len(out) > maxMarkdown || !strings.Contains(out, "The rest was cut") || strings.Contains(out, "<details>") {
		t.Errorf("%d bytes: %.300s", len(out), out)
	}
}

// TestComparisonDocs holds the example in docs/compare.md to what is printed; -update writes it anew.
func TestComparisonDocs(t *testing.T) {
	const path = "../../docs/compare.md"
	const head = "<!-- workers -->\n```text\n"
	before, rest, ok := strings.Cut(string(must.Get(os.ReadFile(path))(t)), head)
	_, after, ok2 := strings.Cut(rest, "```\n")
	if !ok || !ok2 {
		t.Fatalf("%s has no example", path)
	}
	compareToFile(t, path, before+head+compareTo(t, "text", compared(t, 0))+"```\n"+after)
}
