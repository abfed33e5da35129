package render

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/pkg/report"
)

// payloads are strings that do harm where a writer forgets its syntax: terminal escapes, bidirectional overrides,
// broken UTF-8, Markdown, HTML, workflow commands, spreadsheet formulas.
var payloads = []string{
	"\n# heading", "\r\x1b[2K", "\ttab", "\b\b\b", "\x00nul", "\x1b[31mred", "\x1b]0;title\x07",
	"\x1b]8;;http://evil\x07link\x1b]8;;\x07", "\x1b]52;c;ZXZpbA==\x07",
	"\x9b31m", "\u009b31m", "\x7f", "\u202egnp.exe", "\u200bzero\u200dwidth", "\xff\xfe", "\xed\xa0\x80",
	strings.Repeat("A", 1<<16), "a|b|c", "`code`", "``two``", "```\nfence\n```",
	"````", "<img src=x onerror=alert(1)>", "</details>", "<!-- x -->", "-->", "[x](javascript:alert(1))",
	"![i](http://evil/i.png)", "@team", "#1", "::error::x", "$(touch marker)",
	"`touch marker`", "=cmd()", "+1", "-1", "@x", "end\"]", "%%{init: {}}%%", "]]>", "&lt;b&gt;", "*bold*", "_em_",
	"~~x~~", "> quote", "- list", "1. list", "| --- |", "\\", "https://evil.example",
	"www.evil.example", "a\u2028b", "\u2066iso\u2069", "{{x}}", "${x}", "'; rm -rf /; '", "\"quoted\"", "a b  c",
	" lead", "trail ", "GH-1", "owner/repo#1",
}

// TestHostileStrings puts each payload into every string of a report, and holds each format to its syntax.
func TestHostileStrings(t *testing.T) {
	for _, path := range []string{fixtures + "/reopened.json", fixtures + "/bench-gzip-chunk64.json", fixtures +
		"/bench-small-pngs.json", fixtures + "/launch-classifier.json", fixtures + "/launch-plans.json"} {
		t.Run(strings.TrimPrefix(path, fixtures), func(t *testing.T) { hostile(t, path) })
	}
}

func hostile(t *testing.T, path string) {
	skeleton, tags := mdSkeleton(renderWith(t, path, "md", "name")), pageSkeleton(renderWith(t, path, "html", "name"))
	for _, p := range payloads {
		subject := Report(poisoned(t, path, p))
		text := written(t, "text", subject, Options{})
		checkVisible(t, "text", p, text)
		if !strings.Contains(path, "reopened") {
			checkWidth(t, subject, text, usual)
		}
		markdown := written(t, "md", subject, Options{})
		checkVisible(t, "md", p, markdown)
		if got := mdSkeleton(markdown); got != skeleton && len(markdown) < maxMarkdown/2 {
			t.Errorf("payload %.30q changes the structure of the Markdown:\n%s\nnot\n%s", p, got, skeleton)
		}
		if len(markdown) > maxMarkdown {
			t.Errorf("payload %.30q: %d bytes of Markdown", p, len(markdown))
		}
		page := written(t, "html", subject, Options{})
		checkVisible(t, "html", p, page)
		if got := pageSkeleton(page); got != tags {
			t.Errorf("payload %.30q changes the structure of the page:\n%s", p, gocmp.Diff(tags, got))
		}
		if utf8.ValidString(p) {
			back, err := report.Decode(strings.NewReader(written(t, "json", subject, Options{})))
			if err != nil {
				t.Errorf("payload %.30q: JSON: %v", p, err)
			} else if got := statement(back); got != p {
				t.Errorf("payload %.30q came back from JSON as %.30q", p, got)
			}
		}
	}
}

func statement(r *report.Report) string {
	if r.Benchmark != nil {
		return r.Benchmark.Statement
	}
	return r.Verdict.Statement
}

func renderWith(t *testing.T, path, format, p string) string {
	t.Helper()
	return written(t, format, Report(poisoned(t, path, p)), Options{})
}

func poisoned(t *testing.T, path, p string) *report.Report {
	t.Helper()
	r := load(t, path)
	poison(reflect.ValueOf(r), p)
	return r
}

