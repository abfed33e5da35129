package diagnose

import (
	"maps"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// Bench judges what bench-io measured: it adds to its report what follows from the evidence by the measured half
// of each rule, and what to say first. It makes no verdict and no plans: both are about a job, and none was seen.
// A report without a Benchmark is left as it is.
func Bench(r *report.Report, e *evidence.Evidence, rules []Rule) {
	if r.Benchmark == nil {
		return
	}
	judgeAll(r, rules, func(rule *Rule) ([]report.Finding, []report.Abstained) { return JudgeMeasured(rule, e) })
	reconcile(r.Findings)
	conclude(r)
	if r.Metrics == nil {
		r.Metrics = map[string]report.Metric{}
	}
	maps.Copy(r.Metrics, metrics(e, metric.BenchDerived))
	r.Phases = itemPhases(e)
	r.Benchmark.Headline = headline(e)
	timed := func(m report.Measurement) bool { return m.Metric == metric.ItemTime.Name }
	if r.Benchmark.Headline == "" && !r.Benchmark.Interrupted && !slices.ContainsFunc(r.Measurements, timed) {
		r.Benchmark.Headline = "no item was timed"
	}
	r.Benchmark.Statement = benchStatement(e, r)
	r.Next = benchNext(e, r)
}

// MemoryShare is the part of the memory a dataset may fill and still count as fitting: the job itself needs the rest.
var MemoryShare = Limit{"dataset over available memory", 0.5, metric.Ratio,
	"TensorFlow root_dataset: tf.data's autotuner gives its buffers half of the available RAM"}

// Settled is the time per item that training sees after its first epoch: the warm one where the dataset fits in
// memory, the cold one where it does not. Where only one was measured it is that one. False: neither was.
func Settled(e *evidence.Evidence) (item evidence.Value, isCold, ok bool) {
	warm, haveWarm := e.Get(metric.BenchItem)
	cold, haveCold := e.Get(metric.BenchColdItem)
	if haveCold && (!haveWarm || Outgrows(e)) {
		return cold, true, true
	}
	return warm, false, haveWarm
}

// Outgrows reports whether the dataset is known not to fit in memory, so that every epoch reads it from storage.
func Outgrows(e *evidence.Evidence) bool {
	memory, ok := e.Get(metric.BenchMemory)
	return ok && memory.Center > MemoryShare.Value
}

// rewritable are the rules whose cure --try can measure: it rewrites what lies in a file, and packs pictures.
var rewritable = []string{"hdf5/chunk-exceeds-cache", "hdf5/chunk-mismatch", "hdf5/filter-cpu", "image/png-decode",
	"storage/small-files"}

// benchNext lists commands worth running, ready to copy.
func benchNext(e *evidence.Evidence, r *report.Report) []string {
	bench := "pipetune bench-io " + ShellWord(r.Benchmark.Path)
	if d := r.Benchmark.Dataset; d != "" {
		bench += " --dataset " + ShellWord(d)
	}
	members := e.Facts.HDF5 != nil && e.Facts.HDF5.Members // which are not rewritten or copied
	onTmp := strings.HasPrefix(r.Benchmark.Path, "/tmp/")
	// of no use where layouts were tried, or none could be
	tried := len(e.Bench.Candidates) > 0 || slices.ContainsFunc(r.Abstained, func(a report.Abstained) bool {
		return a.Rule == "" && slices.Contains(a.Missing, report.ProbeTry)
	})
	var out []string
	add := func(command string) {
		if !slices.Contains(out, command) {
			out = append(out, command)
		}
	}
	for _, f := range r.Findings {
		if f.Severity == report.Info {
			continue
		}
		if len(out) == 0 {
			add("pipetune explain " + f.Rule)
		}
		group, _, _ := strings.Cut(f.Rule, "/")
		switch {
		case members:
		case slices.Contains(rewritable, f.Rule) && !tried:
			add(bench + " --try")
		case group == "storage" && f.Rule != "storage/crowded-folder" && !e.Bench.Compared && !onTmp:
			add(bench + " --compare-path /tmp")
		}
	}
	// Pictures that are large, of which nobody knows how large training needs them.
	large := slices.ContainsFunc(r.Abstained, func(a report.Abstained) bool {
		return a.Rule == "image/oversized" && strings.HasSuffix(a.Cure, "--try")
	})
	if large && !tried {
		add(bench + " --try")
	}
	return out
}
