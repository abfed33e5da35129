package render

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
)

// htmlOf is what a CommonMark parser with GitHub's extensions makes of Markdown.
func htmlOf(t *testing.T, markdown string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert([]byte(markdown), &b))
	return b.String()
}

// names are texts that look like markup and are none.
var names = []string{
	"not", "“not”", "a_b", "_a_b_", "__init__", "num_workers=4", "x_ y_", "snake_case_name and _em_", "data/*.h5", "**",
	"a*b*c", "`x` is not code",
	"1. first", "- 5 %", "-95 %", "+3", "= 2", "a < b & c > d", "~0.5", "~/data/a_file.h5", "C:\\data\\x_1", "|",
	"50 % | 60 %", "$HOME", "&amp;", "#1", "a@b.c",
	"   ```", "`````` </details>", strings.Repeat("`", 5000), "~~~", "+```\n```\n# out",
}

// TestMarkdownComesOutAsItIs: a reader sees each text as written, in a paragraph, a list, a table and code.
func TestMarkdownComesOutAsItIs(t *testing.T) {
	for _, given := range append(names, untrustedtest.Payloads...) {
		want := strings.Join(strings.Fields(string(safe(given))), " ")
		if want == "" {
			continue // nothing makes no paragraph
		}
		for around, pattern := range map[string]string{
			"%":        "(?s)^<p>(.*)</p>\n$",
			"- x: %\n": "(?s)^<ul>\n<li>x: (.*)</li>\n</ul>\n$",
			"| a | b |\n|:--|:--|\n| % | 1 |\n": "(?s)<tbody>\n<tr>\n<td [^>]*>(.*)</td>\n<td " +
				"[^>]*>1</td>\n</tr>\n</tbody>",
		} {
			got := htmlOf(t, strings.Replace(around, "%", string(md(given)), 1))
			m := regexp.MustCompile(pattern).FindStringSubmatch(got)
			if m == nil || strings.ReplaceAll(html.UnescapeString(m[1]), "\u200b", "") != want {
				t.Errorf("%.40q in %q comes out as %.200q", given, around, got)
			}
		}
		code := htmlOf(t, string(fence("sh", given)))
		if want := `<pre><code class="language-sh">` + html.EscapeString(string(safe(given))) +
			"\n</code></pre>\n"; html.UnescapeString(code) != html.UnescapeString(want) {
			t.Errorf("%.40q as code comes out as %.200q", given, code)
		}
	}
}

// TestCommandsComeOutWhole: what a report's Markdown has to copy is what its JSON has, character for character.
func TestCommandsComeOutWhole(t *testing.T) {
	r := load(t, fixtures+"/bench-gzip-chunk64.json")
	page := html.UnescapeString(htmlOf(t, written(t, "md", Report(r), Options{})))
	for _, n := range r.Next {
		if !strings.Contains(page, n+"\n") {
			t.Errorf("%q is missing in\n%s", n, page)
		}
	}
}

func TestMarkdownMakesNoReferences(t *testing.T) {
	for in, want := range map[string]string{
		"@team #1 GH-1":   "&#64;&#8203;team &#35;&#8203;1 GH-&#8203;1",
		"owner/repo#12":   "owner/repo&#35;&#8203;12",
		"a @ b":           "a &#64; b",
		"exp-2024":        "exp&#45;2024",
		"# no  heading":   "&#35; no heading",
		"x\u200b@\u200by": `x&#92;u200b&#64;&#92;u200by`, // what was there is shown, as everything invisible
	} {
		if got := string(md(in)); got != want {
			t.Errorf("md(%q) = %q, want %q", in, got, want)
		}
	}
	if got := fence("sh", "pip install a@1 #x", "a\nb"); got != "```sh\npip install a@1 #x\na\\nb\n```\n" {
		t.Errorf("commands to copy: %q", got)
	}
}