// poison sets every string but words of the schema's closed lists, and every label but those that tell rows apart.
func poison(v reflect.Value, p string) {
	closed := map[string]bool{"Class": true, "Resource": true, "Confidence": true, "Basis": true, "Severity": true}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), p)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if v.Type() == reflect.TypeFor[report.Measurement]() && (name == "Probe" || name == "Metric") ||
				v.Type() == reflect.TypeFor[report.Layout]() && name == "Storage" ||
				v.Type() == reflect.TypeFor[report.Plan]() && (name == "Name" || name == "Risk") ||
				v.Type() == reflect.TypeFor[report.Outlook]() && name == "Outcome" {
				continue
			}
			if !slices.Contains(closedFields, name) {
				poison(v.Field(i), p)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			poison(v.Index(i), p)
		}
	case reflect.Map:
		if labels, ok := v.Interface().(map[string]string); ok {
			for key := range labels {
				if !slices.Contains(rowLabels, key) {
					labels[key] = p
				}
			}
		}
	case reflect.String:
		if !closed[v.Type().Name()] {
			v.SetString(p)
		}
	}
}

// closedFields hold words of closed lists, or numbers' units, without a type of their own.
var closedFields = []string{"Schema", "SchemaVersion", "Kind", "Unit", "How", "Source"}

// rowLabels are left alone: were they all the same, the rows would be one.
var rowLabels = []string{report.LabelOrder, report.LabelCache, report.LabelHandle, report.LabelGather, report.LabelTier,
	report.LabelMode}

// TestHostileLabels puts each payload into every label, so that rows fall together, and bounds what comes out.
func TestHostileLabels(t *testing.T) {
	for _, p := range payloads {
		r := load(t, fixtures+"/bench-gzip-chunk64.json")
		for i := range r.Measurements {
			for key := range r.Measurements[i].Labels {
				r.Measurements[i].Labels[key] = p
			}
		}
		checkVisible(t, "md", p, written(t, "md", Report(r), Options{}))
		checkVisible(t, "html", p, written(t, "html", Report(r), Options{}))
		for _, width := range []int{0, 60, 160} {
			text := written(t, "text", Report(r), Options{Width: width, Verbose: width != usual})
			checkVisible(t, "text", p, text)
			checkWidth(t, Report(r), text, cmp.Or(width, usual))
		}
	}
}

func checkVisible(t *testing.T, format, payload, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("%s: payload %.30q makes invalid UTF-8", format, payload)
	}
	for _, c := range out {
		switch {
		case c == '\n':
		case c < 0x20, c >= 0x7f && c <= 0x9f, c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c >= 0x200b &&
			c <= 0x200f, c == 0x2028:
			t.Errorf("%s: payload %.30q lets U+%04X through", format, payload, c)
			return
		}
	}
}

// pageSkeleton is the structure of a page: its tags with what they are named by, without what they are labelled with.
func pageSkeleton(s string) string {
	s = diffs.ReplaceAllString(s, "")
	return strings.Join(tag.FindAllString(labelled.ReplaceAllString(s, ""), -1), "\n")
}

// A diff has as many lines as it has, and a label may be anything.
var (
	diffs    = regexp.MustCompile(`(?s)<pre class="diff".*?</pre>`)
	labelled = regexp.MustCompile(` (aria-label|class|x|y|width|height|d|y1|y2|x1|x2)="[^"]*"`)
)

var mdEntity = regexp.MustCompile(`&#\d+;`)

var fenceOpen = regexp.MustCompile("^```+")

// mdSkeleton is the structure of our Markdown: how each line starts, its cell borders and HTML tags, no words.
func mdSkeleton(s string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(s) {
		if fence != "" { // only a longer or equal row of backticks ends it, whatever stands inside
			if end := strings.TrimSpace(line); strings.Trim(end, "`") == "" && len(end) >= len(fence) {
				fence = ""
			}
			continue
		}
		if open := fenceOpen.FindString(line); open != "" {
			fence = open
			b.WriteString("fence\n")
			continue
		}
		line = mdEntity.ReplaceAllString(line, "x")
		b.WriteString(regexp.MustCompile(`^\s*(#+|>|-|\||<[^>]*>)?`).FindString(line))
		b.WriteString(strings.Repeat("|", strings.Count(line, "|")))
		b.WriteString(strings.Repeat("`", strings.Count(line, "`")))
		b.WriteString(strings.Join(regexp.MustCompile(`<[^>]*>|\]\(|@|://|\*\*`).FindAllString(line, -1), ""))
		b.WriteByte('\n')
	}
	return b.String()
}
