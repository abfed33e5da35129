//go:build e2e

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

const (
	stackWatch  = 10 * time.Second // of a job that is attached to
	stackWarmup = 2 * time.Second
)

// stackRun is what came of a job that was watched in one mode.
type stackRun struct {
	stack  stack
	plant  plant
	mode   string         // "attached" or "launched"
	want   string         // the job's result alone
	rep    *report.Report // nil: there was none
	text   string         // the same for people, and whatever stood on stderr
	stdout string         // the job's result
	status int            // the job's
	others float64        // cores that others used meanwhile
}

// TestStacks holds both modes to the frameworks that people train with: the class, the first finding, the setting that
// is named, and that the job prints and ends as it does alone. PYTHON is to be the interpreter that scripts/python-env
// makes.
func TestStacks(t *testing.T) {
	m := findMachine(t)
	var tries account
	defer tries.close(t)
	wanted := regexp.MustCompile(os.Getenv("E2E_JOBS"))
	others := os.Getenv("E2E_OTHERS") != ""
	var rows []string
	for _, s := range stacks {
		for _, p := range plants {
			name := s.name + ", " + p.name
			if !wanted.MatchString(name) || s.others != others || t.Context().Err() != nil {
				continue
			}
			t.Run(name, func(t *testing.T) {
				alone, err := m.stackJob(t, s, append(slices.Clone(p.args), plantQuick...)).Output()
				if err != nil || result(alone) == "" {
					t.Fatalf("the job alone printed %q: %v", alone, err)
				}
				for _, mode := range []string{"attached", "launched"} {
					tries.measure(t, func(t *testing.T) (try, string) {
						r := stackRun{stack: s, plant: p, mode: mode, want: result(alone)}
						if mode == "attached" {
							m.attachStack(t, &r)
						} else {
							m.launchStack(t, &r)
						}
						rows = append(rows, r.row())
						m.keepText(t, fmt.Sprintf("stacks-%s-%s.txt", name, mode), r.text)
						return r.try(t), r.row()
					})
				}
			})
		}
	}
	if len(rows) == 0 {
		t.Fatalf("no stack matches E2E_JOBS=%s", wanted)
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\n"+strings.Join([]string{"STACK", "PLANTED", "MODE", "CLASS", "CONFIDENCE", "FIRST FINDING",
		"SETTING NAMED", "ITS NAME THERE", "LOADER AT", "PATCH", "HARM", "OTHERS"}, "\t"))
	fmt.Fprintln(table, strings.Join(rows, "\n"))
	must.Do(t, table.Flush())
}

// try holds an attempt to its bounds; what is known to be missed is only reported.
func (r stackRun) try(t *testing.T) try {
	made := try{others: r.others}
	for about, text := range r.misses() {
		if said, ok := r.stack.known[about]; ok {
			t.Logf("known, %s: %s; %s", about, said, text)
			continue
		}
		made.wrongVerdict("%s: %s", about, text)
	}
	slices.SortFunc(made.misses, func(a, b miss) int { return strings.Compare(a.text, b.text) })
	return made
}

// misses are what is wrong with a run, by mode and what it is about.
func (r stackRun) misses() map[string]string {
	found := map[string]string{}
	miss := func(about, format string, args ...any) {
		if r.plant.keepsUp {
			about = "keeping up, " + about
		}
		found[r.mode+": "+about] = fmt.Sprintf(format, args...)
	}
	if r.harm() {
		miss("harm", "the job ended with %d and %q, alone with 0 and %q", r.status, r.stdout, r.want)
	}
	if r.rep == nil {
		miss("verdict", "there is no report: %.500s", r.text)
		return found
	}
	if !slices.Contains(r.plant.class, r.rep.Verdict.Class) {
		miss("verdict", "%s, want one of %v", r.rep.Verdict.Class, r.plant.class)
	}
	if r.mode == "launched" && r.place() == "-" {
		miss("line", "it is not known where the loader is made")
	}
	if r.plant.keepsUp {
		if len(r.rep.Findings) > 0 && r.rep.Findings[0].Severity == report.Error {
			miss("finding", "an error finding on a job that keeps up: %s", r.first())
		}
		return found
	}
	first := cmp.Or(r.stack.first, "loader/workers-too-few")
	if r.first() != first {
		miss("finding", "the first is %s, want %s", r.first(), first)
	}
	if found := rulesOf(r.rep, len(r.rep.Findings)); !strings.Contains(found, r.stack.also) {
		miss("finding", "found is %s, want %s too", found, r.stack.also)
	}
	setting, _, _ := strings.Cut(r.named(), "=")
	if r.stack.first != "" && len(r.rep.Findings) > 0 && len(r.rep.Findings[0].Recommendations) > 0 {
		setting = r.rep.Findings[0].Recommendations[0].Setting
	}
	if setting != r.stack.setting && !strings.HasPrefix(r.patched(), r.stack.setting+" ") && !r.noted() {
		miss("setting", "named is %s, patched %s, want %s", r.named(), r.patched(), r.stack.setting)
	}
	return found
}

