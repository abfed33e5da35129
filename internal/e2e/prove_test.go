//go:build e2e && calibrate

package e2e

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// What following a plan promises.
const (
	provedShare = 0.80 // of the jobs run at the predicted rate, as wide as it was reported
	ofTheBest   = 0.90 // of the best rate that an exhaustive search within the plan's reach finds, in each job
)

// How long runs go on: what is predicted from, what was predicted, and each setting of the search. The first seconds
// are the start's.
const (
	proveSeconds, followSeconds, searchSeconds = "20", 14, 9
	proveWarmup                                = 3.0
)

// proofBy is the environment variable that names the page to write the table to, when all jobs were run.
const proofBy = "E2E_PROOF"

// proved are jobs of which a diagnosis must find head-room in the settings of the loader.
var proved = []testCase{
	{name: "workers_few"}, {name: "remote_storage"}, {name: "forkserver_few"}, {name: "workers_zero", unseen: true},
	{name: "workers_restart"}, {name: "workers_restart_spawn"},
	{name: "c_mels_later", script: "cases/c_mels_later"}, {name: "d_volumes", script: "cases/d_volumes"},
}

// proof is what came of one job.
type proof struct {
	testCase
	changes           []report.Recommendation
	predicted         report.Effect // in batches per second
	planted, observed float64
	best, beyond      float64 // of the search within the moderate plan's reach, and of all of it
	bestWorkers       int
	others            float64 // cores that others used, in the run where they used most
}

func (p proof) inside() bool    { return p.predicted.Lo <= p.observed && p.observed <= p.predicted.Hi }
func (p proof) ofBest() float64 { return p.observed / math.Max(p.best, p.observed) }

// TestProve diagnoses jobs whose loaders have head-room, follows the plan of each report by the job's own flags, runs
// the job again, and holds what was predicted against it; an exhaustive search over num_workers says how much there
// was to win. E2E_JOBS='workers' runs some of them.
func TestProve(t *testing.T) {
	m, asked := findMachine(t), selected("E2E_JOBS", proved)
	var proofs []proof
	for _, c := range asked {
		t.Run(c.name, func(t *testing.T) {
			p := m.prove(t, c)
			proofs = append(proofs, p)
			fmt.Printf("  %s: %.2f batches/s, then %.2f, predicted %.2f to %.2f\n", p.name, p.planted, p.observed,
				p.predicted.Lo, p.predicted.Hi)
		})
	}
	if len(asked) == 0 {
		t.Fatalf("no job matches E2E_JOBS=%s", os.Getenv("E2E_JOBS"))
	}
	text := proofText(proofs, m.versions)
	fmt.Printf("\n%s\n", text)
	if len(asked) < len(proved) {
		return // some of the jobs say nothing about the promises
	}
	if page := os.Getenv(proofBy); page != "" {
		writeBetweenMarkers(t, page, "make prove", text)
	}
	inside := 0
	for _, p := range proofs {
		if p.inside() {
			inside++
		}
		if p.ofBest() < ofTheBest {
			t.Errorf("%s: the plan reaches %.0f %% of the best, num_workers=%d", p.name, 100*p.ofBest(), p.bestWorkers)
		}
	}
	if float64(inside) < provedShare*float64(len(asked)) {
		t.Errorf("%d of %d predictions held, want %.0f %%", inside, len(asked), 100*provedShare)
	}
}

// proofText is the generated part of a page.
func proofText(proofs []proof, versions string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("Measured on %s: %s; %s. Rates are in batches per second.\n", time.Now().UTC().Format(time.DateOnly),
		describeMachine(), versions)
	line("| job | plan | before | predicted | observed | inside | best of the search | reached of it | beyond the " +
		"plan's reach | others used, cores |")
	line("|---|---|--:|---|--:|---|---|--:|--:|--:|")
	for _, p := range proofs {
		var changes []string
		for _, c := range p.changes {
			changes = append(changes, "`"+c.Setting+"="+c.To+"`")
		}
		inside := "**no**"
		if p.inside() {
			inside = "yes"
		}
		line("| %s | %s | %.2f | %.2f (%.2f to %.2f) | %.2f | %s | %.2f with %d workers | %.0f %% | %.2f | %.2f |",
			p.name, strings.Join(changes, " "), p.planted, p.predicted.After, p.predicted.Lo, p.predicted.Hi,
			p.observed, inside, p.best, p.bestWorkers, 100*p.ofBest(), p.beyond, p.others)
	}
	return b.String()
}

