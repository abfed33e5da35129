package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/lint"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/rules"
)

func newExplain(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE | GROUP]",
		Short: "what a rule means, how it is detected, how to fix it, when it is wrong",
		Example: `  pipetune explain                            list all rules
  pipetune explain hdf5                       those about HDF5
  pipetune explain hdf5/reopened-per-item`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fail(exitUsage, "see: pipetune explain --help", "explain takes one rule, not %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return ruleIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return explain(env, args) },
	}
}

func explain(env Env, args []string) error {
	named := strings.ToLower(strings.TrimSuffix(strings.Join(args, ""), "/"))
	if r, ok := rules.Find(named); ok {
		_, err := fmt.Fprint(env.Stdout, rulePage(r))
		return err
	}
	if r, ok := lint.Find(named); ok && r.ID == named {
		_, err := fmt.Fprint(env.Stdout, prose(lint.Page(r)))
		return err
	}
	var b strings.Builder
	list := func(id, title string) {
		if group, _, _ := strings.Cut(id, "/"); named == "" || named == group {
			b.WriteString(render.Wrapped(fmt.Sprintf("%-31s ", id), title))
		}
	}
	for _, r := range rules.All() {
		list(r.ID, r.Title)
	}
	for _, r := range lint.All() {
		list(r.ID, r.Title)
	}
	if b.Len() == 0 {
		return fail(exitUsage, cmp.Or(didYouMean(named, ruleIDs()), nearestHint(named)), "unknown rule %q", args[0])
	}
	_, err := fmt.Fprint(env.Stdout, b.String())
	return err
}

var link = regexp.MustCompile(`\[([^]]+)\]\([^)]+\)`)

// rulePage is the rule's page, the one that docs/rules holds, laid out for a terminal.
func rulePage(r diagnose.Rule) string { return prose(rules.Page(r) + lint.InSource(r.ID)) }

func prose(page string) string { return render.Prose(link.ReplaceAllString(page, "$1")) }

func ruleIDs() []string {
	return append(names(rules.All(), func(r diagnose.Rule) string { return r.ID }), lintIDs()...)
}

// nearestHint names the rules that share the group or a word with what was typed.
func nearestHint(typed string) string {
	group, word, _ := strings.Cut(strings.ToLower(typed), "/")
	var near []string
	for _, id := range ruleIDs() {
		if strings.HasPrefix(id, group+"/") || word != "" && strings.Contains(id, word) || strings.Contains(id, group) {
			near = append(near, id)
		}
	}
	if len(near) == 0 || group == "" {
		return "`pipetune explain` lists all rules"
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}
