package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	_ "github.com/pipetune/pipetune/internal/cli/oomscore" // what it does comes before main
	"github.com/pipetune/pipetune/internal/settings"
)

// Main runs pipetune with args (without the program's name) and returns the exit code.
func Main(args []string, env Env) int {
	if len(args) > 0 && args[0] == childCommand {
		return serveChild(args[1:])
	}
	if env.Pipes != nil {
		defer env.Pipes()()
	}
	stdout := &stdoutWriter{w: env.Stdout}
	env.Stdout = stdout
	root := newRoot(env)
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		err = stdout.failure() // of a page that nobody else reports
	}
	complain(env.Stderr, err)
	return exitCode(err)
}

// Tree is all commands with their texts and flags, for manual pages. What they do is not to be run.
func Tree() *cobra.Command { return newRoot(Env{}) }

func newRoot(env Env) *cobra.Command {
	var origins map[string]string // of the flags of the command that is executed
	root := &cobra.Command{
		Use:   "pipetune",
		Short: "why the GPU starves during training, and what to change to which value",
		Long: `pipetune tells why your GPU starves during training, and what to change to
which value: it watches a running training job from outside, or starts the job
and times each step from inside, with no code change, no root and no tracing,
finds what holds it back, and predicts what each change would bring.`,
		Example: `  pipetune diagnose                     find my training job, watch it, report
  pipetune diagnose --pid 41207         watch this one
  pipetune diagnose -- python train.py  start it, report when it has ended
  pipetune top                          watch it live, full screen
  pipetune bench-io /data/train.h5      measure how fast the dataset can be read
  pipetune explain loader/workers-too-few`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if len(settable(c.Root())[c.Name()]) == 0 {
				return nil
			}
			var err error
			origins, err = settle(c, env)
			return err
		},
	}
	root.Flags().Bool("version", false, "the same as pipetune version")
	root.Version = version
	root.SetVersionTemplate(versionText())
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.PersistentFlags().Bool(isolatedFlag, false, "read no file of settings")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if args := c.Flags().Args(); c == root && len(args) > 0 {
			return unknownCommand(args[0]) // whose flags these are
		}
		hint := "see: " + c.CommandPath() + " --help"
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1 {
			var names []string
			c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			hint = cmp.Or(didYouMean("--"+unknown.GetSpecifiedName(), names), hint)
		}
		return fail(exitUsage, hint, "%w", settings.Readable(err))
	})
	root.AddCommand(newDiagnose(env, &diagnoseOptions{}), newTune(env), newTop(env), newBench(env), newCompare(env),
		newMerge(env), newSlurm(env), newReport(env), newExplain(env), newLint(env), newDoctor(env), newDemo(env),
		newConfig(env), newVersion(env))
	for _, c := range root.Commands() {
		if run := c.RunE; run != nil {
			c.RunE = func(c *cobra.Command, args []string) error { return sourced(run(c, args), origins) }
		}
	}
	root.SetHelpCommand(newHelp())
	// cobra's, with the flags wrapped at a terminal's usual width
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages |", "FlagUsagesWrapped 80 |"))
	root.AddCommand(topic("exit-codes", "the exit codes", exitCodesHelp),
		topic("environment", "environment variables", environmentHelp),
		topic("settings", "values of flags in the environment and in files", settingsHelp))
	return root
}

func unknownCommand(name string) error {
	return fail(exitUsage, cmp.Or(didYouMean(name, Commands()), "see: pipetune --help"), "unknown command %q", name)
}

// topic is a page that only `pipetune help NAME` shows.
func topic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: strings.TrimRight(text, "\n")}
}

// expect refuses arguments that are not what a command takes.
func expect(fits func(args []string) bool, hint, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if !fits(args) {
			return fail(exitUsage, hint, "%s", text)
		}
		return nil
	}
}

// noArguments is cobra.NoArgs with a hint.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fail(exitUsage, "see: "+c.CommandPath()+" --help", "unexpected argument %q", args[0])
	}
	return nil
}

func complete(c *cobra.Command, flag string, values ...string) {
	// It cannot fail for a flag that was just defined.
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func oneOf(flag, value string, list ...string) error {
	if slices.Contains(list, value) {
		return nil
	}
	return fail(exitUsage, "", "--%s %q: must be one of %s", flag, value, strings.Join(list, ", "))
}

// Commands lists the names of all commands a person can give.
func Commands() (names []string) {
	for _, c := range newRoot(Env{}).Commands() {
		if c.Runnable() {
			names = append(names, c.Name())
		}
	}
	return names
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
