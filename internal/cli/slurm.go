package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/saved"
	"github.com/pipetune/pipetune/internal/slurm"
	"github.com/pipetune/pipetune/internal/watch"
	"github.com/pipetune/pipetune/pkg/report"
)

// handedOn are the flags of diagnose that pipetune slurm takes and gives to each node.
var handedOn = []string{"duration", "warmup", "interval", "batch-size", "no-redact", "no-arguments"}

type slurmOptions struct {
	merging
	remote string // pipetune on the nodes
	keep   string // folder for the nodes' reports
	dryRun bool
	handed []*pflag.Flag
}

func newSlurm(env Env) *cobra.Command {
	var o slurmOptions
	own := &diagnoseOptions{} // of each node
	c := &cobra.Command{
		Use:   "slurm JOBID",
		Short: "watch a Slurm job on all of its nodes, and join what they report",
		Long: `slurm runs one srun, which starts one pipetune diagnose on each node of a job
that runs, beside the job's own tasks and on its CPUs (--overlap), and joins
their reports as pipetune merge does. Slurm starts them; pipetune opens no port
and logs in nowhere. Each watches the trainers of this job on its node. The
reports come back through srun: no shared folder is needed. --dry-run prints the
command line and runs nothing.`,
		Example: `  pipetune slurm 4711
  pipetune slurm 4711 --duration 60s -o job.md --keep nodes
  pipetune slurm 4711 --dry-run`,
		Args: expect(func(args []string) bool { return len(args) == 1 && jobID.MatchString(args[0]) },
			"squeue --me lists yours: pipetune slurm 4711", "slurm takes the number of one job"),
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("warmup") {
				own.Warmup = watch.DefaultWarmup(own.Duration)
			}
			if err := own.check(false); err != nil { // else each node would refuse it
				return err
			}
			for _, name := range handedOn {
				if f := c.Flags().Lookup(name); f.Changed {
					o.handed = append(o.handed, f)
				}
			}
			return o.runSlurm(c.Context(), env, args[0])
		},
	}
	of := newDiagnose(env, own).Flags()
	for _, name := range handedOn {
		c.Flags().AddFlag(of.Lookup(name))
	}
	c.Flags().StringVar(&o.remote, "remote", "", "where pipetune is on the nodes (default: `PATH` of this one)")
	c.Flags().StringVar(&o.keep, "keep", "", "also write each node's report to this `FOLDER`")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the command line, run nothing")
	o.addFlags(c)
	return c
}

// jobID is a job, or one of an array.
var jobID = regexp.MustCompile(`^[0-9]{1,18}(?:_[0-9]{1,9})?$`)

func slurmFailure(err error, id string) error {
	hint := ""
	switch {
	case errors.Is(err, slurm.ErrArray):
		return fail(exitUsage, "name one of it: pipetune slurm "+id+"_1", "%w", err)
	case errors.Is(err, slurm.ErrNoSlurm):
		hint = "run it where you submit jobs, or inside of one"
	case errors.Is(err, slurm.ErrUnknown):
		hint = "squeue --me lists yours that run"
	case errors.Is(err, slurm.ErrNotRunning):
		hint = "try again when it runs"
	}
	return fail(exitNotMeasured, hint, "%w", err)
}

func (o *slurmOptions) runSlurm(ctx context.Context, env Env, id string) error {
	err := o.check(false)
	if err != nil {
		return err
	}
	if o.remote == "" {
		if o.remote, err = os.Executable(); err != nil {
			return fail(exitUsage, "say where it is on the nodes: --remote PATH", "finding pipetune's own path: %w",
				err)
		}
	}
	j, err := slurm.Find(ctx, id)
	if err != nil {
		return slurmFailure(err, id)
	}
	step := fmt.Sprintf("pipetune-%d", os.Getpid())
	program := []string{o.remote, "diagnose", "--quiet", "--format=json"}
	for _, f := range o.handed {
		program = append(program, "--"+f.Name+"="+f.Value.String())
	}
	command := j.Command(step, program...)
	if o.dryRun {
		_, err := fmt.Fprintln(env.Stdout, strings.Join(names(command, word), " "))
		return err
	}
	if o.keep != "" {
		if err := os.MkdirAll(o.keep, 0o700); err != nil {
			return fail(exitUsage, "choose a folder you may write to", "--keep %s: %w", o.keep, saved.Plain(err))
		}
	}
	asked, stop := handleRequests(env)
	defer stop()
	note(env.Stderr, fmt.Sprintf("watching job %s on %d nodes, %s", id, j.Nodes, j.List))
	var list []*merge.Watch
	g := &slurm.Gathering{Job: j, Step: step, Note: func(text string) { note(env.Stderr, text) },
		Said: func(line string) { fmt.Fprintln(env.Stderr, line) },
		Took: func(task int, w *merge.Watch, text string) {
			out := output{path: nodeFile(o.keep, w, task), flag: "--keep"}
			w.File = out.path
			list = append(list, w)
			if o.keep != "" {
				complain(env.Stderr, out.fill(func(d *saved.Draft) error { _, err := d.WriteString(text); return err }))
			}
		}}
	if err := g.Run(ctx, command, asked); err != nil {
		return fail(exitNotMeasured, "", "%w", err)
	}
	if len(list) == 0 {
		return fail(exitNotMeasured, "what the nodes said stands above; try one: srun --jobid="+id+
			" --overlap pipetune doctor", "no node of job %s has reported", id)
	}
	if !strings.Contains(id, "_") { // an array's job has a number of its own, which only its tasks know
		o.job = id
	}
	// Which nodes the job has Slurm knows better than what the nodes themselves say.
	return o.join(env, list, g.Left, j.Nodes, func(m *report.Merged) {
		if m.Job.Nodes == nil || *m.Job.Nodes < j.Nodes {
			m.Warnings = append(m.Warnings, fmt.Sprintf("Slurm gave the job %d nodes: %s.", j.Nodes, j.List))
		}
		if o.keep == "" {
			m.Next = slices.DeleteFunc(m.Next, func(s string) bool { return strings.HasPrefix(s, "pipetune report ") })
		}
	})
}

// word is one of a command line as a shell takes it.
func word(w string) string {
	if strings.HasPrefix(w, "-") {
		return w // a flag of ours, which holds nothing that a shell reads
	}
	return diagnose.ShellWord(w)
}

// nodeFile is where a node's report is kept, or what it is called.
func nodeFile(folder string, w *merge.Watch, task int) string {
	name := fmt.Sprintf("task-%d.json", task)
	if n := w.Place.NodeRank; n != nil {
		name = fmt.Sprintf("node-%d.json", *n)
	}
	return filepath.Join(folder, name)
}
