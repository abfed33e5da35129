package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pipetune/pipetune/internal/settings"
)

const isolatedFlag = "isolated"

// onesOwn are the flags that pipetune.toml of the folder may not set: the folder may be somebody else's work that was
// only fetched, and must not choose a program that runs, a file that is written, how a job ends, what is hidden or what
// is offered on the network.
var onesOwn = []string{"compare-path", "fix", "headroom", "keep", "metrics-listen", "metrics-public",
	"metrics-textfile", "no-redact", "output", "python", "remote", "scratch", "then"}

// settle sets the flags of a command that the command line has not, and says where each has its value from.
func settle(c *cobra.Command, env Env) (origins map[string]string, err error) {
	sources := []settings.Source{settings.Environment(env.Getenv)}
	if isolated, _ := c.Flags().GetBool(isolatedFlag); !isolated {
		for i, path := range settings.Paths(env.Getenv) {
			file, err := settings.Open(path)
			switch {
			case errors.Is(err, settings.ErrForeign):
				note(env.Stderr, fmt.Sprintf("settings are not read from %v", err))
			case err != nil:
				return nil, fail(exitUsage, "see: pipetune help settings", "%w", err)
			case file != nil:
				if name, known := file.Unknown(settable(c.Root())); name != "" {
					typed := name[strings.LastIndexAny(name, ".[")+1:]
					return nil, fail(exitUsage, cmp.Or(didYouMean(strings.TrimSuffix(typed, "]"), known),
						"see: pipetune help settings"),
						"%s: %s: there is no such setting", path, name)
				}
				if name := file.First(onesOwn); i == 0 && name != "" {
					return nil, fail(exitUsage, "set it in ~/.config/pipetune/config.toml, in the environment or on "+
						"the command line",
						"%s: %s: not for a folder to say, as it runs a program, writes files, ends jobs, shows what "+
							"is hidden or opens a port", path, name)
				}
				sources = append(sources, file)
			}
		}
	}
	origins, err = settings.Apply(c.Name(), c.Flags(), sources, isolatedFlag, "version")
	if err != nil {
		return nil, fail(exitUsage, "see: pipetune help settings", "%w", err)
	}
	return origins, nil
}

// sourced names, with a flag's value that a command refuses, what it was set by where that is not the command line.
func sourced(err error, origins map[string]string) error {
	var f *failure
	if !errors.As(err, &f) || f.code != exitUsage {
		return err
	}
	text, flag := strings.CutPrefix(f.Error(), "--")
	if end := strings.IndexAny(text, " :"); flag && end > 0 {
		switch origin := origins[text[:end]]; origin {
		case "", settings.Default, settings.CommandLine:
		default:
			return &failure{code: f.code, hint: f.hint, err: fmt.Errorf("%s: %w", origin, f.err)}
		}
	}
	return err
}

// settable are the flags of each command that settings can give.
func settable(root *cobra.Command) map[string][]string {
	flags := map[string][]string{}
	for _, c := range root.Commands() {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" {
				flags[c.Name()] = append(flags[c.Name()], f.Name)
			}
		})
	}
	return flags
}

func newConfig(env Env) *cobra.Command {
	config := &cobra.Command{
		Use:   "config",
		Short: "what flags are set to where the command line does not say, and by what",
		Args:  noArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	config.AddCommand(&cobra.Command{
		Use:     "show [COMMAND]",
		Short:   "each flag's value, and where it comes from",
		Example: "  pipetune config show diagnose",
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) (names []string,
			_ cobra.ShellCompDirective) {
			if len(args) == 0 {
				names = slices.Collect(maps.Keys(settable(c.Root())))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error { return showConfig(c, env, args) },
	})
	return config
}

func showConfig(c *cobra.Command, env Env, args []string) error {
	flags := settable(c.Root())
	var b strings.Builder
	for _, command := range c.Root().Commands() {
		name := command.Name()
		if len(flags[name]) == 0 || len(args) > 0 && !slices.Contains(args, name) {
			continue
		}
		if isolated, _ := c.Flags().GetBool(isolatedFlag); isolated {
			if err := command.InheritedFlags().Set(isolatedFlag, "true"); err != nil {
				return err
			}
		}
		origins, err := settle(command, env)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "[%s]\n", name)
		for _, flag := range flags[name] {
			f := command.Flags().Lookup(flag)
			fmt.Fprintf(&b, "%-16s %-20s # %s\n", flag+" =", tomlValue(f), origins[flag])
		}
		b.WriteByte('\n')
	}
	for _, name := range args {
		if len(flags[name]) == 0 {
			return fail(exitUsage, didYouMean(name, slices.Collect(maps.Keys(flags))), "%q has no settings", name)
		}
	}
	_, err := fmt.Fprint(env.Stdout, strings.TrimSuffix(b.String(), "\n"))
	return err
}

// tomlValue is a flag's value as a file of settings holds it.
func tomlValue(f *pflag.Flag) string {
	if list, ok := f.Value.(pflag.SliceValue); ok {
		quoted := []string{}
		for _, v := range list.GetSlice() {
			quoted = append(quoted, fmt.Sprintf("%q", v))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	switch f.Value.Type() {
	case "bool", "int", "int64", "uint64", "float64":
		return f.Value.String()
	}
	return fmt.Sprintf("%q", f.Value.String())
}

// didYouMean names what was meant among what there is, by cobra's measure of nearness; empty where nothing is near.
func didYouMean(typed string, names []string) string {
	list := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		list.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	near := list.SuggestionsFor(typed)
	if len(near) == 0 {
		return ""
	}
	slices.Sort(near)
	return "did you mean " + strings.Join(slices.Compact(near), ", ") + "?"
}

const settingsHelp = `A flag that the command line does not give has its value from the first of

  PIPETUNE_<FLAG>                            in capitals, with _ for -
  pipetune.toml                              in the folder it is started in
  $XDG_CONFIG_HOME/pipetune/config.toml      else ~/.config/pipetune/config.toml

and else its default. A file says what holds for each command with such a flag,
and in a table what holds for one:

  color = "never"

  [diagnose]
  duration = "60s"
  require = ["gpu"]

pipetune config show prints each value and where it comes from. A file that
another user could have written is not read, and a note says so. --isolated
reads no file. A folder may be somebody else's: its pipetune.toml may not set
` + "`compare-path`, `fix`, `headroom`, `keep`, `metrics-listen`, `metrics-public`,\n" +
	"`metrics-textfile`, `no-redact`, `output`, `python`, `remote`, `scratch` or\n`then`" + `.
`
