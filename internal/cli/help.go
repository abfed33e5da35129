package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is the widest line of a help page: a terminal's.
const helpWidth = "80"

// helpTemplate is cobra's, with the flags wrapped.
func helpTemplate(root *cobra.Command) string {
	return strings.ReplaceAll(root.UsageTemplate(), "FlagUsages |", "FlagUsagesWrapped "+helpWidth+" |")
}

// newHelp is cobra's help command, but that a page that is not there is a mistake of usage.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND | TOPIC]",
		Short: "help on a command or a topic",
		ValidArgsFunction: func(c *cobra.Command, args []string, typed string) (names []string,
			_ cobra.ShellCompDirective) {
			for _, page := range c.Root().Commands() {
				if len(args) == 0 && strings.HasPrefix(page.Name(), typed) {
					names = append(names, page.Name()+"\t"+page.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			page, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return fail(exitUsage, "pipetune help lists the commands and topics", "there is no help on %q",
					strings.Join(args, " "))
			}
			page.InitDefaultHelpFlag() // or its page would not show it
			return page.Help()
		},
	}
}
