package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/render"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/pkg/report"
)

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
		RunE: func(_ *cobra.Command, files []string) error {
			if len(files) == 0 {
				return fail(exitUsage, "pipetune merge nodes/*.json", "merge needs the reports of a job's nodes")
			}
			if err := o.check(false); err != nil {
				return err
			}
			list, left := saved.LoadNodes(files)
			return o.join(env, list, left, len(files), func(*report.Merged) {})
		},
	}
	c.Flags().StringVar(&o.job, "job", "", "merge only reports of this job: its `ID`, or the name of its script")
	o.addFlags(c)
	return c
}

func (o *merging) addFlags(c *cobra.Command) {
	o.showing.addFlags(c, render.Formats())
	c.Flags().BoolVar(&o.strict, "strict", false, "exit 3 where a node is missing or a file is left out")
}

// join merges and shows what was read of so many files. amend has the last word on what is shown.
func (o *merging) join(env Env, list []*merge.Watch, left []report.LeftOut, files int,
	amend func(*report.Merged)) error {
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
	if err := o.deliver(env, render.Merged(m)); err != nil {
		return err
	}
	if n := len(m.Missing.Nodes) + len(m.Missing.Ranks) + len(m.LeftOut); o.strict && n > 0 {
		return fail(exitNotMeasured, "", "--strict: %d nodes and %d ranks are missing, %d files were left out",
			len(m.Missing.Nodes), len(m.Missing.Ranks), len(m.LeftOut))
	}
	return nil
}
