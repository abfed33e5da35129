package render

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// visible is text that may stand on a terminal: valid UTF-8 on one line, with nothing that moves the cursor or hides
// text. Only safe makes one of a string; what a writer puts in itself are constants.
type visible string

func safe(s string) visible { return visible(untrusted.Sanitize(s)) }

// markup is Markdown. Only md and fence make it of a string.
type markup string

// mdSpecial holds what means something to a Markdown reader on a forge: markup, tables, HTML, mentions and references.
var mdSpecial = regexp.MustCompile("[\\\\`*_{}\\[\\]<>#!|@~$&]|://|www\\.|^[-+=]|^[0-9]+[.)](?: |$)|-[0-9]")

// mdReference finds what a forge takes for a mention or a reference in the text of the page, when character references
// have become characters again: @team, #1, GH-1. A space without width between the two parts, which is what Renovate
// does, ends that.
var mdReference = regexp.MustCompile(`([@#]|GH-)([A-Za-z0-9])`)

// md makes a string plain text in Markdown on one line: what means something becomes a character reference, so that it
// renders as itself and does nothing. Several spaces are one, which Markdown does not tell apart.
func md(s string) markup {
	s = strings.Join(strings.Fields(string(safe(s))), " ")
	s = mdReference.ReplaceAllString(s, "$1\u200b$2")
	var b strings.Builder
	end := 0
	for _, m := range mdSpecial.FindAllStringIndex(s, -1) {
		b.WriteString(s[end:m[0]])
		end = m[1]
		switch special := s[m[0]:m[1]]; {
		case special == "_" && within(s, m[0]):
			b.WriteByte('_')
		case special == "://":
			b.WriteString("&#58;//")
		case special == "www.":
			b.WriteString("www&#46;")
		default:
			fmt.Fprintf(&b, "&#%d;%s", special[0], special[1:])
		}
	}
	return markup(strings.ReplaceAll(b.String()+s[end:], "\u200b", "&#8203;"))
}

// within reports whether the byte at i stands between two letters or digits: an underscore there is none of emphasis
// (GitHub Flavored Markdown, section 6.4), and num_workers reads better as it is.
func within(s string, i int) bool {
	word := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
	return i > 0 && i+1 < len(s) && word(s[i-1]) && word(s[i+1])
}

// fence makes lines a block of code, in a row of backticks longer than any in it, so that nothing in it ends the
// block.
func fence(language string, lines ...string) markup {
	text := ""
	for _, l := range lines {
		text += string(safe(l)) + "\n"
	}
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return markup(ticks + language + "\n" + text + ticks + "\n")
}
