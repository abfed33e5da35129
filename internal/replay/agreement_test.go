package replay

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// disagreements are what a report says of a setting in one place and otherwise in another.
func disagreements(r *report.Report) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	decided := map[string]report.Decision{}
	for _, d := range r.Decided() {
		if _, twice := decided[d.Setting]; twice {
			say("two decisions on %s", d.Setting)
		}
		decided[d.Setting] = d
	}
	named := func(who string, c report.Recommendation) {
		if d, ok := decided[c.Setting]; !ok || d.Outcome == report.ToLeave || d.To != c.To {
			say("%s has %s=%s, decided is %+v", who, c.Setting, c.To, d)
		}
		for _, w := range c.With {
			if d, ok := decided[w.Setting]; ok && d.Outcome == report.ToChange && !strings.EqualFold(d.To, w.To) {
				say("%s has %s=%s along with %s, decided is %s", who, w.Setting, w.To, c.Setting, d.To)
			}
		}
	}
	for _, f := range r.Findings {
		for _, c := range f.Recommendations {
			named(f.Rule, c)
		}
		for _, u := range f.Unhelpful {
			if d := decided[u.Setting]; d.Outcome == report.ToChange && u.Within == "" &&
				r.RuledOut(d.Setting, d.From, d.To) != nil {
				say("%s=%s is decided, and %s says: %s", d.Setting, d.To, f.Rule, u.Why)
			}
		}
	}
	for _, p := range r.Plans {
		for _, c := range p.Changes {
			named(p.Name, c)
		}
	}
	worthless := r.Outlook != nil && r.Outlook.Outcome != report.OutcomeWorthwhile
	for _, d := range r.Ready() {
		if worthless && slices.Contains(report.Simulated, d.Setting) && strings.Contains(r.Outlook.Statement,
			"Nothing is worth changing") {
			say("%s=%s is decided, and the outlook says that nothing is worth changing", d.Setting, d.To)
		}
	}
	return all
}

// TestOneVoice holds every recording, report and benchmark of the repository to one decision for each setting.
func TestOneVoice(t *testing.T) {
	judgedAll, changes := 0, 0
	err := filepath.WalkDir("../../testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		folder := filepath.Base(filepath.Dir(path))
		var r *report.Report
		switch {
		case strings.HasSuffix(path, ".jsonl.gz") && (folder == "suite" || folder == "old"):
			r = reportOf(t, must.Read(t, path, must.Unzipped(recording.Read)))
		case filepath.Ext(path) == ".jsonl" && strings.Contains(path, "recordings"), folder == "cases" &&
			filepath.Ext(path) == ".jsonl":
			r = judged(t, path)
		case folder == "cases" && filepath.Ext(path) == ".json":
			r = fieldReport(t, filepath.Base(path))
		case folder == "reports" && filepath.Ext(path) == ".json":
			r = decoded(t, path)
			r.Plans = nil // before there were decisions, plans could differ in a value
		default:
			return nil
		}
		judgedAll++
		changes += len(r.Ready())
		for _, d := range disagreements(r) {
			t.Errorf("%s: %s", path, d)
		}
		return nil
	})
	if err != nil || judgedAll < 100 || changes < 50 {
		t.Errorf("%d reports with %d changes: %v", judgedAll, changes, err)
	}
}

// FuzzOneVoice judges made-up evidence: whatever is seen, a report does not contradict itself.
func FuzzOneVoice(f *testing.F) {
	for seed := range 40 {
		data := make([]byte, 300)
		for i := range data {
			data[i] = byte((i*i*31 + seed*97 + i*seed*7) >> 2)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		at := 0
		next := func() byte {
			if at++; at > len(data) {
				return 0
			}
			return data[at-1]
		}
		e := madeUp(next)
		r := diagnose.Run(e, rules.All())
		if v := diagnose.Verdict(e, rules.All()); v.Class != r.Verdict.Class || v.Confidence != r.Verdict.Confidence {
			t.Errorf("the verdict alone is %s (%s), the report's %s (%s)", v.Class, v.Confidence, r.Verdict.Class,
				r.Verdict.Confidence)
		}
		if err := r.Validate(); err != nil {
			t.Error(err)
		}
		for _, d := range disagreements(r) {
			t.Error(d)
		}
	})
}

