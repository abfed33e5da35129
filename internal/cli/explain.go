package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/unit"
)

func newExplain(env Env) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [RULE]",
		Short: "what a rule means, how it is detected, how to mend it, when it is wrong",
		Example: `  pipetune explain                            list all rules
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
	if len(args) == 0 {
		var b strings.Builder
		for _, r := range rules.All() {
			b.WriteString(render.Wrapped(fmt.Sprintf("%-28s ", r.ID), r.Title))
		}
		_, err := fmt.Fprint(env.Stdout, b.String())
		return err
	}
	if r, ok := rules.Find(args[0]); ok {
		_, err := fmt.Fprint(env.Stdout, rulePage(r))
		return err
	}
	return fail(exitUsage, nearestHint(args[0]), "unknown rule %q", args[0])
}

// rulePage is the rule's document with its signals and thresholds, laid out for a terminal; docs/rules holds the same in Markdown.
func rulePage(r diagnose.Rule) string {
	var b strings.Builder
	b.WriteString(render.Wrapped("", r.ID+": "+r.Title) + "\n" + render.Prose(strings.TrimSpace(r.Doc)))
	ruleWay(&b, r.Needs, r.Limits)
	if m := r.Measured; m != nil {
		b.WriteString("\nHow bench-io tells\n" + render.Prose(strings.TrimSpace(m.How)))
		ruleWay(&b, m.Needs, m.Limits)
	}
	if len(r.Explains) > 0 {
		b.WriteString("\nWhat it explains\n" + render.Wrapped("  ", strings.Join(r.Explains, ", ")))
	}
	return b.String()
}

// ruleWay is what one way of telling a cause needs, and its thresholds.
func ruleWay(b *strings.Builder, needs []metric.Desc, limits []diagnose.Limit) {
	if len(needs) > 0 {
		b.WriteString("\nNeeds\n")
		for _, n := range needs {
			b.WriteString(render.Wrapped(fmt.Sprintf("  %-30s ", n.Name), n.Help))
		}
	}
	if len(limits) > 0 {
		b.WriteString("\nThresholds\n")
		for _, l := range limits {
			b.WriteString(render.Wrapped("  ", l.Name+": "+unit.Format(l.Value, string(l.Unit))) + render.Wrapped("      ", l.Source))
		}
	}
}

func ruleIDs() (ids []string) {
	for _, r := range rules.All() {
		ids = append(ids, r.ID)
	}
	return ids
}

// mostNear is how many rules are worth naming as a guess: a group whole.
const mostNear = 16

// nearestHint names the rules that share the group or a word with what was typed.
func nearestHint(typed string) string {
	group, word, _ := strings.Cut(strings.ToLower(typed), "/")
	var near []string
	for _, id := range ruleIDs() {
		if strings.HasPrefix(id, group+"/") || word != "" && strings.Contains(id, word) || strings.Contains(id, group) {
			near = append(near, id)
		}
	}
	if len(near) == 0 || len(near) > mostNear {
		return "`pipetune explain` lists all rules"
	}
	return "did you mean " + strings.Join(near, ", ") + "?"
}
