package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// safe makes a string fit for a terminal: valid UTF-8 on one line, with nothing that moves the cursor or hides text.
func safe(s string) string { return untrusted.Sanitize(s) }

// mdSpecial holds the characters that mean something to a Markdown reader on a forge: markup, tables, HTML, mentions and references.
var mdSpecial = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#!|@~$&]|://|www\\.|^[-+=]|^[0-9]+[.)](?: |$)|-[0-9]")

// mdReference finds what a forge takes for a mention or a reference in the text of the page, when character references have become characters again:
// @team, #1, GH-1. A space without width between the two parts, which is what Renovate does, ends that; in code and pre nothing is looked for.
var mdReference = regexp.MustCompile(`([@#]|GH-)([A-Za-z0-9])`)

// md makes a string plain text in Markdown, as character references, so that it renders as itself and does nothing.
func md(s string) string {
	return strings.ReplaceAll(mdEscape(mdReference.ReplaceAllString(mdLine(s), "$1\u200b$2")), "\u200b", "&#8203;")
}

// mdLine makes a string fit for a line of Markdown: one space where there are several, which Markdown does not tell apart.
func mdLine(s string) string { return strings.Join(strings.Fields(safe(s)), " ") }

// mdEscape writes what means something as character references.
func mdEscape(s string) string {
	return mdSpecial.ReplaceAllStringFunc(s, func(m string) string {
		switch m {
		case "://":
			return "&#58;//"
		case "www.":
			return "www&#46;"
		}
		return fmt.Sprintf("&#%d;%s", m[0], m[1:])
	})
}
