package render

import (
	"strings"

	"github.com/pipetune/pipetune/internal/document"
	"github.com/pipetune/pipetune/pkg/report"
)

// text lays a document out for a terminal: the answer and what to do next first, then the sections, then lines to copy
// and how it was measured.
func text(d *document.Document, o Options) string {
	p := newPage(o)
	p.answer(d)
	for _, s := range d.Sections {
		if s.Weight == document.Main || s.Weight == document.Supporting && (o.Verbose || d.More == "") {
			p.section(s)
		}
	}
	p.closing(d, o.Verbose)
	return p.b.String()
}

// labels is the least width of the names in front of the lines at the top.
const labels = 9

func (p *page) answer(d *document.Document) {
	n := labels
	if d.Subject != "" {
		p.wrapped("", safe(d.Subject))
		p.gap()
	}
	if t := d.Trust; t != nil {
		n = max(n, len(t.Label)+2)
		p.painted(styles[t.Tone], label(t.Label, n), safe(t.Text))
		for _, x := range t.Points {
			mark := visible(" ! ")
			if x.Breaks {
				mark = " x "
			}
			p.wrapped(mark, safe(x.Name)+": "+safe(x.Before)+" → "+safe(x.After))
			p.wrapped("     ", safe(x.Consequence))
		}
	}
	if a := d.Answer; a != nil {
		if head := label(a.Label, n) + safe(a.Headline); a.Aside != "" && columns(head) <= p.width {
			p.apart(bold, head, safe(a.Aside))
		} else {
			p.painted(bold, label(a.Label, n), safe(a.Headline))
			if a.Aside != "" {
				p.line(spaces(n), safe(a.Aside))
			}
		}
		if a.Why != "" {
			p.wrapped(pad("Why", n), safe(a.Why))
		}
		for _, l := range a.Lines {
			if l.Tone == document.Plain {
				p.wrapped(pad(safe(l.Label), n), safe(l.Text))
				p.copied(spaces(n), l.Copy)
			}
		}
		if len(d.Next) > 0 {
			p.line(pad("Next", n), safe(d.Next[0]))
		}
	}
}

// label is a name in front of a line that matters most.
func label(name string, n int) visible { return pad(safe(strings.ToUpper(name)), n) }

func (p *page) section(s document.Section) {
	p.gap()
	title := safe(strings.ToUpper(s.Title))
	if list, ok := s.Parts[0].(*document.Findings); ok && len(list.List) == 0 {
		title += "    none"
	}
	if title != "" {
		p.apart(bold, title, safe(s.About))
	}
	for _, part := range s.Parts {
		part.Write(p)
	}
}

func (p *page) closing(d *document.Document, verbose bool) {
	if d.Answer != nil {
		for _, l := range d.Answer.Lines {
			if l.Tone != document.Plain { // where it is read last
				p.gap()
				p.painted(styles[l.Tone], label(l.Label, len(l.Label)+2), safe(l.Text))
			}
		}
	}
	p.gap()
	short := d.More != "" && !verbose // then the change stands at the top already
	if d.Try != "" && !short {
		p.wrapped("Try it:   ", safe(d.Try))
	}
	for i, n := range d.Next {
		if i > 0 || d.Answer == nil { // the first stands at the top
			p.line("Then:     ", safe(n))
		}
	}
	if short {
		p.wrapped("More:     ", "--verbose has "+safe(d.More))
	}
	for _, l := range d.Method {
		p.painted(dim, "", safe(l))
	}
}

func (p *page) Facts(list document.Facts) {
	names := 0
	for _, f := range list {
		names = max(names, columns(safe(f.Name)))
	}
	names = min(names, p.width/3)
	for _, f := range list {
		text := safe(f.Text)
		if !strings.Contains(f.Text, " ") { // a path: its ends say most
			text = cut(text, p.width-names-4)
		}
		p.wrapped("  "+pad(cut(safe(f.Name), names), names)+"  ", text)
	}
}

func (p *page) Figures(list document.Figures) {
	if p.width < usual {
		p.Table(list.Table())
		return
	}
	w := figureWidths(list)
	p.line(p.paint(dim, spaces(w[0])+pad("now", w[1])+pad("95 % CI", w[2])+"no wait (modelled)"))
	for _, f := range list {
		p.line(pad(safe(f.Name), w[0]), pad(safe(f.Now), w[1]), pad(safe(f.Interval), w[2]), safe(f.Free))
	}
}

