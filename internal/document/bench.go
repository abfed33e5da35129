package document

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// benchmark fills in the document of bench-io: what came out, why and what next first; then what was measured, in the
// order a reader asks for it.
func benchmark(d *Document, r *report.Report) {
	b := r.Benchmark
	d.Subject = datasetLine(b)
	d.Key, d.Title, d.Tone = r.Kind+":v1", "pipetune bench-io: "+b.Path, benchTone(r)
	d.Answer = &Answer{Label: "Result", Headline: cmp.Or(b.Headline, "nothing could be summed up"), Why: b.Statement}
	d.Answer.Short = strings.TrimSuffix(sentence(d.Answer.Headline), ".")
	if b.Interrupted {
		d.Answer.Lines = []Line{{Label: "Note", Text: "Interrupted: what was measured until then."}}
	}
	d.Method = append(benchMethod(r), d.Method...)
	for _, l := range b.Libraries {
		d.Setup = append(d.Setup, "library: "+l)
	}
	d.add(datasetSection(r), itemsSection(r), phasesSection(r), workersSection(r), forecastSection(r),
		findingsSection(r))
	d.add(chunksSection(r), trySection(r), tierSection(r), hdf5Section(r), batchSection(r), deviceSection(r),
		gapsSection(r))
	d.add(unreadSection(b), outsideSection(b), section("Notes", "", Supporting, List(r.Warnings)), allFigures(r))
	d.More = supporting(d)
}

// datasetLine names the dataset: its path, what it is, how much of it there is, and where it lies.
func datasetLine(b *report.Benchmark) string {
	parts := []string{b.Path, kindText(b), unit.Count(b.Files, "file", "files") + ", " + unit.Bytes(float64(b.Bytes))}
	if b.Storage != nil {
		parts = append(parts, storageText(b.Storage))
	}
	return strings.Join(parts, " · ")
}

// supporting lists the sections that the first screen leaves out; "" where there are none.
func supporting(d *Document) string {
	var titles []string
	for _, s := range d.Sections {
		if s.Weight == Supporting {
			titles = append(titles, "“"+s.Title+"”")
		}
	}
	return strings.Join(titles, ", ")
}

// benchTone follows the worst finding.
func benchTone(r *report.Report) Tone {
	tone := Good
	for _, f := range r.Findings {
		if f.Severity != report.Info {
			return Caution
		}
		tone = Plain
	}
	return tone
}

func unreadSection(b *report.Benchmark) Section {
	var facts Facts
	for _, u := range b.Unread {
		what := unit.Count(u.Count, "file", "files")
		if u.Items > 0 {
			what = unit.Count(u.Items, "item", "items") + " of " + what
		}
		facts = append(facts, Fact{what, u.Reason + ", such as " + u.Example})
	}
	return section("Not read", "", Main, facts)
}

// mostOutside bounds the list of files outside of the dataset; JSON has all.
const mostOutside = 5

func outsideSection(b *report.Benchmark) Section {
	list := slices.Clone(b.Outside)
	if left := len(list) - mostOutside; left > 0 {
		list = append(list[:mostOutside], fmt.Sprintf("and %d more", left))
	}
	return section("Outside files", "named by the dataset; --follow reads them", Supporting, List(list))
}

// benchMethod says how it was measured: the budget, the sample, how cold cold reads were, and what others took of the
// CPUs.
func benchMethod(r *report.Report) []string {
	b := r.Benchmark
	used := fmt.Sprintf("%s used of a budget of %s; sample: %s of %s, %s, seed %d", unit.Seconds(b.UsedS),
		unit.Seconds(b.BudgetS), unit.Count(int64(b.Sample.Files), "file", "files"),
		unit.Bytes(float64(b.Sample.Bytes)), unit.Count(int64(b.Sample.Items), "item", "items"), b.Sample.Seed)
	lines := []string{used, coldText(b.Cold)}
	if slices.ContainsFunc(r.Measurements, func(m report.Measurement) bool { return rough(m.Value) }) {
		lines = append(lines, "~: the 95 % interval is wider than ±5 %, or there is none; a larger --budget narrows it")
	}
	others, usable := r.Metrics[metric.OtherCPU.Name].Center, r.Metrics[metric.UsableCPUs.Name].Center
	if usable > 0 && others/usable >= leastOthers {
		lines = append(lines, fmt.Sprintf("other programs used %s of %s CPUs meanwhile: rows may not agree, and what "+
			"computes would be faster without them", unit.Number(others), unit.Number(usable)))
	}
	return lines
}

// coldText says how it is known that cold reads were cold.
func coldText(c report.Cold) string {
	switch {
	case !c.Possible:
		return "no cold reads: " + cmp.Or(c.Reason, "the reason is not known")
	case c.CachedRatio != nil:
		left := unit.Percent(*c.CachedRatio)
		return "cold verified by " + orUnknown(c.How) + ": " + left + " of the pages were left in the page cache"
	}
	return "cold reads, verified by " + orUnknown(c.How)
}

// allFigures lists every figure with its interval, for those who look for one that no other table shows.
func allFigures(r *report.Report) Section {
	t := &Table{Columns: []Column{{"probe", false}, {"", false}, {"figure", false}, {"", true}, {"95 % CI", true},
		{"n", true}}}
	for _, m := range r.Measurements {
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
			if name != report.LabelCommand {
				labels = append(labels, m.Labels[name])
			}
		}
		t.add(m.Probe, strings.Join(labels, ", "), m.Metric, unit.Format(m.Value.Center, m.Value.Unit),
			within(&m.Value), fmt.Sprint(m.Value.N))
	}
	return section("All figures", "", Reference, t)
}
