package compare

import (
	"slices"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// TestConditions changes one thing of a report at a time, and expects it to be determined, with whether the figures can
// still be compared.
func TestConditions(t *testing.T) {
	metric := func(name string, center float64) func(r *report.Report) {
		return func(r *report.Report) { r.Metrics[name] = ratio(center) }
	}
	for _, c := range []struct {
		name       string
		before     func(r *report.Report)
		after      func(r *report.Report)
		condition  string
		comparable report.Comparability
	}{
		{"nothing", nil, nil, "", report.Comparable},
		{"another dataset", nil, func(r *report.Report) { r.Job.Dataset = "/other" }, "dataset", report.NotComparable},
		{"rewritten elsewhere", items("8x2 float32 0=aaaaaaaaaaaaaaaa 7=bbbbbbbbbbbbbbbb", "/a", 1000),
			items("8x2 float32 7=bbbbbbbbbbbbbbbb 0=aaaaaaaaaaaaaaaa 4=cccccccccccccccc", "/b", 3000), "dataset",
			report.WithCare},
		{"other items at another path", items("8x2 float32 0=aaaaaaaaaaaaaaaa 7=bbbbbbbbbbbbbbbb", "/a", 1),
			items("8x2 float32 0=aaaaaaaaaaaaaaaa 7=b0b0b0b0b0b0b0b0", "/b", 1), "items of the dataset",
			report.NotComparable},
		{"other items at the same path", items("8x2 float32 0=aaaaaaaaaaaaaaaa 7=bbbbbbbbbbbbbbbb", "/a", 1),
			items("8x2 float64 0=aaaaaaaaaaaaaaaa 7=bbbbbbbbbbbbbbbb", "/a", 1), "items of the dataset",
			report.NotComparable},
		{"a folder that was moved", items("2 names-00aa00aa00aa00aa 5=aaaaaaaaaaaaaaaa 9=bbbbbbbbbbbbbbbb", "/a", 10),
			items("2 names-00aa00aa00aa00aa 5=aaaaaaaaaaaaaaaa 9=bbbbbbbbbbbbbbbb", "/b", 10), "dataset",
			report.WithCare},
		{"pictures that were resized", items("2 names-00aa00aa00aa00aa 5=aaaaaaaaaaaaaaaa 9=bbbbbbbbbbbbbbbb", "/a",
			10), items("2 names-00aa00aa00aa00aa 5=cccccccccccccccc 9=dddddddddddddddd", "/b", 3), "dataset",
			report.WithCare},
		{"other pictures", items("2 names-00aa00aa00aa00aa 5=aaaaaaaaaaaaaaaa", "/a", 10),
			items("3 names-11aa00aa00aa00aa 5=aaaaaaaaaaaaaaaa", "/a", 10), "items of the dataset",
			report.NotComparable},
		{"no item read of both", items("8x2 float32 0=aaaaaaaaaaaaaaaa", "/a", 1),
			items("8x2 float32 7=bbbbbbbbbbbbbbbb", "/b", 1), "dataset", report.NotComparable},
		{"another GPU", gpu("A100"), gpu("H100"), "GPU", report.NotComparable},
		{"fewer CPUs", nil, func(r *report.Report) { r.Host.CPUsUsable = 1 }, "usable CPUs", report.NotComparable},
		{"a warm cache", metric("cache_hit_ratio", 0.1), metric("cache_hit_ratio", 0.99), "page cache",
			report.NotComparable},
		{"a cache as warm", metric("cache_hit_ratio", 0.95), metric("cache_hit_ratio", 0.99), "", report.Comparable},
		{"more data", metric("dataset_bytes", 1000), metric("dataset_bytes", 2000), "bytes of the dataset",
			report.NotComparable},
		{"larger batches of unknown size", metric("batch_bytes", 1000),
			func(r *report.Report) { r.Job.Loader.BatchSize = nil; metric("batch_bytes", 2000)(r) }, "bytes per batch",
			report.NotComparable},
		{"the hook", nil, func(r *report.Report) { r.Job.Mode = "launch" }, "pipetune's mode", report.WithCare},
		{"a replay", nil, func(r *report.Report) { r.Job.Mode = "replay" }, "", report.Comparable},
		{"another kernel", nil, func(r *report.Report) { r.Host.Kernel = "9" }, "kernel", report.WithCare},
		{"another command", nil, func(r *report.Report) { r.Job.Command = []string{"x"} }, "command", report.WithCare},
		{"moved", nil, func(r *report.Report) { r.Host.Storage[0].Kind = "tmpfs" }, "where the dataset lies",
			report.WithCare},
		{"nothing known", nil, func(r *report.Report) { r.Job, r.Host = nil, report.Host{} }, "", report.Comparable},
	} {
		b, a := load(t, fixtures+"workers-1.json"), load(t, fixtures+"workers-1-again.json")
		if c.before != nil {
			c.before(b)
		}
		if c.after != nil {
			c.after(a)
		}
		got := run(t, b, a, Options{})
		told := slices.ContainsFunc(got.Conditions, func(x report.Condition) bool {
			return x.Name == c.condition && x.Consequence != ""
		})
		if got.Comparable != c.comparable || told != (c.condition != "") {
			t.Errorf("%s: comparable %s, %+v", c.name, got.Comparable, got.Conditions)
		}
	}
}

func ratio(x float64) report.Metric {
	return report.Metric{Center: x, Lo: x, Hi: x, Confidence: 1, Unit: "ratio", Basis: report.Measured}
}

func items(digest, path string, bytes float64) func(r *report.Report) {
	return func(r *report.Report) {
		r.Job.Items, r.Job.Dataset = digest, path
		r.Metrics["dataset_bytes"] = report.Metric{Center: bytes, Lo: bytes, Hi: bytes}
	}
}

// TestARewrittenDatasetIsTheChangeThatWasAdvised: its prediction is judged by the chunk shape that the report tells,
// and what only went along with it is no change that was made.
func TestARewrittenDatasetIsTheChangeThatWasAdvised(t *testing.T) {
	b, a := load(t, fixtures+"workers-1.json"), load(t, fixtures+"workers-1-again.json")
	items("8x2 float32 0=aaaaaaaaaaaaaaaa", "/a", 1000)(b)
	items("8x2 float32 0=aaaaaaaaaaaaaaaa", "/b", 3000)(a)
	b.Job.Chunk, a.Job.Chunk = "8x2", "1x2"
	advise := func(rule, setting, to string) report.Finding {
		return report.Finding{Rule: rule, Severity: report.Error,
			Recommendations: []report.Recommendation{{Setting: setting, To: to,
				Effect: &report.Effect{Metric: "samples_per_s", Unit: "/s", Before: 1, After: 2, Lo: 1, Hi: 1e6,
					Basis: report.Modelled}}}}
	}
	b.Findings = []report.Finding{advise("hdf5/chunk-exceeds-cache", "HDF5 chunk shape", "1x2"),
		advise("storage/cold-cache", "page cache", "all of it")}
	b.Plans, a.Findings, a.Plans = nil, nil, nil
	c := run(t, b, a, Options{})
	if c.Comparable != report.WithCare || len(c.Predictions) != 2 || c.Predictions[0].Outcome != report.Inside ||
		c.Predictions[1].Outcome != report.Unjudged {
		t.Errorf("comparable %s, %+v", c.Comparable, c.Predictions)
	}
	a.Job.Chunk = "4x2"
	if c := run(t, b, a, Options{}); c.Predictions[0].Outcome != report.Unjudged || c.Predictions[0].Why == "" {
		t.Errorf("another chunk shape than was advised: %+v", c.Predictions[0])
	}
}

// cached makes the page cache all that differs.
func cached(before, after float64) func(b, a *report.Report) {
	return func(b, a *report.Report) {
		a.Job.Loader.NumWorkers = b.Job.Loader.NumWorkers
		b.Metrics["cache_hit_ratio"], a.Metrics["cache_hit_ratio"] = ratio(before), ratio(after)
	}
}

func gpu(name string) func(r *report.Report) {
	return func(r *report.Report) { r.Host.GPUs = []report.GPU{{Name: name, OfJob: true}} }
}

func TestBatchesOfAnotherSizeAreNotCompared(t *testing.T) {
	b, a := workers(t)
	b.Job.Loader.BatchSize, a.Job.Loader.BatchSize = new(32), new(64)
	c := run(t, b, a, Options{})
	if x := change(t, c, "batches_per_s"); x.Answer != report.Unclear || x.Note == "" {
		t.Errorf("batches of 32 and 64 were compared: %+v", x)
	}
	if x := change(t, c, "samples_per_s"); x.Answer != report.Better {
		t.Errorf("samples can be compared: %+v", x)
	}
}

func TestRules(t *testing.T) {
	finding := func(rule string, score float64) report.Finding {
		return report.Finding{Rule: rule, Score: score, Severity: report.Info}
	}
	b, a := workers(t)
	b.Findings = []report.Finding{finding("a/gone", 0.5), finding("a/unseen", 0.4), finding("a/stays", 0.2)}
	a.Findings = []report.Finding{finding("a/stays", 0.3), finding("a/came", 0.1)}
	a.Abstained = []report.Abstained{{Rule: "a/unseen", Reason: "no GPU"}}
	got := run(t, b, a, Options{}).Rules
	only := func(list []report.RuleChange, rule string) bool { return len(list) == 1 && list[0].Rule == rule }
	if !only(got.Resolved, "a/gone") || !only(got.New, "a/came") || !only(got.Remaining, "a/stays") ||
		!only(got.Unjudged, "a/unseen") || got.Unjudged[0].Why != "no GPU" {
		t.Errorf("%+v", got)
	}
}

// TestPredictions holds predictions of one report against what came, in all the ways that can end.
func TestPredictions(t *testing.T) {
	recommend := func(setting, to string, lo, hi float64) report.Finding {
		return report.Finding{Rule: "x/" + setting, Severity: report.Warning,
			Recommendations: []report.Recommendation{{Setting: setting, To: to,
				Effect: &report.Effect{Metric: "samples_per_s", Before: 497, After: lo, Lo: lo, Hi: hi, Unit: "1/s",
					Basis: report.Modelled}}}}
	}
	withoutFigure := func(rule, setting, to string) report.Finding {
		return report.Finding{Rule: rule, Recommendations: []report.Recommendation{{Setting: setting, To: to}}}
	}
	two, twoPersistent := recommend("num_workers", "2", 850, 1000), recommend("num_workers", "2", 850, 1000)
	twoPersistent.Recommendations[0].With = []report.Value{{Setting: "persistent_workers", To: "True"}}
	asManyWorkers := func(b, a *report.Report) { a.Job.Loader.NumWorkers = b.Job.Loader.NumWorkers }
	pinned := func(b, a *report.Report) { b.Job.Loader.PinMemory, a.Job.Loader.PinMemory = new(false), new(true) }
	deeper := func(b, a *report.Report) {
		b.Job.Loader.PrefetchFactor, a.Job.Loader.PrefetchFactor = new(2), new(8)
	}
	persistent := func(after bool) func(b, a *report.Report) {
		return func(b, a *report.Report) {
			b.Job.Loader.PersistentWorkers, a.Job.Loader.PersistentWorkers = new(false), new(after)
		}
	}
	type (
		findings = []report.Finding
		outcomes = []report.Outcome
	)
	for _, c := range []struct {
		name     string
		findings findings
		edit     func(b, a *report.Report)
		want     outcomes
		held, of int
	}{
		{"inside", findings{two}, nil, outcomes{report.Inside}, 1, 1},
		{"above", findings{recommend("num_workers", "2", 600, 700)}, nil, outcomes{report.Above}, 0, 1},
		{"below", findings{recommend("num_workers", "2", 1200, 1500)}, nil, outcomes{report.Below}, 0, 1},
		{"just outside", findings{recommend("num_workers", "2", 930, 1000)}, nil, outcomes{report.Uncertain}, 0, 0},
		{"below, while others took a core that the job wanted", findings{recommend("num_workers", "2", 1200, 1500)},
			func(b, a *report.Report) { // of the 2 cores that the job had before
				for r, others := range map[*report.Report]float64{b: 0, a: 0.9} {
					r.Metrics["other_cpu_cores"] = report.Metric{Center: others}
					r.Metrics["job_cpu_cores"] = report.Metric{Center: 2 - others}
					r.Metrics["usable_cpu_busy_ratio"] = report.Metric{Center: 1}
					r.Metrics["main_run_delay_ratio"] = report.Metric{Center: 0.4, Hi: 0.5}
				}
			}, outcomes{report.Uncertain}, 0, 0},
		{"another value", findings{recommend("num_workers", "6", 850, 1000)}, nil, outcomes{report.Unjudged}, 0, 0},
		{"told by two rules, counted once", findings{two, recommend("num_workers", "2", 1, 2)}, nil,
			outcomes{report.Inside}, 1, 1},
		{"something else was changed", findings{two}, pinned, outcomes{report.Unjudged}, 0, 0},
		{"something else was changed, as advised without a figure",
			findings{two, withoutFigure("loader/pageable-batches", "pin_memory", "True")}, pinned,
			outcomes{report.Inside}, 1, 1},
		{"a second setting of the same advice", findings{twoPersistent}, persistent(true),
			outcomes{report.Inside}, 1, 1},
		{"a second setting of the same advice, left as it is", findings{twoPersistent}, persistent(false),
			outcomes{report.Unjudged}, 0, 0},
		{"a second setting, to another value than advised",
			findings{two, withoutFigure("loader/prefetch-shallow", "prefetch_factor", "4")}, deeper,
			outcomes{report.Unjudged}, 0, 0},
		{"a plan's changes, all of them", findings{recommend("num_workers", "2", 500, 510)},
			func(b, a *report.Report) {
				effect := two.Recommendations[0].Effect
				b.Plans = []report.Plan{{Name: "moderate", Risk: "medium", Effect: effect,
					Changes: []report.Recommendation{{Setting: "num_workers", To: "2", Effect: effect},
						{Setting: "prefetch_factor", To: "8", Effect: effect}}}}
				deeper(b, a)
			}, outcomes{report.Unjudged, report.Unjudged, report.Inside}, 1, 1},
		{"another machine", findings{two}, func(b, a *report.Report) { a.Host.CPUsPresent = 64 },
			outcomes{report.Unjudged}, 0, 0},
		{"two changes, together",
			findings{recommend("num_workers", "2", 700, 800), recommend("pin_memory", "True", 500, 520)},
			func(b, a *report.Report) {
				b.Joint = &report.Effect{Metric: "samples_per_s", Lo: 500, Hi: 1000, Unit: "1/s",
					Basis: report.Modelled}
				pinned(b, a)
			}, outcomes{report.Unjudged, report.Unjudged, report.Inside}, 1, 1},
		{"what no report tells, by its finding", findings{recommend("opening the file", "once", 850, 1000)},
			asManyWorkers, outcomes{report.Inside}, 1, 1},
		{"a finding that a setting may have resolved", findings{two, recommend("bytes per read", "more", 1, 2)}, nil,
			outcomes{report.Inside, report.Unjudged}, 1, 1},
		{"what its figure shows, and it did not fall",
			findings{recommend("other programs on this machine", "none", 850, 1000)}, func(b, a *report.Report) {
				b.Findings[0].Recommendations[0].Falls = "other_cpu_cores"
				asManyWorkers(b, a)
				b.Metrics["other_cpu_cores"] = report.Metric{Center: 0.9, Lo: 0.8, Hi: 1}
				a.Metrics["other_cpu_cores"] = report.Metric{Center: 1, Lo: 0.9, Hi: 1.1}
			}, outcomes{report.Unjudged}, 0, 0},
		{"what its figure shows, and it fell", findings{recommend("collate_fn", "one copy", 850, 1000)},
			func(b, a *report.Report) {
				b.Findings[0].Recommendations[0].Falls = "made_item_collate_s"
				asManyWorkers(b, a)
				b.Metrics["made_item_collate_s"] = report.Metric{Center: 9e-3, Lo: 8e-3, Hi: 10e-3}
				a.Metrics["made_item_collate_s"] = report.Metric{Center: 1e-3, Lo: 1e-3, Hi: 2e-3}
			}, outcomes{report.Inside}, 1, 1},
		{"a cache that was to be warmed, and is", findings{recommend("page cache", "all of it", 850, 1000)},
			cached(0.1, 0.99), outcomes{report.Inside}, 1, 1},
		{"a cache that was to be warmed, and is colder", findings{recommend("page cache", "all of it", 850, 1000)},
			cached(0.9, 0.1), outcomes{report.Unjudged}, 0, 0},
	} {
		b, a := workers(t)
		b.Findings, b.Joint = c.findings, nil
		if c.edit != nil {
			c.edit(b, a)
		}
		got := run(t, b, a, Options{})
		var outcomes []report.Outcome
		for _, p := range got.Predictions {
			outcomes = append(outcomes, p.Outcome)
			if p.Outcome == report.Unjudged && p.Why == "" {
				t.Errorf("%s: not judged, and no word why", c.name)
			}
		}
		tally := report.Tally{}
		if got.Tally != nil {
			tally = *got.Tally
		}
		if counted := tally.Judged + tally.Uncertain + tally.Unjudged; counted != len(got.Predictions) {
			t.Errorf("%s: %d of %d predictions counted", c.name, counted, len(got.Predictions))
		}
		if !slices.Equal(outcomes, c.want) || tally.Held != c.held || tally.Judged != c.of {
			t.Errorf("%s: %v, %d of %d; want %v, %d of %d", c.name, outcomes, tally.Held, tally.Judged, c.want, c.held,
				c.of)
		}
	}
}