// madeUp is evidence of a job: of a loader whose figures fit each other, with some other signals, or of any figures.
func madeUp(next func() byte) *evidence.Evidence {
	values := map[string]evidence.Value{}
	set := func(d metric.Desc, x float64) {
		values[d.Name] = evidence.Value{Summary: stat.Exact(x), Basis: metric.Measured}
	}
	sound := next()%4 != 0
	for _, d := range slices.Concat(metric.Derived, metric.HookDerived) {
		if b := next(); b%4 != 0 && !sound || b%16 == 0 {
			set(d, valueOf(d.Unit, next()))
		}
	}
	set(metric.WindowTime, 30)
	if sound {
		workers, cpu, step := float64(next()%6), valueOf(metric.Seconds, next()%12), valueOf(metric.Seconds, next()%12)
		var rate, loading float64
		if workers == 0 {
			rate, loading = 1/(cpu+step), cpu/(cpu+step)
			set(metric.FetchTime, cpu)
			set(metric.InWorkerless, loading)
		} else {
			rate = min(workers/cpu, 1/step)
			loading = max(1-rate*step, 0)
			set(metric.WorkerBusy, rate*cpu/workers)
			set(metric.WorkerRunning, rate*cpu/workers)
			set(metric.WorkerIdle, 1-rate*cpu/workers)
			set(metric.WorkerCPU, rate*cpu/workers)
			set(metric.WorkerCPUBatch, cpu)
			set(metric.WorkerRunDelay, 0)
		}
		set(metric.NumWorkers, workers)
		set(metric.BatchesPerS, rate)
		set(metric.FreeStepTime, step)
		set(metric.InputWait, loading)
		set(metric.UsableCPUs, float64(1+next()%12))
		set(metric.TrainerStopped, 0)
		set(metric.SampleCoverage, 1)
		set(metric.HostTime, 1-loading)
	}
	return evidence.New(values, madeUpFacts(next))
}

// valueOf is one such as a signal of a unit may have.
func valueOf(unit metric.Unit, b byte) float64 {
	x := float64(b) / 255
	switch unit {
	case metric.Ratio:
		return x
	case metric.Seconds:
		return 1e-4 * float64(int(1)<<(b%16))
	case metric.Bytes:
		return float64(int64(1) << (10 + b%26))
	}
	return float64(b % 40)
}

func madeUpFacts(next func() byte) evidence.Facts {
	facts := evidence.Facts{Framework: "pytorch"}
	pick := func(words ...string) string { return words[int(next())%len(words)] }
	truth := func() *bool { b := next()%2 == 0; return &b }
	number := func() *int { n := int(next() % 20); return &n }
	facts.StartMethod, facts.DatasetKind, facts.Extension = pick("", "fork", "spawn"), pick("", "hdf5", "image"),
		pick("", ".png", ".jpg")
	facts.GPUName, facts.StorageKind = pick("", "A"), pick("disk", "tmpfs", "network")
	facts.Persistent, facts.PinMemory, facts.Prefetch, facts.BatchSize = truth(), truth(), number(), number()
	if next()%2 == 0 {
		facts.Hook = &evidence.Hook{Torch: pick("1.13.1", "2.6.0"),
			Epoch: evidence.EpochCost{Batches: stat.Exact(float64(1 + next())),
				Create: stat.Exact(0.01), First: stat.Exact(0.2), Drain: stat.Exact(0.01)}}
		facts.Hook.Loader.InOrder, facts.Hook.Loader.Iterable = truth(), next()%4 == 0
	}
	return facts
}
