package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/render"
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
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || !jobID.MatchString(args[0]) {
				return fail(exitUsage, "squeue --me lists yours: pipetune slurm 4711",
					"slurm takes the number of one job")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if !c.Flags().Changed("warmup") {
				own.warmup = watch.DefaultWarmup(own.duration)
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
	of := newDiagnoseWith(env, own).Flags()
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

// allocation is what Slurm says of a job that runs.
type allocation struct {
	nodes int
	list  string // their names, in Slurm's short form
}

func (o *slurmOptions) runSlurm(ctx context.Context, env Env, id string) error {
	format, outs, err := o.check()
	if err != nil {
		return err
	}
	for _, out := range outs {
		if err := out.check(); err != nil {
			return err
		}
	}
	if o.remote == "" {
		if o.remote, err = os.Executable(); err != nil {
			return fail(exitUsage, "say where it is on the nodes: --remote PATH", "finding pipetune's own path: %w",
				err)
		}
	}
	a, err := lookUp(ctx, env, id)
	if err != nil {
		return err
	}
	step := fmt.Sprintf("pipetune-%d", os.Getpid())
	command := o.command(id, step, a)
	if o.dryRun {
		words := make([]string, len(command))
		for i, w := range command {
			words[i] = word(w)
		}
		_, err := fmt.Fprintln(env.Stdout, strings.Join(words, " "))
		return err
	}
	if o.keep != "" {
		if err := os.MkdirAll(o.keep, 0o700); err != nil {
			return fail(exitUsage, "choose a folder you may write to", "--keep %s: %w", o.keep, plainPathError(err))
		}
	}
	asked, stop := handleRequests(env)
	defer stop()
	note(env.Stderr, fmt.Sprintf("watching job %s on %d nodes, %s", id, a.nodes, a.list))
	r := &gathering{env: env, job: id, name: step, keep: o.keep, parts: map[int]*strings.Builder{}}
	if err := r.run(ctx, command, asked); err != nil {
		return err
	}
	return o.conclude(env, id, a, r, format, outs)
}

// conclude merges what came back. Which nodes the job has Slurm knows better than what the nodes themselves say.
func (o *slurmOptions) conclude(env Env, id string, a allocation, r *gathering, format render.Format,
	outs []output) error {
	if len(r.list) == 0 {
		return fail(exitNotMeasured, "what the nodes said stands above; try one: srun --jobid="+id+
			" --overlap pipetune doctor", "no node of job %s has reported", id)
	}
	o.job = strings.SplitN(id, "_", 2)[0]
	if strings.Contains(id, "_") { // an array's job has a number of its own, which only its tasks know
		o.job = ""
	}
	return o.join(env, r.list, r.left, a.nodes, format, outs, func(m *report.Merged) {
		if m.Job.Nodes == nil || *m.Job.Nodes < a.nodes {
			m.Warnings = append(m.Warnings, fmt.Sprintf("Slurm gave the job %d nodes: %s.", a.nodes, a.list))
		}
		if o.keep == "" {
			m.Next = slices.DeleteFunc(m.Next, func(s string) bool { return strings.HasPrefix(s, "pipetune report ") })
		}
	})
}

// command is the one that runs pipetune on each node. Each of its flags is there for a reason: with --jobid alone srun
// takes one node; without --overlap it waits until the job is over; and the settings of a cluster may end all tasks
// when the first has failed, or wait for one that hangs for ever.
func (o *slurmOptions) command(id, step string, a allocation) []string {
	n := strconv.Itoa(a.nodes)
	command := []string{"srun", "--jobid=" + id, "--job-name=" + step, "--overlap", "--nodes=" + n, "--ntasks=" + n,
		"--ntasks-per-node=1", "--cpus-per-task=1", "--mem=0", "--kill-on-bad-exit=0", "--wait=60", "--input=none",
		"--label", o.remote, "diagnose", "--quiet", "--format=json"}
	for _, f := range o.handed {
		command = append(command, "--"+f.Name+"="+f.Value.String())
	}
	return command
}

// word is one of a command line as a shell takes it.
func word(w string) string {
	if strings.HasPrefix(w, "-") {
		return w // a flag of ours, which holds nothing that a shell reads
	}
	return diagnose.ShellWord(w)
}

// lookUp asks Slurm for a job.
func lookUp(ctx context.Context, env Env, id string) (allocation, error) {
	for _, program := range []string{"squeue", "srun"} {
		if _, err := exec.LookPath(program); err != nil {
			return allocation{}, fail(exitNotMeasured, "run it where you submit jobs, or inside of one",
				"there is no %s here: is this a Slurm cluster?", program)
		}
	}
	ask := exec.CommandContext(ctx, "squeue", "--noheader", "--jobs="+id, "--format=%T|%D|%N")
	ask.Env = slurmEnvironment()
	said, err := ask.CombinedOutput()
	text := strings.TrimSpace(string(said))
	if err != nil || text == "" {
		return allocation{}, fail(exitNotMeasured, "squeue --me lists yours that run", "Slurm knows no job %s%s", id,
			because(lastLine(text)))
	}
	lines := strings.Split(text, "\n")
	fields := strings.Split(lines[len(lines)-1], "|")
	if len(fields) != 3 {
		return allocation{}, fail(exitNotMeasured, "", "squeue said what is not understood: %s", lastLine(text))
	}
	n, err := strconv.Atoi(fields[1])
	switch {
	case len(lines) > 1:
		return allocation{}, fail(exitUsage, "name one of it: pipetune slurm "+id+"_1",
			"job %s is an array with %d jobs", id, len(lines))
	case fields[0] != "RUNNING":
		return allocation{}, fail(exitNotMeasured, "try again when it runs", "job %s is %s", id,
			strings.ToLower(fields[0]))
	case err != nil || n < 1:
		return allocation{}, fail(exitNotMeasured, "", "squeue said what is not understood: %s", lastLine(text))
	}
	return allocation{nodes: n, list: fields[2]}, nil
}

func because(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// slurmEnvironment is this process's without what an allocation around it says of its own tasks: pipetune slurm may run
// inside a batch script, whose memory and tasks per node are no wish of ours.
func slurmEnvironment() []string {
	keep := []string{"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS"}
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "SLURM_") && !slices.Contains(keep, name)
	})
}

// nodeFile is where a node's report is kept, or what it is called.
func nodeFile(folder string, w *merge.Watch, task int) string {
	name := fmt.Sprintf("task-%d.json", task)
	if n := w.NodeRank(); n != nil {
		name = fmt.Sprintf("node-%d.json", *n)
	}
	return filepath.Join(folder, name)
}
