package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/pkg/report"
)

// merging is what a person asked merge for.
type merging struct {
	showing
	job    string
	strict bool
}

func newMerge(env Env) *cobra.Command {
	var o merging
	c := &cobra.Command{
		Use:   "merge FILES...",
		Short: "the reports of one job's nodes, joined",
		Long: `merge joins the reports of one job's nodes, one file for each: how each figure
is spread over nodes and ranks, which rank lacks data while most do not, and
which nodes there is no report of. Only what was watched at the same time is
held against each other. A file that cannot be read, was watched at another
time, or holds a run that another file has, is named and left out; the reports
of two jobs are refused, unless --job says which. Recordings (.jsonl) are read
as well.`,
		Example: `  srun --jobid=4711 --overlap -N 4 -n 4 pipetune diagnose -o 'nodes/%n.json'
  pipetune merge nodes/*.json
  pipetune merge nodes/*.json -o job.md -o job.json`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fail(exitUsage, "pipetune merge nodes/*.json", "merge needs the reports of a job's nodes")
			}
			format, outs, err := o.check(render.Formats(), false)
			if err != nil {
				return err
			}
			return o.run(env, args, format, outs)
		},
	}
	c.Flags().StringVar(&o.job, "job", "", "merge only reports of this job: its `ID`, or the name of its script")
	o.addFlags(c)
	return c
}

// addFlags gives a command the flags of how it shows what was merged.
func (o *merging) addFlags(c *cobra.Command) {
	o.showing.addFlags(c, render.Formats())
	c.Flags().BoolVar(&o.strict, "strict", false, "exit 3 where a node is missing or a file is left out")
}

// run reads, merges and shows.
func (o *merging) run(env Env, paths []string, format render.Format, outs []output) error {
	list, left := saved.LoadNodes(paths)
	return o.join(env, list, left, len(paths), format, outs, func(*report.Merged) {})
}

// join merges and shows what was read of so many files. amend has the last word on what is shown.
func (o *merging) join(env Env, list []*merge.Watch, left []report.LeftOut, files int, format render.Format,
	outs []output, amend func(*report.Merged)) error {
	m, err := merge.Run(list, merge.Options{Tool: ofTool(), Job: o.job, Left: left})
	switch {
	case errors.Is(err, merge.ErrMixed):
		return fail(exitUsage, "name the one to merge: --job ID", "%w", err)
	case err != nil:
		for _, l := range left[:min(len(left), 5)] {
			note(env.Stderr, l.File+": "+l.Why)
		}
		of := ""
		if o.job != "" {
			of = " for job " + o.job
		}
		return fail(exitUsage, "give the .json reports that pipetune diagnose -o wrote on the nodes",
			"%w: of %d files none can be merged%s", err, files, of)
	}
	amend(m)
	if err := deliver(env, render.Merged(m), format, o.display, outs); err != nil {
		return err
	}
	if n := len(m.Missing.Nodes) + len(m.Missing.Ranks) + len(m.LeftOut); o.strict && n > 0 {
		return fail(exitNotMeasured, "", "--strict: %d nodes and %d ranks are missing, %d files were left out",
			len(m.Missing.Nodes), len(m.Missing.Ranks), len(m.LeftOut))
	}
	return nil
}
