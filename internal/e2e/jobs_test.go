//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// How long pipetune watches: at most 30 s of watching per job is the promise.
const (
	watchFor   = 20 * time.Second
	watchDrops = 3 * time.Second

	// patience ends what hangs. It says nothing of how long anything may take: a busy machine may need minutes to
	// import torch.
	patience = 5 * time.Minute

	// neighboursSettle is how long batches that were ready before the neighbours came may last.
	neighboursSettle = 2 * time.Second
)

// machine is what all cases share.
type machine struct {
	ctx    context.Context // ends when the test is asked to
	binary string
	python string
	root   string // chroot; "": none
	keep   string

	versions string // of Python and the libraries that the jobs use, in words
}

func TestJobs(t *testing.T) {
	m := findMachine(t)
	var tries account
	defer tries.close(t)

	var outcomes, rows []outcome // those that count, and every attempt
	ran := 0
	for _, c := range selected("E2E_JOBS", cases) {
		if !asked(t, c.name) || m.ctx.Err() != nil {
			continue
		}
		ran++
		t.Run(c.name, func(t *testing.T) {
			var made []outcome
			best := tries.measure(t, func(t *testing.T) (try, string) {
				began := time.Now()
				o := m.runOnce(t, c)
				o.seconds, o.attempt = time.Since(began).Seconds(), len(made)+1
				made = append(made, o)
				return o.try(), o.figures()
			})
			rows = append(rows, made...)
			outcomes = append(outcomes, made[best])
		})
	}
	if m.ctx.Err() != nil {
		t.Fatal("interrupted; what was started is ended and cleared")
	}
	if ran == 0 {
		t.Fatalf("no job matches E2E_JOBS=%s", os.Getenv("E2E_JOBS"))
	}
	printed := outcomeTable(rows)
	fmt.Printf("\n%s\n", printed)
	m.keepText(t, "table.txt", printed)
	checkRanks(t, outcomes)
}

// selected are the rows of a table whose names match the expression of an environment variable.
func selected[T interface{ title() string }](variable string, rows []T) []T {
	wanted := regexp.MustCompile(os.Getenv(variable))
	return slices.DeleteFunc(slices.Clone(rows), func(r T) bool { return !wanted.MatchString(r.title()) })
}

// checkRanks holds the table to its promise about the order of findings, and to having shown what was planted.
func checkRanks(t *testing.T, outcomes []outcome) {
	planted, ranked := 0, 0
	var missed, unshown []string
	for _, o := range outcomes {
		if !o.showed() {
			unshown = append(unshown, o.name)
			continue
		}
		if len(o.planted) == 0 {
			continue
		}
		planted++
		if o.ranked(o.rep) {
			ranked++
		} else {
			missed = append(missed, o.name)
		}
	}
	t.Logf("planted rule first or second in %d of %d jobs; not in: %s", ranked, planted, strings.Join(missed, " "))
	if float64(ranked) < rankShare*float64(planted) {
		t.Errorf("planted rule first or second in %d of %d jobs, want %.0f %%", ranked, planted, 100*rankShare)
	}
	if float64(len(unshown)) > unshownShare*float64(len(outcomes)) {
		t.Errorf("on this busy machine the planted condition did not show in %s: too many of %d jobs prove nothing",
			strings.Join(unshown, " "), len(outcomes))
	}
}

// asked reports whether a test is to run a row: with E2E_SUITE those of live only.
func asked(t *testing.T, name string) bool {
	return os.Getenv("E2E_SUITE") == "" || slices.Contains(live[t.Name()], name)
}

