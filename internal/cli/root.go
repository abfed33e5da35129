package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	_ "github.com/pipetune/pipetune/internal/cli/victim" // what it does comes before main
)

// Main runs pipetune with args (without the program's name) and returns the exit code.
func Main(args []string, env Env) int {
	if len(args) > 0 && args[0] == childCommand {
		return serveChild(args[1:])
	}
	if env.Pipes != nil {
		defer env.Pipes()()
	}
	stdout := &outlet{w: env.Stdout}
	env.Stdout = stdout
	root := newRoot(env)
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		err = stdout.failure() // of a page that nobody else tells of
	}
	complain(env.Stderr, err)
	return exitCode(err)
}

func newRoot(env Env) *cobra.Command {
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
  pipetune bench-io /data/train.h5      measure how fast the dataset can be read
  pipetune explain loader/workers-too-few`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.Flags().Bool("version", false, "the same as pipetune version")
	root.Version = version
	root.SetVersionTemplate(versionText())
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fail(exitUsage, "see: "+c.CommandPath()+" --help", "%w", readable(err))
	})
	root.AddCommand(newDiagnose(env), newBench(env), newCompare(env), newReport(env), newExplain(env), newDoctor(env), newDemo(env), newVersion(env))
	root.SetHelpCommand(newHelp())
	root.SetUsageTemplate(helpTemplate(root))
	root.AddCommand(topic("exit-codes", "the exit codes", exitCodesHelp), topic("environment", "environment variables", environmentHelp))
	return root
}

// topic is a page that only `pipetune help NAME` shows.
func topic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: strings.TrimRight(text, "\n")}
}

// fromEnvironment gives each flag that was not set on the command line the value of PIPETUNE_<FLAG>, where there is one.
func fromEnvironment(flags *pflag.FlagSet, getenv func(string) string) error {
	var first error
	flags.VisitAll(func(f *pflag.Flag) {
		name := "PIPETUNE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := getenv(name)
		if f.Changed || value == "" || first != nil || f.Name == "help" {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			first = fail(exitUsage, "see: pipetune help environment", "environment variable %s: %w", name, readable(err))
		}
	})
	return first
}

// noArguments is cobra.NoArgs with a hint.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fail(exitUsage, "see: "+c.CommandPath()+" --help", "unexpected argument %q", args[0])
	}
	return nil
}

// oneOf checks a flag's value against its list.
func oneOf(flag, value string, list ...string) error {
	for _, l := range list {
		if value == l {
			return nil
		}
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