// prove diagnoses one job, follows its plan and searches for a better setting.
func (m machine) prove(t *testing.T, c testCase) proof {
	t.Helper()
	p, job := proof{testCase: c}, launchCase{testCase: c}
	job.seconds = proveSeconds
	l, plan := m.launchUntilPlanned(t, job)
	p.changes, p.others = plan.Changes, l.others
	p.predicted = must.Get(perBatch(*plan.Effect, l.rep))(t)
	p.planted = p.predicted.Before

	b := m.newGPUBench(t, c)
	b.prepare(t, job)
	var follow []string
	for _, change := range plan.Changes {
		follow = append(follow, "--set", change.Setting+"="+change.To)
	}
	p.observed = p.rate(t, b, followSeconds, follow)
	reach := 2 * runtime.NumCPU() // what the moderate plan may use where workers mostly wait (docs/model.md)
	for _, workers := range []int{1, runtime.NumCPU(), runtime.NumCPU() + 1, reach, 2 * reach} {
		rate := p.rate(t, b, searchSeconds, append(follow, "--set", "num_workers="+strconv.Itoa(workers), "--set",
			"persistent_workers=True"))
		if p.beyond = math.Max(p.beyond, rate); workers <= reach && rate > p.best {
			p.best, p.bestWorkers = rate, workers
		}
	}
	return p
}

// launchUntilPlanned launches a job until its report has a plan.
func (m machine) launchUntilPlanned(t *testing.T, c launchCase) (launched, *report.Plan) {
	t.Helper()
	for tries := 1; ; tries++ {
		l := m.launchOnce(t, c)
		if plan := l.rep.Recommended(); plan != nil && plan.Effect != nil {
			return l, plan
		}
		why := withoutPlan(l.rep)
		if tries == mostLaunches {
			t.Fatalf("there is no plan: %s", why)
		}
		t.Logf("no plan, others used %.2f cores: %s; once more", l.others, why)
	}
}

// mostLaunches is how often a job is diagnosed until its report has a plan: beside other programs the model may not fit
// what was seen.
const mostLaunches = 2

// withoutPlan says why a report has no plan.
func withoutPlan(r *report.Report) string {
	for _, a := range r.Abstained {
		if a.Rule == "plans" {
			return a.Reason
		}
	}
	if r.Outlook != nil {
		return r.Outlook.Statement
	}
	return "the verdict is " + string(r.Verdict.Class)
}

// perBatch is an effect in batches per second.
func perBatch(e report.Effect, r *report.Report) (report.Effect, error) {
	scale := 0.0
	switch {
	case e.Metric == "batches_per_s":
		scale = 1
	case e.Metric == "samples_per_s" && r.Job.Loader.BatchSize != nil && *r.Job.Loader.BatchSize > 0:
		scale = 1 / float64(*r.Job.Loader.BatchSize)
	}
	if scale == 0 {
		return e, fmt.Errorf("the plan is about %s, which the stop-watch does not count", e.Metric)
	}
	e.Before, e.After, e.Lo, e.Hi = e.Before*scale, e.After*scale, e.Lo*scale, e.Hi*scale
	return e, nil
}

// rate is that of the job with other settings.
func (p *proof) rate(t *testing.T, b bench, seconds int, settings []string) float64 {
	t.Helper()
	rate, others := b.rate(t, p.testCase, seconds, settings)
	p.others = math.Max(p.others, others)
	return rate
}

// rate runs a job with other settings and nobody watching, and returns the batches per second that its stop-watch
// counts after the start, and the cores that others used.
func (b bench) rate(t *testing.T, c testCase, seconds int, settings []string) (rate, others float64) {
	t.Helper()
	c.args = slices.Concat(c.args, settings)
	cmd := b.timed(c, nil, strconv.Itoa(seconds))
	before := readCPU()
	b.startJob(t, cmd, b.work).ends(t, 2*time.Minute)
	others = before.others(readCPU(), cmd)
	readings := must.Get(readStopwatch(b.stopwatch()))(t)
	for _, r := range readings {
		end := readings[len(readings)-1]
		if r.T >= readings[0].T+proveWarmup && r.Batches > 0 && r.T < end.T {
			return (end.Batches - r.Batches) / (end.T - r.T), others
		}
	}
	t.Fatalf("%v: no batch came within %d s", settings, seconds)
	return 0, others
}
