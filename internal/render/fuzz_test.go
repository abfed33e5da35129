package render

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
	"github.com/pipetune/pipetune/pkg/report"
)

// FuzzWriters puts a string into a report's free strings and a comparison's names, and holds formats to their syntax.
func FuzzWriters(f *testing.F) {
	for _, p := range untrustedtest.Payloads {
		f.Add(p)
	}
	var c report.Comparison
	must.Do(f, json.Unmarshal(must.Get(os.ReadFile(comparisons+"/workers.comparison.json"))(f), &c))
	f.Fuzz(func(t *testing.T, p string) {
		path := fixtures + "/launch-classifier.json"
		checkVisible(t, "text", p, renderWith(t, path, "text", p))
		markdown := renderWith(t, path, "md", p)
		checkVisible(t, "md", p, markdown)
		checkVisible(t, "html", p, renderWith(t, path, "html", p))
		if len(markdown) > maxMarkdown {
			t.Errorf("%d bytes of Markdown", len(markdown))
		}
		if line := string(md(p)); strings.ContainsAny(line, "\n|<>`[]*@~") {
			t.Errorf("md(%q) = %q", p, line)
		}
		for i := range c.Conditions {
			c.Conditions[i].Name = p
		}
		for i := range c.Changes {
			c.Changes[i].Key, c.Changes[i].Metric = p, p
		}
		for _, format := range ComparisonFormats() {
			out := written(t, format.Name, Comparison(&c), Options{})
			if format.Name != "json" {
				checkVisible(t, format.Name, p, out)
			}
			if format.Name == "github" && strings.Count(out, "\n") != 1 {
				t.Errorf("%q is more than one command", out)
			}
		}
	})
}
