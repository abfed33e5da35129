package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/lint"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/rules"
)

var (
	consoleBlock = regexp.MustCompile("(?ms)^```console$.*?^```$")
	shellBreak   = regexp.MustCompile(`;|&&|& `)
)

// printedCommands lists the calls of pipetune that a page prints to be typed, without the program's name.
func printedCommands(page string) (calls [][]string) {
	for _, block := range consoleBlock.FindAllString(page, -1) {
		for line := range strings.Lines(block) {
			typed, isTyped := strings.CutPrefix(line, "$ ")
			typed, _, _ = strings.Cut(typed, " #")
			for _, call := range shellBreak.Split(typed, -1) {
				if words := strings.Fields(strings.ReplaceAll(call, "$!", "1")); isTyped && len(words) > 0 &&
					words[0] == "pipetune" {
					calls = append(calls, words[1:])
				}
			}
		}
	}
	return calls
}

// TestPrintedCommandsAreUnderstood holds commands in the documentation to the commands, flags and rules there are.
func TestPrintedCommandsAreUnderstood(t *testing.T) {
	for _, page := range append(must.Get(filepath.Glob("../../docs/*.md"))(t), "../../README.md") {
		calls := printedCommands(string(must.Get(os.ReadFile(page))(t)))
		if filepath.Base(page) == "README.md" && len(calls) == 0 {
			t.Error("README.md prints no command")
		}
		for _, words := range calls {
			c, rest, err := newRoot(Env{}).Find(words)
			if err == nil {
				err = c.ParseFlags(rest)
			}
			if err == nil {
				err = c.ValidateArgs(c.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: pipetune %s: %v", page, strings.Join(words, " "), err)
				continue
			}
			if c.Name() == "explain" && len(c.Flags().Args()) > 0 && !slices.Contains(ruleIDs(), c.Flags().Arg(0)) {
				t.Errorf("%s: pipetune %s: there is no such rule", page, strings.Join(words, " "))
			}
		}
	}
}

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
