package render

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/document"
)

// maxMarkdown keeps a document under the 65,536 characters forges accept in a comment.
const maxMarkdown = 60_000

// markdown lays a document out to be pasted into a pull request: a key for bots, one heading, one alert, what every
// reader needs, and the rest folded away. Folded parts are dropped, last first, where the whole would grow past what a
// comment may hold.
func markdown(d *document.Document, _ Options) string {
	m := &mdWriter{}
	m.head(d)
	var folded, reference []string
	for _, s := range d.Sections {
		switch s.Weight {
		case document.Main:
			m.section(s)
		case document.Supporting:
			folded = append(folded, details(s))
		case document.Drawn:
		default:
			reference = append(reference, details(s))
		}
	}
	if d.Try != "" {
		m.put("\nTry it:\n\n", fence("python", d.Try))
	}
	if len(d.Next) > 0 {
		m.put("\nNext:\n\n", fence("sh", d.Next...))
	}
	all := document.List(slices.Concat(d.Method, d.Setup))
	how := document.Section{Title: "How it was measured", Parts: []document.Part{all}}
	folded = append(append(folded, details(how)), reference...)
	return fitComment(m.b.String(), folded, "\n<sub>"+string(md(d.Origin))+"</sub>\n")
}

// fitComment puts a comment together and keeps it under maxMarkdown: folded parts go first, the last of them before
// the others, then the end of the body.
func fitComment(body string, folded []string, foot string) string {
	cut, size := "", 0
	for _, part := range folded {
		size += len(part)
	}
	for ; len(folded) > 0 && len(body)+len(foot)+size+len(cut) > maxMarkdown; folded = folded[:len(folded)-1] {
		size -= len(folded[len(folded)-1])
		cut = "\nSome sections were left out to keep this comment short enough.\n"
	}
	if len(body)+len(foot)+len(cut) > maxMarkdown {
		cut = "\nThe rest was cut to keep this comment short enough.\n"
		body = strings.ToValidUTF8(body[:maxMarkdown-len(foot)-len(cut)], "")
		body = body[:strings.LastIndexByte(body, '\n')+1]
	}
	return body + strings.Join(folded, "") + cut + foot
}

type mdWriter struct{ b strings.Builder }

func (m *mdWriter) put(parts ...markup) {
	for _, p := range parts {
		m.b.WriteString(string(p))
	}
}

// alerts are GitHub's alerts by the tone of what they say.
var alerts = map[document.Tone]markup{document.Plain: "NOTE", document.Good: "TIP", document.Caution: "WARNING",
	document.Bad: "WARNING"}

// headingColumns keeps a heading to one line of a comment.
const headingColumns = 200

// notKey is what a key may not hold, so that nothing ends its HTML comment, and keyLength how long it may be.
var notKey = regexp.MustCompile(`[^a-z0-9:-]|--+`)

const keyLength = 60

func (m *mdWriter) head(d *document.Document) {
	key := notKey.ReplaceAllString(d.Key, "")
	m.put("<!-- pipetune:", markup(key[:min(keyLength, len(key))]), " -->\n")
	m.put("### ", md(string(cut(safe(d.Title), headingColumns))), "\n")
	if a := d.Answer; a != nil {
		m.put("\n> [!", alerts[d.Tone], "]\n> **", md(a.Short))
		if a.Aside != "" {
			m.put("** (", md(a.Aside), ").")
		} else {
			m.put(".**")
		}
		for _, text := range []string{a.Why, a.Figure} {
			if text != "" {
				m.put(" ", md(text))
			}
		}
		m.put("\n")
		for _, l := range a.Lines {
			if l.Tone == document.Plain {
				m.put("> ", md(l.Label), ": ", md(l.Text), "\n")
			} else {
				m.put(">\n> **", md(l.Label), " ", md(l.Text), "**\n")
			}
		}
		for _, l := range a.Lines {
			if l.Copy != "" {
				m.put("\n", md(l.Label), ":\n\n", fence("sh", l.Copy))
			}
		}
	}
	if t := d.Trust; t != nil {
		m.put("\n**", md(t.Label), "**: ", md(t.Text), ".\n")
		for i, x := range t.Points {
			if i == 0 {
				m.put("\n")
			}
			m.put("- ")
			if x.Breaks {
				m.put("**breaks**: ")
			}
			m.put(md(x.Name), ": ", md(x.Before), " → ", md(x.After), " (", md(x.Consequence), ")\n")
		}
	}
}

func title(s document.Section) markup {
	if s.About == "" {
		return md(s.Title)
	}
	return md(s.Title + ", " + s.About)
}

func (m *mdWriter) section(s document.Section) {
	if s.Title != "" {
		m.put("\n**", title(s), "**\n")
	}
	m.parts(s)
}

