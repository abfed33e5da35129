package render

import "strings"

// Wrapped writes text on lines of at most 80 columns, the first after head and the others after as much space.
func Wrapped(head, text string) string {
	p := newPage(Options{})
	if p.wrapped(safe(head), safe(text)); p.b.Len() == 0 {
		p.line(safe(head))
	}
	return p.b.String()
}

// Prose writes Markdown for a terminal: paragraphs on lines of at most 80 columns; headings, lists and what is
// indented, as commands and code are, stay as they are, but for a line of a list that is too wide.
func Prose(text string) string {
	var b strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			b.WriteString(Wrapped("", strings.Join(paragraph, " ")))
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			flush()
			b.WriteString("\n")
		case strings.HasPrefix(line, "    "), strings.HasPrefix(line, "#"), strings.HasPrefix(line, "|"):
			flush()
			b.WriteString(line + "\n")
		case strings.HasPrefix(line, "- "):
			flush()
			b.WriteString(Wrapped("- ", line[2:]))
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return b.String()
}
