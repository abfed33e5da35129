package render

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/document"
)

// words is a format made for a test: the words of a document's parts. It is all that a new format has to be.
type words struct{ all []string }

func (w *words) Facts(list document.Facts) {
	for _, f := range list {
		w.all = append(w.all, f.Name, f.Text)
	}
}

func (w *words) Table(t *document.Table) {
	for _, c := range t.Columns {
		w.all = append(w.all, c.Name)
	}
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			w.all = append(w.all, c.Text)
		}
		w.all = append(w.all, r.Copy)
	}
}

func (w *words) Figures(list document.Figures) {
	for _, f := range list {
		w.all = append(w.all, f.Name, f.Now, f.Interval, f.Free)
	}
}

func (w *words) Bars(list document.Bars) {
	for _, b := range list {
		w.all = append(w.all, b.Name, b.Share, b.Each, b.Basis)
	}
}

// What pictures show stands in words as well.
func (w *words) Chart(*document.Chart)   {}
func (w *words) Plot(*document.Plot)     {}
func (w *words) Strips(*document.Strips) {}
func (w *words) Ranges(*document.Ranges) {}
func (w *words) Chunks(*document.Chunks) {}

func (w *words) Findings(list *document.Findings) {
	for _, f := range list.List {
		w.all = append(w.all, f.Rule, f.Place, f.Effect, f.Summary)
		for _, c := range f.Changes {
			w.all = append(w.all, c.Text, c.Command)
		}
		w.all = append(w.all, f.Unhelpful...)
	}
	w.all = append(w.all, list.Joint)
}

func (w *words) Gaps(list document.Gaps) {
	for _, g := range list {
		w.all = append(w.all, g.Reason, g.Cure, g.Names)
	}
}

func (w *words) Predictions(list *document.Predictions) {
	for _, x := range list.List {
		w.all = append(w.all, x.Change, x.Predicted, x.Observed, x.Outcome)
	}
	w.all = append(w.all, list.Tally)
}

func (w *words) List(list document.List) { w.all = append(w.all, list...) }
func (w *words) Note(n document.Note)    { w.all = append(w.all, string(n)) }
func (w *words) Code(c document.Code)    { w.all = append(w.all, c.Label, c.Text) }

// tag is one of a page's tags.
var tag = regexp.MustCompile(`<[^>]*>`)

// TestFormatsShowTheWholeDocument holds text, Markdown and page to the words of the document; what is for reference
// only, text may leave out, and what is drawn only a page has.
func TestFormatsShowTheWholeDocument(t *testing.T) {
	var subjects []Subject
	for _, path := range reports(t) {
		subjects = append(subjects, Report(load(t, path)))
	}
	for i := range cases {
		subjects = append(subjects, Comparison(compared(t, i)))
	}
	bare := func(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), "")) }
	for _, s := range subjects {
		d := s.Document()
		formats := map[string]string{"text": bare(written(t, "text", s, Options{Width: 2000, Verbose: true})),
			"md":   bare(strings.ReplaceAll(html.UnescapeString(written(t, "md", s, Options{})), "\u200b", "")),
			"html": bare(html.UnescapeString(tag.ReplaceAllString(written(t, "html", s, Options{}), "")))}
		for _, section := range d.Sections {
			w := &words{all: []string{section.Title, section.About}}
			for _, p := range section.Parts {
				p.Write(w)
			}
			for name, got := range formats {
				if name == "text" && section.Weight == document.Reference || name != "html" &&
					section.Weight == document.Drawn {
					continue
				}
				for _, text := range w.all {
					if !strings.Contains(got, bare(text)) {
						t.Errorf("%s of %q: %q of %q is missing", name, d.Title, text, section.Title)
					}
				}
			}
		}
	}
}