// noted reports whether the first finding's advice says how the framework calls the setting.
func (r stackRun) noted() bool {
	return len(r.rep.Findings) > 0 && slices.ContainsFunc(r.rep.Findings[0].Recommendations,
		func(c report.Recommendation) bool {
			return strings.Contains(c.Caveat, r.stack.setting+" of ")
		})
}

// harm reports whether the job ended or printed otherwise than alone.
func (r stackRun) harm() bool { return r.status != 0 || r.stdout != r.want }

func (r stackRun) first() string { return cmp.Or(rulesOf(r.rep, 1), "-") }

// named is the setting that the first plan changes first, and what it is to be.
func (r stackRun) named() string {
	for _, plan := range r.rep.Plans {
		if len(plan.Changes) > 0 {
			return fmt.Sprintf("%s=%s", plan.Changes[0].Setting, plan.Changes[0].To)
		}
	}
	return "-"
}

// patched is what becomes of that setting in the job's source.
func (r stackRun) patched() string {
	if r.rep.Patch == nil || len(r.rep.Patch.Settings) == 0 {
		return "-"
	}
	first := r.rep.Patch.Settings[0]
	name := first.Setting
	if found := frameworksName.FindStringSubmatch(first.Origin); found != nil {
		name = found[1]
	}
	return fmt.Sprintf("%s %s in %s", name, first.How, filepath.Base(r.rep.Patch.File))
}

// frameworksName finds what a framework calls a setting in what the patch says of it.
var frameworksName = regexp.MustCompile(`^(\w+) of \w+`)

// place is where the loader is made.
func (r stackRun) place() string {
	if r.rep.Job.Loader == nil || r.rep.Job.Loader.Location == nil {
		return "-"
	}
	at := r.rep.Job.Loader.Location
	return fmt.Sprintf("%s:%d", filepath.Base(at.File), at.Line)
}

func (r stackRun) row() string {
	class, confidence, first, named, place, patched := "no report", "", "-", "-", "-", "-"
	if r.rep != nil {
		class, confidence = string(r.rep.Verdict.Class), string(r.rep.Verdict.Confidence)
		first, named, place, patched = r.first(), r.named(), r.place(), r.patched()
	}
	harm := "none"
	if r.harm() {
		harm = fmt.Sprintf("status %d, %q", r.status, r.stdout)
	}
	return strings.Join([]string{r.stack.name, r.plant.name, r.mode, class, confidence, first, named,
		r.stack.setting, place, patched, harm, fmt.Sprintf("%.2f", r.others)}, "\t")
}

// result is what runs of a job are compared by; what a framework prints beside, and before it on the line, may hold
// times.
func result(stdout []byte) string {
	for line := range strings.Lines(string(stdout)) {
		if _, said, ok := strings.Cut(line, "job: "); ok {
			return strings.TrimSpace(said)
		}
	}
	return ""
}

// stackCommand is the command line of a stack's job, in a folder of its own.
func (m machine) stackCommand(t *testing.T, s stack, more []string) []string {
	t.Helper()
	script := must.Get(filepath.Abs(filepath.Join("../../testdata/jobs/stacks", s.script+".py")))(t)
	return slices.Concat([]string{m.python}, s.launcher, []string{script, "--folder", t.TempDir()}, s.args, more)
}

// stackJob is the job alone. No framework is to ask the network for anything.
func (m machine) stackJob(t *testing.T, s stack, more []string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return stackProcess(ctx, t, m.stackCommand(t, s, more))
}

func stackProcess(ctx context.Context, t *testing.T, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+cmd.Dir, "HF_HOME="+cmd.Dir, "HF_HUB_OFFLINE=1",
		"PYTHONDONTWRITEBYTECODE=1")
	return inGroup(cmd)
}

