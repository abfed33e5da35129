package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/doctor"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/untrusted"
)

func newDoctor(env Env) *cobra.Command {
	var strict bool
	c := &cobra.Command{
		Use:   "doctor",
		Short: "what can be seen here, what cannot, and the command that would change that",
		Args:  noArguments,
		RunE:  func(c *cobra.Command, _ []string) error { return runDoctor(c.Context(), env, strict) },
	}
	c.Flags().BoolVar(&strict, "strict", false, "exit 4 where something is missing")
	return c
}

func runDoctor(ctx context.Context, env Env, strict bool) error {
	runner := newRunner(false)
	defer runner.Close()
	var b strings.Builder
	missing := 0
	for _, c := range doctor.Look(ctx, runner) {
		b.WriteString(render.Wrapped(fmt.Sprintf("%-8s %-18s ", c.State, c.Name), untrusted.Sanitize(c.Detail)))
		if c.Cure != "" && c.State != doctor.OK {
			b.WriteString(render.Wrapped(fmt.Sprintf("%-27s → ", ""), untrusted.Sanitize(c.Cure)))
		}
		if c.State == doctor.Missing {
			missing++
		}
	}
	if _, err := fmt.Fprint(env.Stdout, b.String()); err != nil {
		return fail(exitUsage, "", "writing: %w", err)
	}
	if strict && missing > 0 {
		return fail(exitMissing, "", "missing here: %d of what doctor looks for", missing)
	}
	return nil
}