// figureWidths are the widths of the first three columns. A name that says where its figure is from may need more than
// its share: it takes what the two columns beside it leave, so that the lines stay as long as they are.
func figureWidths(list document.Figures) [3]int {
	longest := [3]int{0, len("now"), len("95 % CI")}
	for _, f := range list {
		for i, s := range [3]string{f.Name, f.Now, f.Interval} {
			longest[i] = max(longest[i], columns(safe(s)))
		}
	}
	name := max(26, longest[0]+1)
	now := max(longest[1]+1, min(13, 39-name))
	return [3]int{name, now, max(longest[2]+1, min(20, 59-name-now))}
}

func (p *page) Bars(list document.Bars) {
	names, long := 24, 22
	if !list.Detailed() {
		long = 30
	}
	if over := usual - p.width; over > 0 {
		names, long = names-max(0, over-(long-leastBar)), max(leastBar, long-over)
	}
	for _, b := range list {
		p.line("  ", pad(cut(safe(b.Name), names), names), bar(b.Ratio, long), "  ", padLeft(safe(b.Share), 6), "  ",
			pad(safe(b.Each), 14), safe(b.Basis))
	}
}

// Pictures are left out: what they are of a terminal has in words and tables.
func (p *page) Chart(*document.Chart)   {}
func (p *page) Plot(*document.Plot)     {}
func (p *page) Strips(*document.Strips) {}
func (p *page) Ranges(*document.Ranges) {}
func (p *page) Chunks(*document.Chunks) {}

// marks are the symbols of findings by their severity; the word stands in the other formats.
var marks = map[document.Tone]struct{ symbol, style visible }{
	document.Bad: {"x", red}, document.Caution: {"!", yellow}, document.Plain: {"i", dim},
}

func (p *page) Findings(list *document.Findings) {
	for _, f := range list.List {
		m := marks[f.Tone]
		effect := visible("")
		if f.Effect != "" {
			effect = "→ " + safe(f.Effect)
		}
		p.apart(m.style, " "+m.symbol+" "+safe(f.Rule), effect)
		if f.Place != "" {
			p.wrapped("     at ", safe(f.Place))
		}
		p.wrapped("     ", safe(f.Summary))
		for _, c := range f.Changes {
			p.wrapped("     → ", safe(c.Text))
			p.copied("       ", c.Command)
		}
		for _, n := range f.Unhelpful {
			p.wrapped("     ✗ ", safe(n))
		}
	}
	if list.Joint != "" {
		p.wrapped(" ", "together: "+safe(list.Joint))
	}
}

func (p *page) Gaps(list document.Gaps) {
	for _, g := range list {
		p.wrapped("  ", safe(g.Reason))
		if g.Cure != "" {
			p.wrapped("    → ", safe(g.Cure))
		}
		p.wrapped("    not judged ", safe(g.Names))
	}
}

func (p *page) Predictions(list *document.Predictions) {
	for _, x := range list.List {
		p.wrapped("  ", safe(x.Change))
		p.wrapped("     ", "predicted "+safe(x.Predicted)+", observed "+safe(x.Observed))
		p.painted(styles[x.Tone], "     ", safe(x.Outcome))
	}
	p.wrapped("  ", safe(list.Tally))
}

func (p *page) List(list document.List) {
	for _, text := range list {
		p.Note(document.Note(text))
	}
}

func (p *page) Note(n document.Note) { p.wrapped("  ", safe(string(n))) }

func (p *page) Code(c document.Code) {
	if c.Language != document.Diff {
		p.command(c)
		return
	}
	for l := range strings.SplitSeq(c.Text, "\n") {
		style := map[string]visible{"+": green, "-": red}[l[:min(1, len(l))]]
		p.line("    ", p.paint(style, safe(l)))
	}
}

// copied writes a command that goes with what stands above it on a line of its own.
func (p *page) copied(before visible, command string) {
	if command != "" {
		p.line(before, safe(command))
	}
}

// command writes a shell command so that it can be copied. After && a shell reads on in the next line.
func (p *page) command(c document.Code) {
	first, text := visible("    "), safe(c.Text)
	if c.Label != "" {
		first = "  " + safe(c.Label) + ":  "
	}
	before, after, several := strings.Cut(string(text), " && pipetune ")
	if several && columns(first+text) > p.width {
		p.line(first, visible(before), " &&")
		p.line(spaces(columns(first)), "pipetune ", visible(after))
		return
	}
	p.line(first, text)
}

// Answer writes the answer of a report and nothing else, as the first lines of its text.
func Answer(r *report.Report, o Options) string {
	p, d := newPage(o), document.Of(r, nil)
	d.Subject = ""
	p.answer(d)
	return p.b.String()
}