// launchStack lets pipetune start the job.
func (m machine) launchStack(t *testing.T, r *stackRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	out := filepath.Join(t.TempDir(), "report.json")
	launch := []string{m.binary, "diagnose", "--warmup", stackWarmup.String(), "-o", out, "--"}
	cmd := stackProcess(ctx, t, append(launch, m.stackCommand(t, r.stack, r.plant.args)...))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	before := readCPU()
	err := cmd.Run()
	r.others = before.others(readCPU(), cmd)
	must.Do(t, ended(err))
	r.end(t, cmd, stdout.Bytes(), stderr.String(), out)
}

// attachStack starts the job, and watches it from outside once it has done some steps.
func (m machine) attachStack(t *testing.T, r *stackRun) {
	t.Helper()
	begun, out := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "report.json")
	job := m.stackJob(t, r.stack, append(slices.Clone(r.plant.args), "--begun", begun))
	var stdout, stderr bytes.Buffer
	job.Stdout, job.Stderr = &stdout, &stderr
	must.Do(t, job.Start())
	ctx, cancel := context.WithTimeout(m.ctx, patience)
	defer cancel()
	until(t, "the job's first steps", func() bool {
		text, _ := os.ReadFile(begun) // until it is there
		return bytes.Contains(text, []byte("\n"))
	})
	var text []byte
	if !t.Failed() {
		watch := exec.CommandContext(ctx, m.binary, "diagnose", "--pid", strconv.Itoa(job.Process.Pid),
			"--duration", stackWatch.String(), "--warmup", stackWarmup.String(), "-o", out)
		before := readCPU(job.Process.Pid)
		text, _ = watch.CombinedOutput() // where it fails there is no report, and its text says why
		r.others = before.others(readCPU(job.Process.Pid), watch)
	}
	must.Do(t, ended(job.Wait()))
	if t.Failed() {
		t.Fatalf("%.1000s", stderr.Bytes())
	}
	r.end(t, job, stdout.Bytes(), string(text), out)
}

// end takes what came of a job: its result, its end, what was said beside and the report, where one was written.
func (r *stackRun) end(t *testing.T, job *exec.Cmd, stdout []byte, text, out string) {
	t.Helper()
	r.stdout, r.status, r.text = result(stdout), job.ProcessState.ExitCode(), text
	if _, err := os.Stat(out); err == nil {
		r.rep = judgedReport(t, out)
	}
}

// ended is an error of a command but for its exit status.
func ended(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil
	}
	return err
}

// keepText writes a text to where E2E_KEEP says.
func (m machine) keepText(t *testing.T, name, text string) {
	if m.keep != "" {
		must.Do(t, os.WriteFile(filepath.Join(m.keep, strings.ReplaceAll(name, " ", "-")), []byte(text), 0o644))
	}
}

var pythonBlock = regexp.MustCompile("(?s)```python\n(.*?)```")

// TestTrackers runs the lines of docs/live.md that hand a report to Weights & Biases and to MLflow, as they stand
// there, without a server, and looks at what these wrote. PYTHON names an interpreter that has both.
func TestTrackers(t *testing.T) {
	python := os.Getenv("PYTHON")
	_, text, found := strings.Cut(string(must.Get(os.ReadFile("../../docs/live.md"))(t)), "## Experiment trackers")
	blocks := pythonBlock.FindAllStringSubmatch(text, -1)
	if !found || len(blocks) != 2 {
		t.Fatalf("docs/live.md has %d blocks of Python for trackers, want 2", len(blocks))
	}
	sample := must.Get(os.ReadFile("../../testdata/reports/reopened.json"))(t)
	for _, tracker := range []struct{ module, wrote string }{
		{"wandb", "wandb/offline-run-*/run-*.wandb"}, {"mlflow", "mlruns/0/*/metrics/pipetune.input_wait_ratio"},
	} {
		t.Run(tracker.module, func(t *testing.T) {
			dir := t.TempDir()
			must.Do(t, os.WriteFile(filepath.Join(dir, "run.json"), sample, 0o644))
			for _, b := range blocks {
				if !strings.Contains(b[1], "import json, "+tracker.module) {
					continue
				}
				cmd := exec.CommandContext(t.Context(), python, "-W", "ignore", "-c", b[1])
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), "WANDB_MODE=offline", "WANDB_SILENT=true",
					"MLFLOW_TRACKING_URI=file:./mlruns", "MLFLOW_ALLOW_FILE_STORE=true", "HOME="+dir,
					"GIT_PYTHON_REFRESH=quiet")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
			}
			if files := must.Get(filepath.Glob(filepath.Join(dir, tracker.wrote)))(t); len(files) != 1 {
				t.Errorf("%s is not there: %v", tracker.wrote, must.Get(filepath.Glob(filepath.Join(dir, "*/*")))(t))
			}
		})
	}
}
