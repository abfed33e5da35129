package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// mdBench is a report of bench-io: what always stands there, and the parts that are folded away.
func mdBench(r *report.Report) (body string, folded []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "<!-- pipetune:%s:v1 -->\n### pipetune bench-io: %s\n\n> [!%s]\n> **%s** %s\n", mdKey(r.Kind), md(r.Benchmark.Path), benchAlert(r),
		md(cmp.Or(sentence(r.Benchmark.Headline), "Nothing could be summed up.")), md(r.Benchmark.Statement))
	if r.Benchmark.Interrupted {
		b.WriteString("> Interrupted: what was measured until then.\n")
	}
	for _, s := range []section{itemsSection(r), workersSection(r), forecastSection(r)} {
		b.WriteString(mdSection(s))
	}
	b.WriteString(mdChart(r))
	b.WriteString(mdSection(trySection(r)))
	b.WriteString(mdFindings(r))
	if len(r.Next) > 0 {
		b.WriteString("\nNext:\n" + mdCommand(r.Next[0]))
	}
	folded = append(folded, mdPhases(r))
	for _, s := range []section{datasetSection(r), hdf5Section(r), tierSection(r), batchSection(r), deviceSection(r), unreadSection(r.Benchmark), outsideSection(r.Benchmark)} {
		folded = append(folded, details(md(mdTitle(s)), mdBody(s)))
	}
	return b.String(), append(folded, mdUnseen(r), mdBenchHow(r), mdFiguresAll(r))
}

// mdPhases says where an item's time goes.
func mdPhases(r *report.Report) string {
	var b strings.Builder
	for _, f := range r.Phases {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", md(f.Name), md(unit.Percent(f.Ratio)), md(phaseTime(f)), md(string(f.Basis)))
	}
	if b.Len() == 0 {
		return ""
	}
	return details("Where an item&#39;s time goes, one worker", "| phase | share | | |\n|:--|--:|--:|:--|\n"+b.String())
}

// benchAlert follows the worst finding.
func benchAlert(r *report.Report) string {
	kind := "TIP"
	for _, f := range r.Findings {
		if f.Severity != report.Info {
			return "WARNING"
		}
		kind = "NOTE"
	}
	return kind
}

// mdSection writes a section that is not folded.
func mdSection(s section) string {
	if s.empty() {
		return ""
	}
	return "\n**" + md(mdTitle(s)) + "**\n\n" + mdBody(s)
}

// mdTitle writes a title as a sentence begins, with what holds for the section.
func mdTitle(s section) string {
	title := s.title
	if title != "HDF5" {
		title = title[:1] + strings.ToLower(title[1:])
	}
	if s.about != "" && !s.empty() {
		title += ", " + s.about
	}
	return title
}

// mdChart draws the first series of the rate over the number of processes. The table has the same figures.
func mdChart(r *report.Report) string {
	series := scalings(r)
	if len(series) == 0 {
		return ""
	}
	list := series[0]
	title := strings.TrimSpace("Items per second by worker processes" + map[string]string{"warm": ", warm", "cold": ", cold"}[list[0].labels[report.LabelCache]])
	var axis, bars []string
	most := 0.0
	for _, g := range list {
		n, ok := count(g.labels[report.LabelWorkers])
		m := g.one(itemRate)
		if ok && m != nil {
			axis = append(axis, fmt.Sprintf("%q", strconv.FormatInt(n, 10)))
			bars = append(bars, strconv.FormatFloat(m.Center, 'f', 1, 64))
			most = max(most, m.Center)
		}
	}
	if len(bars) < 2 || most <= 0 {
		return ""
	}
	const headroom = 1.1
	return fmt.Sprintf("\n```mermaid\nxychart-beta\n    title %q\n    x-axis [%s]\n    y-axis \"items/s\" 0 --> %.0f\n    bar [%s]\n```\n",
		title, strings.Join(axis, ", "), max(1, most*headroom), strings.Join(bars, ", "))
}

// mdBenchHow says how it was measured.
func mdBenchHow(r *report.Report) string {
	var b strings.Builder
	for _, l := range benchFooter(r) {
		fmt.Fprintf(&b, "- %s\n", md(l))
	}
	fmt.Fprintf(&b, "- %s of %s CPUs usable, kernel %s\n", md(unit.Number(r.Host.CPUsUsable)), md(fmt.Sprint(r.Host.CPUsPresent)), md(r.Host.Kernel))
	for _, l := range r.Benchmark.Libraries {
		fmt.Fprintf(&b, "- library: %s\n", md(l))
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "- Mind: %s\n", md(w))
	}
	return details("How it was measured", b.String())
}

// mdFiguresAll lists every figure with its interval, for those who look for one that no table shows.
func mdFiguresAll(r *report.Report) string {
	var b strings.Builder
	for _, m := range r.Measurements {
		var labels []string
		for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
			if name != report.LabelCommand {
				labels = append(labels, m.Labels[name])
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d |\n", md(m.Probe), md(strings.Join(labels, ", ")), md(m.Metric), md(unit.Format(m.Value.Center, m.Value.Unit)), md(within(&m.Value)), m.Value.N)
	}
	if b.Len() == 0 {
		return ""
	}
	return details("All figures", "| probe | | figure | | 95 % CI | n |\n|:--|:--|:--|--:|--:|--:|\n"+b.String())
}
