package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// bench writes a report of bench-io for a terminal: what came out, why and what next first; then what was measured, in the order a
// reader asks for it.
func (p *page) bench(r *report.Report) {
	b := r.Benchmark
	p.result(r)
	p.section(datasetSection(r))
	p.section(itemsSection(r))
	p.phases(r)
	p.section(workersSection(r))
	p.section(forecastSection(r))
	p.findings(r)
	for _, s := range []section{trySection(r), tierSection(r), hdf5Section(r), batchSection(r), deviceSection(r)} {
		p.section(s)
	}
	p.unseen(r)
	p.section(unreadSection(b))
	p.section(outsideSection(b))
	p.warnings(r)
	p.gap()
	for i, n := range r.Next {
		if i > 0 { // the first stands at the top
			p.line("Then:    ", safe(n))
		}
	}
	for _, s := range benchFooter(r) {
		for _, l := range wrap(safe(s), width) {
			p.line(p.paint(dim, l))
		}
	}
}

func (p *page) result(r *report.Report) {
	for i, l := range wrap(cmp.Or(safe(r.Benchmark.Headline), "nothing could be summed up"), width-columns("RESULT   ")) {
		p.line(p.paint(bold, []string{"RESULT   ", "         "}[min(i, 1)]+l))
	}
	if r.Benchmark.Interrupted {
		p.wrapped("Mind     ", "Interrupted: what was measured until then.")
	}
	p.wrapped("Why      ", safe(r.Benchmark.Statement))
	if len(r.Next) > 0 {
		p.line("Next     ", safe(r.Next[0]))
	}
}

// unreadSection lists files that could not be read.
func unreadSection(b *report.Benchmark) section {
	s := section{title: "NOT READ"}
	for _, u := range b.Unread {
		s.facts = append(s.facts, fact{plural(u.Count, "file"), u.Reason + ", such as " + cut(safe(u.Example), width/2)})
	}
	return s
}

// mostOutside bounds the list of files outside of the dataset; JSON has all.
const mostOutside = 5

func outsideSection(b *report.Benchmark) section {
	s := section{title: "OUTSIDE FILES", about: "named by the dataset; --follow reads them"}
	for i, o := range b.Outside {
		if i == mostOutside {
			s.notes = append(s.notes, fmt.Sprintf("and %d more", len(b.Outside)-i))
			break
		}
		s.notes = append(s.notes, cut(safe(o), width-2))
	}
	return s
}

// benchFooter says how it was measured: the budget, the sample, how cold cold reads were, and what the measuring cost.
func benchFooter(r *report.Report) []string {
	b := r.Benchmark
	lines := []string{fmt.Sprintf("%s used of a budget of %s; sample: %s of %s, %s, seed %s", unit.Seconds(b.UsedS), unit.Seconds(b.BudgetS),
		plural(int64(b.Sample.Files), "file"), unit.Bytes(float64(b.Sample.Bytes)), plural(int64(b.Sample.Items), "item"), strconv.FormatInt(b.Sample.Seed, 10))}
	lines = append(lines, coldText(b.Cold))
	if slices.ContainsFunc(r.Measurements, func(m report.Measurement) bool { return rough(m.Value) }) {
		lines = append(lines, "~: the 95 % interval is wider than ±5 %, or there is none; a larger --budget narrows it")
	}
	if f := footer(r); f != "" {
		lines = append(lines, f)
	}
	return lines
}

// coldText says how it is known that cold reads were cold.
func coldText(c report.Cold) string {
	switch {
	case !c.Possible:
		return "no cold reads: " + cmp.Or(c.Reason, "the reason is not known")
	case c.CachedRatio != nil:
		return fmt.Sprintf("cold verified by %s: %s of the pages were left in the page cache", cmp.Or(c.How, "?"), unit.Percent(*c.CachedRatio))
	}
	return strings.TrimSpace("cold reads, verified by " + cmp.Or(c.How, "?"))
}