// findMachine checks what every case needs. What is missing is a failure with its cure, never a skip.
func findMachine(t *testing.T) machine {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // being asked twice ends the test at once
	m := machine{
		ctx:    ctx,
		binary: must.Get(filepath.Abs(cmp.Or(os.Getenv("PIPETUNE_BIN"), "../../bin/pipetune")))(t),
		python: must.Interpreter(), root: os.Getenv("TORCH_ROOT"), keep: os.Getenv("E2E_KEEP"),
	}
	if suite := os.Getenv("TORCH"); m.root == "" && suite != "" {
		cmd := exec.Command("../../scripts/torch", suite)
		cmd.Stderr = os.Stderr
		dir, err := cmd.Output()
		if err != nil {
			t.Fatalf("building a chroot of %s: %v", suite, err)
		}
		m.root = strings.TrimSpace(string(dir))
	}
	m.root = strings.TrimSuffix(m.root, "/")
	if m.root != "" && os.Getuid() != 0 {
		t.Fatal("TORCH_ROOT needs root, for chroot")
	}
	if !isFile(m.binary) {
		t.Fatalf("no %s: run make build", m.binary)
	}
	if m.keep != "" {
		must.Do(t, os.MkdirAll(m.keep, 0o755))
	}
	if err := sweep(m.root); err != nil {
		t.Fatalf("clearing what an earlier run left: %v", err)
	}
	versions := `import sys, torch, h5py, PIL; print("Python", sys.version.split()[0], "torch", torch.__version__, "h5py", h5py.__version__)`
	output, err := bench{machine: m}.shell(nil, m.python, "-c", versions).CombinedOutput()
	if err != nil {
		t.Fatalf("%s cannot import what the jobs need: %v: %s\napt-get install -y python3-torch python3-h5py "+
			"python3-pil python3-numpy",
			m.python, err, output)
	}
	m.versions = strings.TrimSpace(string(output))
	fmt.Printf("jobs run on %s\n", m.versions)
	return m
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// runOnce starts the job, lets pipetune watch it, and compares.
func (m machine) runOnce(t *testing.T, c testCase) outcome {
	b := m.newGPUBench(t, c)
	j := b.start(t, c, c.around.around(t, b, c))
	j.flows(t)
	neighbours := startNeighbours(t, c.around.neighbours)
	if neighbours > 0 {
		time.Sleep(neighboursSettle)
	}

	from, groups := monotonic(), []int{j.pid, neighbours}
	before := readCPU(groups...)
	rep, cmd := m.diagnose(t, b, c, j.pid)
	o := outcome{testCase: c, rep: rep, others: before.others(readCPU(groups...), cmd)}
	from, to := window(rep, from, monotonic())
	o.inside = j.over(t, from, to)
	for rank, path := range must.Get(stopwatchFiles(j.stopwatch))(t) {
		m.keepFile(t, path, fmt.Sprintf("%s.stopwatch.%d.jsonl", c.name, rank))
	}
	return o
}

// diagnose runs the real command beside the job, as a user would.
func (m machine) diagnose(t *testing.T, b bench, c testCase, pid int) (*report.Report, *exec.Cmd) {
	t.Helper()
	out := filepath.Join(cmp.Or(m.keep, t.TempDir()), c.name)
	cmd, said := m.run(t, b.environment(), "diagnose", "--pid", strconv.Itoa(pid), "--duration", watchFor.String(),
		"--warmup", watchDrops.String(), "-q", "-o", out+".json", "-o", out+".jsonl")
	m.keepText(t, c.name+".txt", string(said))
	return judgedReport(t, out+".json"), cmd
}

// judgedReport reads a report, which must have a verdict.
func judgedReport(t *testing.T, path string) *report.Report {
	t.Helper()
	r := must.Read(t, path, report.Decode)
	if r.Verdict == nil {
		t.Fatalf("%s has no verdict", path)
	}
	return r
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	must.Do(t, os.WriteFile(to, must.Get(os.ReadFile(from))(t), 0o644))
}

// keepFile copies a file of the work folder to where E2E_KEEP says.
func (m machine) keepFile(t *testing.T, path, name string) {
	if m.keep != "" {
		copyFile(t, path, filepath.Join(m.keep, name))
	}
}