// parts writes a section's parts, each after an empty line.
func (m *mdWriter) parts(s document.Section) {
	for _, p := range s.Parts {
		part := &mdWriter{}
		if p.Write(part); part.b.Len() > 0 {
			m.put("\n", markup(part.b.String()))
		}
	}
}

// details folds a section away, with empty lines around the Markdown in it.
func details(s document.Section) string {
	m := &mdWriter{}
	m.put("\n<details>\n<summary>", title(s), "</summary>\n")
	m.parts(s)
	m.put("\n</details>\n")
	return m.b.String()
}

func (m *mdWriter) Facts(list document.Facts) {
	for _, f := range list {
		m.put("- ", md(f.Name), ": ", md(f.Text), "\n")
	}
}

// Table puts the commands of its rows below it.
func (m *mdWriter) Table(t *document.Table) {
	rule := markup("")
	for _, c := range t.Columns {
		m.put("| ", md(c.Name), " ")
		if c.Right {
			rule += "|--:"
		} else {
			rule += "|:--"
		}
	}
	m.put("|\n", rule, "|\n")
	commands := &mdWriter{}
	name := "" // of rows that belong together it stands in the first
	for _, r := range t.Rows {
		for _, c := range r.Cells {
			m.put("| ", cell(c), " ")
		}
		m.put("|\n")
		if text := r.Cells[0].Text; text != "" {
			name = text
		}
		if r.Copy != "" {
			commands.put("\n", md(name), ":\n\n", fence("sh", r.Copy))
		}
	}
	m.put(markup(commands.b.String()))
}

func cell(c document.Cell) markup {
	text := md(c.Text)
	if c.Interval != "" {
		text += " (" + md(c.Interval) + ")"
	}
	if c.Strong {
		return "**" + text + "**"
	}
	return text
}

func (m *mdWriter) Figures(list document.Figures) { m.Table(list.Table()) }

func (m *mdWriter) Bars(list document.Bars) { m.Table(list.Table()) }

// Chart is in the language of mermaid: names are quoted, and hold no quotes.
func (m *mdWriter) Chart(c *document.Chart) {
	var names, bars []string
	for i, x := range c.Bars {
		names = append(names, quoted(c.Names[i]))
		bars = append(bars, strconv.FormatFloat(x, 'f', c.Digits, 64))
	}
	m.put(fence("mermaid", "xychart-beta", "    title "+quoted(c.Title), "    x-axis ["+strings.Join(names, ", ")+"]",
		"    y-axis "+quoted(c.Unit)+" 0 --> "+strconv.FormatFloat(c.Top, 'f', -1, 64),
		"    bar ["+strings.Join(bars, ", ")+"]"))
}

// The other pictures are left out: what they are of stands in words and tables, and a forge draws none of them.
func (m *mdWriter) Plot(*document.Plot)     {}
func (m *mdWriter) Strips(*document.Strips) {}
func (m *mdWriter) Ranges(*document.Ranges) {}
func (m *mdWriter) Chunks(*document.Chunks) {}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, "'") + `"` }

func (m *mdWriter) Findings(list *document.Findings) {
	if len(list.List) == 0 {
		m.put("No findings.\n")
		return
	}
	m.put(md(list.Order), "\n\n")
	commands := &mdWriter{}
	for _, f := range list.List {
		m.put("- **", md(f.Rule), "** (", md(f.Severity), ")")
		if f.Place != "" {
			m.put(" at ", md(f.Place))
		}
		if f.Effect != "" {
			m.put(" → ", md(f.Effect), ", ", md(f.Basis))
		}
		m.put("\n  ", md(f.Summary), "\n")
		for _, c := range f.Changes {
			m.put("  - ", md(c.Text), "\n")
			if c.Command != "" {
				commands.put("\n", md(f.Rule), ":\n\n", fence("sh", c.Command))
			}
		}
		for _, n := range f.Unhelpful {
			m.put("  - Will not help: ", md(n), "\n")
		}
	}
	m.put(markup(commands.b.String()))
	if list.Joint != "" {
		m.put("\nTogether: ", md(list.Joint), ".\n")
	}
}

func (m *mdWriter) Gaps(list document.Gaps) {
	for _, g := range list {
		m.put("- ", md(g.Names), ": ", md(g.Reason))
		if g.Cure != "" {
			m.put(" (", md(g.Cure), ")")
		}
		m.put("\n")
	}
}

func (m *mdWriter) Predictions(list *document.Predictions) {
	m.Table(list.Table())
	m.put("\n", md(list.Tally), "\n")
}

func (m *mdWriter) List(list document.List) {
	for _, text := range list {
		m.put("- ", md(text), "\n")
	}
}

func (m *mdWriter) Note(n document.Note) { m.put(md(string(n)), "\n") }

func (m *mdWriter) Code(c document.Code) {
	if c.Label != "" {
		m.put(md(c.Label), ":\n\n")
	}
	m.put(fence(string(c.Language), strings.Split(c.Text, "\n")...))
}
