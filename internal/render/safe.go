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

// md makes a string plain text in Markdown, as character references, so that it renders as itself and does nothing.
func md(s string) string {
	return mdSpecial.ReplaceAllStringFunc(strings.Join(strings.Fields(safe(s)), " "), func(m string) string {
		switch m {
		case "://":
			return "&#58;//"
		case "www.":
			return "www&#46;"
		}
		return fmt.Sprintf("&#%d;%s", m[0], m[1:])
	})
}
