package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/tune"
	"github.com/pipetune/pipetune/pkg/report"
)

// tuneOptions are what tune has beyond a diagnosis.
type tuneOptions struct {
	budget     time.Duration
	batchSizes []int
}

const (
	tuneWatch   = 15 * time.Second // of the loop as it is
	leastTuning = 30 * time.Second
	// workersPerCPU bounds the workers that are tried where they mostly wait; where they compute, one per CPU and a half are.
	workersPerCPU, computingPerCPU = 4, 1.5
)

func newTune(env Env) *cobra.Command {
	o := &diagnoseOptions{interval: 100 * time.Millisecond, headroom: true, then: thenTerminate, explicit: true, tune: &tuneOptions{}}
	c := &cobra.Command{
		Use:   "tune [flags] -- COMMAND [ARGS]...",
		Short: "measure settings of the DataLoader in the job itself, and tell the smallest that is fast",
		Long: `tune starts a training job and measures, with no change of code: the loop as it is, the
loop with data for free, settings of the DataLoader on their own, each over the
same dataset, sampler, collate_fn and worker_init_fn, and the best two in the
loop. Then the job is ended with SIGTERM: it has trained on the same batches again
and again, and its samplers were used up, so what it has learned is not valid. Give
it an output folder that may be thrown away.

It tries num_workers, persistent_workers, pin_memory and prefetch_factor, keeps to
the usable CPUs, the memory and /dev/shm, and stops at --budget. The choice is the
smallest setting within 3 % of the best; "nothing to gain" is an answer. With Ctrl-C
what was learned so far is reported.`,
		Example: `  pipetune tune -- python train.py
  pipetune tune --budget 5m -o tune.json -o fix.patch -- python train.py
  pipetune tune --batch-sizes 32,64 -- python train.py`,
		Args: func(c *cobra.Command, args []string) error {
			if c.ArgsLenAtDash() != 0 || len(args) == 0 || args[0] == "" {
				return fail(exitUsage, "for example: pipetune tune -- python train.py", "tune starts the command after --, and there is none")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.warmup = defaultWarmup(o.duration)
			if err := o.tune.check(); err != nil {
				return err
			}
			return runLaunch(c.Context(), env, o, args)
		},
	}
	f := c.Flags()
	f.DurationVar(&o.tune.budget, "budget", 3*time.Minute, "how long to measure settings, from the end of the first watch on")
	f.DurationVar(&o.duration, "duration", tuneWatch, "how long to watch the loop as it is, warm-up included")
	f.IntSliceVar(&o.tune.batchSizes, "batch-sizes", nil, "also measure these batch sizes in the loop; none of them is chosen, since they change training")
	f.BoolVar(&o.noRedact, "no-redact", false, "keep user name, host name, folders and command line as they are")
	f.BoolVar(&o.noArgs, "no-arguments", false, "keep no arguments of command lines at all")
	o.addFlags(c)
	f.SetInterspersed(false)
	return c
}

func (o *tuneOptions) check() error {
	if o.budget < leastTuning {
		return fail(exitUsage, "", "--budget %s: at least %s is needed", o.budget, leastTuning)
	}
	if slices.ContainsFunc(o.batchSizes, func(n int) bool { return n < 1 }) {
		return fail(exitUsage, "", "--batch-sizes: must be above 0")
	}
	return nil
}

// spoiled is said before a job is started that is going to be tuned.
const spoiled = "tune hands the job other batches than it asks for, and ends it with SIGTERM: what it trains is not valid, nor is a checkpoint that it " +
	"writes meanwhile or as it ends. Give it an output folder that may be thrown away"

// tuned measures settings in the job that was watched, and says what came of it.
func (l *launched) tuned(rec *recording.Recording) *report.Tuning {
	begun := time.Now()
	out := &report.Tuning{Outcome: report.TuningNone, Rows: []report.TuningRow{}, BudgetS: l.o.tune.budget.Seconds()}
	e, err := evidence.FromRecording(rec)
	if err == nil && !l.Interrupted() {
		err = l.search(e, begun, out)
	}
	switch {
	case l.Interrupted() && len(out.Rows) == 0:
		out.Statement = "It was interrupted before a setting was measured."
	case err != nil:
		out.Statement = "No setting was measured: " + err.Error() + "."
	}
	out.SpentS = time.Since(begun).Seconds()
	return out
}

// search measures.
func (l *launched) search(e *evidence.Evidence, begun time.Time, out *report.Tuning) error {
	bench, err := l.Bench()
	if err != nil {
		return err
	}
	rate, ok := e.Get(metric.BatchesPerS)
	if !ok {
		return fmt.Errorf("how fast the loop is now could not be measured")
	}
	free, _ := e.Get(metric.FreeRate)
	made := bench.Loader.Made
	now := tune.Setting{Pin: made.PinMemory != nil && *made.PinMemory}
	if made.NumWorkers != nil && *made.NumWorkers > 0 {
		now.Workers, now.Prefetch = *made.NumWorkers, predict.DefaultPrefetch
		if made.Prefetch != nil {
			now.Prefetch = *made.Prefetch
		}
		now.Persistent = made.Persistent != nil && *made.Persistent
	}
	usable, _ := e.Get(metric.UsableCPUs)
	job := tune.Job{Now: now, Rate: rate.Summary, Free: free.Summary, Epoch: bench.Loader.Batches, Batches: l.o.tune.batchSizes, Pins: e.Facts.GPUName != "",
		Most: max(int(math.Ceil(usable.Center*workersPerCPU)), 1),
		Fits: func(tune.Setting) string { return bench.Gone() },
		Left: func() time.Duration {
			if bench.Gone() != "" {
				return 0
			}
			return l.o.tune.budget - time.Since(begun)
		}}
	l.model(e, bench.Gone, &job)
	result := tune.Search(bench, job)
	if bench.Gone() != "" {
		result.Ended = bench.Gone()
	}
	tell(out, result, job)
	return nil
}

// model lets the search begin where the model of the loader points, and keep to what fits here.
func (l *launched) model(e *evidence.Evidence, gone func() string, job *tune.Job) {
	m, ok := diagnose.LoaderOf(e, diagnose.OwnError(e))
	if !ok {
		return
	}
	if needed, ok := m.WorkersNeeded(false); ok {
		job.First = needed.Workers
	}
	if m.Wait.Center < m.CPU.Center { // they compute
		job.Most = max(int(math.Ceil(m.UsableCPUs*computingPerCPU)), 2)
	}
	plain := func(set tune.Setting) predict.Setting {
		if set.Start = m.Setting.Start; set.Workers == 0 {
			return predict.Setting{}
		}
		set.Unordered = m.Setting.Unordered
		return set.Setting
	}
	job.Fits = func(set tune.Setting) string {
		if why := gone(); why != "" {
			return why
		}
		reach := predict.Reach{Memory: 0.75, PerCore: workersPerCPU, Waiting: workersPerCPU}
		if limit := m.Limit(plain(set), reach); limit != predict.NoClamp {
			return "beyond " + string(limit)
		}
		return ""
	}
	if m.Metric == diagnose.Relative {
		return
	}
	job.Forecast = func(set tune.Setting) (tune.Expected, bool) {
		_, effect, ok := m.Predict(plain(set), predict.Remedy{})
		if !ok {
			return tune.Expected{}, false
		}
		return tune.Expected{Lo: effect.Lo / m.PerBatch, Center: effect.After / m.PerBatch, Hi: effect.Hi / m.PerBatch}, true
	}
}

// tell puts the result into the report's form.
func tell(out *report.Tuning, result tune.Result, job tune.Job) {
	out.Ended = result.Ended
	for _, r := range result.Rows {
		row := report.TuningRow{NumWorkers: r.Workers, PrefetchFactor: r.Prefetch, PersistentWorkers: r.Persistent, PinMemory: r.Pin, Present: r.Present,
			Alone: interval(r.Alone.Summary), InLoop: interval(r.InLoop.Summary), Why: r.Alone.Why}
		if r.Batch > 0 {
			row.BatchSize = &r.Batch
		}
		if r.InLoop.Why != "" {
			row.Why = r.InLoop.Why
		}
		for _, m := range []tune.Rate{r.Alone, r.InLoop} {
			row.MemoryBytes, row.ShmBytes = more(row.MemoryBytes, m.Memory), more(row.ShmBytes, m.Shm)
		}
		if f := r.Forecast; f != nil {
			row.Forecast = &report.Interval{Center: f.Center, Lo: f.Lo, Hi: f.Hi}
			row.Score = score(r.InLoop.Summary, *f)
		}
		out.Rows = append(out.Rows, row)
	}
	chosen := result.Rows[result.Chosen]
	out.Chosen, out.Outcome = &result.Chosen, report.TuningNothing
	if !result.Tried {
		out.Chosen, out.Outcome, out.Statement = nil, report.TuningNone, "No other setting was measured in the loop."
		return
	}
	if chosen.Present {
		out.Statement = "Nothing to gain: no setting that was measured brings 3 %."
		return
	}
	after := chosen.InLoop
	out.Outcome = report.TuningChange
	out.Gain = &report.Interval{Center: after.Center / job.Rate.Center, Lo: after.Lo / job.Rate.Hi, Hi: after.Hi / job.Rate.Lo}
	out.Statement = fmt.Sprintf("%.2f times as fast, measured in the loop.", out.Gain.Center)
}

// score says how a forecast did.
func score(s stat.Summary, f tune.Expected) string {
	switch {
	case s.N == 0:
		return ""
	case s.Center > f.Hi:
		return string(report.Above)
	case s.Center < f.Lo:
		return string(report.Below)
	}
	return string(report.Inside)
}

func interval(s stat.Summary) *report.Interval {
	if s.N == 0 || !stat.Finite(s.Center, s.Lo, s.Hi) {
		return nil
	}
	return &report.Interval{Center: s.Center, Lo: s.Lo, Hi: s.Hi}
}

// more is the larger of what is known.
func more(known *int64, n int64) *int64 {
	if n < 0 || known != nil && *known >= n {
		return known
	}
	return &n
}

// decided makes the setting that was chosen what the report comes to: it was measured, and what was forecast before gives way.
func decided(r *report.Report) {
	t := r.Tuning
	r.Plans, r.Joint = []report.Plan{}, nil
	r.Decisions = []report.Decision{}
	if t.Chosen == nil || t.Outcome != report.TuningChange {
		return
	}
	now, to := t.Rows[0], t.Rows[*t.Chosen]
	var changed []report.Recommendation
	add := func(setting, from, value string) {
		if from != value {
			changed = append(changed, report.Recommendation{Setting: setting, From: &from, To: value, Why: "measured in the loop"})
		}
	}
	add("num_workers", strconv.Itoa(now.NumWorkers), strconv.Itoa(to.NumWorkers))
	if to.NumWorkers > 0 {
		if now.NumWorkers > 0 || to.PrefetchFactor != predict.DefaultPrefetch {
			add("prefetch_factor", strconv.Itoa(now.PrefetchFactor), strconv.Itoa(to.PrefetchFactor))
		}
		add("persistent_workers", python(now.PersistentWorkers), python(to.PersistentWorkers))
	}
	add("pin_memory", python(now.PinMemory), python(to.PinMemory))
	for i, c := range changed {
		for j, other := range changed {
			if i != j {
				c.With = append(c.With, report.Value{Setting: other.Setting, To: other.To})
			}
		}
		c.Effect = &report.Effect{Metric: metric.BatchesPerS.Name, Unit: string(metric.BatchesPerS.Unit), Basis: report.Measured, Before: now.InLoop.Center,
			After: to.InLoop.Center, Lo: to.InLoop.Lo, Hi: to.InLoop.Hi}
		d := report.Decision{Recommendation: c, Outcome: report.ToChange}
		if j := r.Job; j != nil && j.Loader != nil && j.Loader.Iterable && j.Loader.Shards == nil && to.NumWorkers > 1 && now.NumWorkers <= 1 {
			d.Hold = report.HoldIterable
		}
		r.Decisions = append(r.Decisions, d)
	}
}

func python(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
