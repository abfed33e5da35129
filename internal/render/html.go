package render

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/pipetune/pipetune/internal/document"
)

// pageFiles are the page's templates and its style sheet.
//
//go:embed html
var pageFiles embed.FS

// pageTemplates write a page. What they print passes shown. They are read for the first page: a watch's children have
// none.
var pageTemplates = sync.OnceValue(func() *template.Template {
	return guarded(template.Must(template.New("").Funcs(template.FuncMap{"shown": shown, "tone": toneClass}).
		ParseFS(pageFiles, "html/*.tmpl")))
})

func toneClass(t document.Tone) string {
	return map[document.Tone]string{document.Good: "good", document.Caution: "caution", document.Bad: "bad"}[t]
}

// writePage writes a page: one file that asks for nothing else. Its policy lets nothing run or load, and no style apply
// but its own, so that what stands in a report could do nothing even where escaping failed.
func writePage(w io.Writer, s Subject, _ Options) error {
	style, err := pageFiles.ReadFile("html/style.css")
	if err != nil {
		return fmt.Errorf("writing page: %w", err)
	}
	sum := sha256.Sum256(style)
	d := s.Document()
	p := wholePage{Document: d, Style: template.CSS(style),
		Policy: "default-src 'none'; img-src data:; style-src 'sha256-" +
			base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"}
	if p.Kicker = cmp.Or(d.Subject, d.Title); d.Subject == "" && d.Answer != nil &&
		strings.Contains(d.Title, d.Answer.Headline) {
		p.Kicker = "pipetune"
	}
	for i, section := range d.Sections {
		v := sectionView{Section: section, ID: fmt.Sprintf("s%d", i+1),
			Folds: section.Weight == document.Supporting || section.Weight == document.Reference}
		if v.Body, v.Open, err = writeParts(section); err != nil {
			return fmt.Errorf("writing page: %w", err)
		}
		v.Grid = section.Weight == document.Drawn && v.Open
		if v.Folds {
			p.Folded = append(p.Folded, v)
		} else {
			p.Shown = append(p.Shown, v)
		}
	}
	if err := pageTemplates().ExecuteTemplate(w, "page", p); err != nil {
		return fmt.Errorf("writing page: %w", err)
	}
	return nil
}

type wholePage struct {
	*document.Document
	Kicker        string // above the answer: what was watched
	Style         template.CSS
	Policy        string
	Shown, Folded []sectionView
}

// sectionView is a section with its parts written. One that folds stands open where it has a picture.
type sectionView struct {
	document.Section
	ID          string
	Folds, Open bool
	Grid        bool // its parts stand beside each other where there is room
	Body        template.HTML
}

func writeParts(s document.Section) (body template.HTML, pictures bool, err error) {
	w := &web{section: s.Title}
	for _, p := range s.Parts {
		p.Write(w)
	}
	return template.HTML(w.b.String()), w.pictures, w.err
}

// web is the body of a section in the making.
type web struct {
	b        strings.Builder
	section  string
	pictures bool
	err      error
}

func (w *web) put(name string, data any) {
	if err := pageTemplates().ExecuteTemplate(&w.b, name, data); err != nil && w.err == nil {
		w.err = err
	}
}

func (w *web) Facts(list document.Facts)        { w.put("facts", list) }
func (w *web) Figures(list document.Figures)    { w.put("figures", list) }
func (w *web) Findings(list *document.Findings) { w.put("findings", list) }
func (w *web) Gaps(list document.Gaps)          { w.put("gaps", list) }
func (w *web) List(list document.List)          { w.put("list", list) }
func (w *web) Note(n document.Note)             { w.put("note", n) }

func (w *web) Predictions(list *document.Predictions) {
	w.Table(list.Table())
	w.put("note", list.Tally)
}

// Code is a command to copy, or a diff.
func (w *web) Code(c document.Code) {
	type line struct{ Class, Text string }
	view := struct {
		document.Code
		Diff []line
	}{Code: c}
	if c.Language == document.Diff {
		for l := range strings.SplitSeq(c.Text, "\n") {
			class := map[string]string{"+": "added", "-": "removed"}[l[:min(1, len(l))]]
			view.Diff = append(view.Diff, line{class, l})
		}
	}
	w.put("code", view)
}

// Table is a table; where it is too wide, it is scrolled by itself.
func (w *web) Table(t *document.Table) { w.put("table", tableOf(t, w.section)) }

type tableView struct {
	*document.Table
	Label string
	Bars  bool
	Width int
	Lines []tableLine
}

type tableLine struct {
	Cells []tableCell
	Bar   string // how long it is; "" where the table has none
	Copy  string
}

type tableCell struct {
	document.Cell
	Head  bool
	Class string
}

func tableOf(t *document.Table, label string) tableView {
	v := tableView{Table: t, Label: "Table: " + label, Width: len(t.Columns)}
	for _, r := range t.Rows {
		v.Bars = v.Bars || r.Share > 0
	}
	if v.Bars {
		v.Width++
	}
	for _, r := range t.Rows {
		line := tableLine{Copy: r.Copy}
		for i, c := range r.Cells {
			cell := tableCell{Cell: c, Head: i == 0 && c.Text != ""}
			if t.Columns[i].Right {
				cell.Class = "right"
			}
			if c.Strong {
				cell.Class += " strong"
			}
			line.Cells = append(line.Cells, cell)
		}
		if v.Bars {
			line.Bar = percent(r.Share)
		}
		v.Lines = append(v.Lines, line)
	}
	return v
}
