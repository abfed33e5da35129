package render

import (
	"cmp"
	"html"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	unescaped "github.com/yuin/goldmark/renderer/html"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/untrusted/untrustedtest"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestHostileStrings puts each payload into every string of a report, and holds each format to its syntax.
func TestHostileStrings(t *testing.T) {
	for _, path := range reports(t) {
		t.Run(filepath.Base(path), func(t *testing.T) { hostile(t, path) })
	}
}

func hostile(t *testing.T, path string) {
	shape := markdownShape(t, renderWith(t, path, "md", "name"))
	tags := pageSkeleton(renderWith(t, path, "html", "name"))
	for _, p := range untrustedtest.Payloads {
		named := strings.TrimSpace(p) != "" // an empty name has no row
		subject := Report(poisoned(t, path, p))
		text := written(t, "text", subject, Options{})
		checkVisible(t, "text", p, text)
		checkVisible(t, "text, coloured", p, colourless(written(t, "text", subject, Options{Color: true})))
		if !strings.Contains(path, "reopened") {
			checkWidth(t, subject, text, usual)
		}
		checkMarkdown(t, p, shape, written(t, "md", subject, Options{}), 500)
		page := written(t, "html", subject, Options{})
		checkVisible(t, "html", p, page)
		if got := pageSkeleton(page); named && got != tags {
			t.Errorf("payload %.30q changes the structure of the page:\n%s", p, gocmp.Diff(tags, got))
		}
		told := written(t, "json", subject, Options{})
		back, err := report.Decode(strings.NewReader(told))
		if err != nil {
			t.Errorf("payload %.30q: JSON: %v", p, err)
		} else if got := statement(back); utf8.ValidString(p) && (got != p || written(t, "json", Report(back),
			Options{}) != told) {
			t.Errorf("payload %.30q came back from JSON as %.30q", p, got)
		}
	}
}

// checkMarkdown holds Markdown with a payload in it to the shape that it has with a harmless name there. With one that
// is longer than fits into each string, parts may be left out.
func checkMarkdown(t *testing.T, payload, shape, markdown string, fits int) {
	t.Helper()
	checkVisible(t, "md", payload, markdown)
	if len(markdown) > maxMarkdown {
		t.Errorf("payload %.30q: %d bytes of Markdown", payload, len(markdown))
	}
	if strings.TrimSpace(payload) == "" || len(payload) > fits && strings.Contains(markdown, "short enough") {
		return // an empty name has no row
	}
	if got := markdownShape(t, markdown); got != shape {
		t.Errorf("payload %.30q changes the structure of the Markdown:\n%s", payload, gocmp.Diff(shape, got))
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
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem(), p)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; !slices.Contains(closedFields, name) &&
				!slices.Contains(closedOf[v.Type()], name) {
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
		if !slices.Contains(closedTypes, v.Type().Name()) {
			v.SetString(p)
		}
	}
}

// closedTypes are those of words of closed lists.
var closedTypes = strings.Fields("Class Resource Confidence Basis Severity Comparability Answer Outcome GateAnswer")

// closedFields hold words of closed lists, or numbers' units, without a type of their own.
var closedFields = []string{"Schema", "SchemaVersion", "Kind", "Unit", "How", "Source"}

// closedOf are such fields of some types alone.
var closedOf = map[reflect.Type][]string{
	reflect.TypeFor[report.Measurement](): {"Probe", "Metric"},
	reflect.TypeFor[report.Layout]():      {"Storage"},
	reflect.TypeFor[report.Plan]():        {"Name", "Risk"},
	reflect.TypeFor[report.Outlook]():     {"Outcome"},
	reflect.TypeFor[report.Change]():      {"Probe", "Metric", "Method"},
	reflect.TypeFor[report.Side]():        {"Confidence"},
	reflect.TypeFor[report.Gate]():        {"Metric"},
	reflect.TypeFor[report.Prediction]():  {"Metric"},
}

// rowLabels are left alone: were they all the same, the rows would be one.
var rowLabels = []string{report.LabelOrder, report.LabelCache, report.LabelHandle, report.LabelGather, report.LabelTier,
	report.LabelMode}

// TestHostileLabels puts each payload into every label, so that rows fall together, and bounds what comes out.
func TestHostileLabels(t *testing.T) {
	for _, p := range untrustedtest.Payloads {
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
			c <= 0x200f, c == 0x2028, c == 0x2029, c == 0x61c, c == 0x2060, c == 0xfeff:
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

// parser is of CommonMark with GitHub's extensions, which keeps tags as they are.
var parser = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(unescaped.WithUnsafe()))

var (
	code = regexp.MustCompile(`(?s)<code.*?</code>`)
	// reference is what a forge takes for a mention or a reference.
	reference = regexp.MustCompile(`(?:^|[^A-Za-z0-9_/])(@[A-Za-z0-9]|#[0-9]|GH-[0-9])`)
)

// markdownShape is what must not depend on foreign text: the tags of the page that a parser makes of Markdown, and what
// its text refers to.
func markdownShape(t *testing.T, markdown string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, parser.Convert([]byte(markdown), &b))
	text := html.UnescapeString(tag.ReplaceAllString(code.ReplaceAllString(b.String(), ""), " "))
	return strings.Join(append(tag.FindAllString(b.String(), -1), reference.FindAllString(text, -1)...), "\n")
}
