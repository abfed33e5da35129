package cli

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/lint"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/rules"
)

// What is read on a terminal whose width nobody tells is at most 80 columns wide; lines of code, commands and tables of
// an explanation stay whole.
func TestPagesAreEightyColumnsWide(t *testing.T) {
	check := func(name, page string, whole bool) {
		for line := range strings.SplitSeq(page, "\n") {
			if whole && (strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "      ") ||
				strings.HasPrefix(line, "|")) {
				continue
			}
			if n := utf8.RuneCountInString(line); n > 80 {
				t.Errorf("%s, %d columns: %s", name, n, line)
			}
		}
	}
	for _, r := range rules.All() {
		check("explain "+r.ID, rulePage(r), true)
	}
	for _, r := range lint.All() {
		check("explain "+r.ID, prose(lint.Page(r)), true)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		check(c.CommandPath()+" --help", c.Long+"\n"+c.Example, false)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(Env{}))
	var out strings.Builder
	must.Do(t, explain(Env{Stdout: &out}, nil))
	check("explain", out.String(), false)
}
