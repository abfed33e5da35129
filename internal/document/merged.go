package document

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// OfMerged builds the document of a job's merged reports: who lacks data first, then how each figure is spread over
// nodes and ranks, who is missing, and what was left out.
func OfMerged(m *report.Merged) *Document {
	d := &Document{Key: "merge:v1:" + m.Job.ID, Title: "pipetune: " + mergedHeadline(m), Subject: mergedSubject(m),
		Next: m.Next, Origin: origin(m.Tool, m.SchemaVersion)}
	d.Answer = &Answer{Label: "Verdict", Headline: mergedHeadline(m),
		Short: strings.TrimSuffix(sentence(mergedHeadline(m)), "."), Why: m.Verdict.Statement, Lines: gone(m)}
	switch {
	case m.Verdict.Grade != report.Info || m.StragglersN > 0:
		d.Tone = Caution
	case m.Verdict.Lead != nil:
		d.Tone = Good
	}
	d.Method = []string{mergedHow(m)}
	d.Setup = []string{"Job: " + strings.Join(m.Job.Command, " ")}
	d.add(spreadSection(m), stragglersSection(m), commonSection(m), leftOutSection(m), section("Notes", "", Main,
		List(m.Warnings)))
	d.add(nodesSection(m))
	return d
}

func mergedSubject(m *report.Merged) string {
	id := ""
	if m.Job.ID != "" {
		id = "job " + m.Job.ID
	}
	return joined(" · ", id, m.Job.Framework, nodeCount(m), strings.Join(m.Job.Command, " "))
}

// nodeCount is how many of the job's nodes and ranks were merged.
func nodeCount(m *report.Merged) string {
	names, ranks := map[string]bool{}, 0
	for _, n := range m.Nodes {
		names[n.Name] = true
		ranks += len(n.Ranks)
	}
	of := func(n int, all *int, one, many string) string {
		if all != nil && *all > n {
			return fmt.Sprintf("%d of %s", n, unit.Count(int64(*all), one, many))
		}
		return unit.Count(int64(n), one, many)
	}
	return of(len(names), m.Job.Nodes, "node", "nodes") + ", " + of(ranks, m.Job.WorldSize, "rank", "ranks")
}

func mergedHeadline(m *report.Merged) string {
	if m.StragglersN == 1 {
		return m.Stragglers[0].Where.String() + " lacks data while most do not"
	}
	if m.StragglersN > 1 {
		return unit.Count(int64(m.StragglersN), "rank lacks", "ranks lack") + " data while most do not"
	}
	if len(m.Verdict.Classes) == 0 {
		return "no node has a verdict"
	}
	c := m.Verdict.Classes[0]
	if c.Nodes == len(m.Nodes) {
		return "all nodes are " + string(c.Class)
	}
	return fmt.Sprintf("%d of %d nodes are %s", c.Nodes, len(m.Nodes), c.Class)
}

// gone are the lines of what is not there.
func gone(m *report.Merged) (lines []Line) {
	var missing []string
	for _, x := range []struct {
		list      []int
		one, many string
	}{{m.Missing.Nodes, "node ", "nodes "}, {m.Missing.Ranks, "rank ", "ranks "}} {
		switch len(x.list) {
		case 0:
		case 1:
			missing = append(missing, x.one+numbers(x.list))
		default:
			missing = append(missing, x.many+numbers(x.list))
		}
	}
	if len(missing) > 0 {
		lines = append(lines, Line{Label: "Missing", Text: "no report of " + strings.Join(missing, ", "),
			Tone: Caution})
	}
	if n := len(m.LeftOut); n > 0 {
		lines = append(lines, Line{Label: "Left out", Text: unit.Count(int64(n), "file", "files") + ", named below",
			Tone: Caution})
	}
	return lines
}

const mostStretches = 20

// numbers writes numbers in order, stretches of them by their ends: "3, 7–9".
func numbers(list []int) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		switch {
		case len(parts) == mostStretches:
			return strings.Join(parts, ", ") + fmt.Sprintf(" and %d more", len(list)-i)
		case j == i:
			parts = append(parts, strconv.Itoa(list[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d–%d", list[i], list[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// mergedHow says of which time the figures are.
func mergedHow(m *report.Merged) string {
	if m.Window.DurationS <= 0 {
		return "Figures are of each node's whole watch: when that was is not reported."
	}
	return fmt.Sprintf("Figures are of the %s from %s on in which most nodes were watched, by their own clocks; "+
		"those without windows are of a node's whole watch.", unit.Seconds(m.Window.DurationS), m.Window.StartedAt)
}

// spreadNames are figures in the words of a table.
var spreadNames = map[string]string{metric.DataStall.Name: "lacks data", metric.InputWait.Name: "waits for data",
	metric.WorkerStorage.Name: "workers wait for storage"}

func spreadSection(m *report.Merged) Section {
	t := &Table{Columns: []Column{{"", false}, {"over", false}, {"median", true}, {"worst", true}, {"skew", true},
		{"where", false}}}
	for _, s := range m.Figures {
		skew := "?"
		if s.Skew != nil && s.Difference {
			skew = signed(*s.Skew, true)
		} else if s.Skew != nil {
			skew = "×" + unit.Number(*s.Skew)
		}
		name := cmp.Or(spreadNames[s.Metric], changeNames[s.Metric].name, strings.ReplaceAll(s.Metric, "_", " "))
		t.add(name, fmt.Sprintf("%d %s", s.N, s.Of), unit.Format(s.Median, s.Unit), unit.Format(s.Worst, s.Unit), skew,
			s.Where.String())
	}
	return section("Over nodes and ranks", "skew: the worst less the median (pt: percentage points), or as a factor "+
		"of it", Main, t)
}

func stragglersSection(m *report.Merged) Section {
	t := &Table{Columns: []Column{{"", false}, {"waits for data", true}, {"above the median", true},
		{"first finding", false}}}
	for _, s := range m.Stragglers {
		t.add(s.Where.String(), unit.Percent(s.InputWaitRatio), signed(s.Above, true), s.Rule)
	}
	about := ""
	if m.StragglersN > len(m.Stragglers) {
		about = fmt.Sprintf("the worst %d of %d", len(m.Stragglers), m.StragglersN)
	}
	return section("Lack data while most do not", about, Main, t)
}

const mostCommon = 12

func commonSection(m *report.Merged) Section {
	t := &Table{Columns: []Column{{"", false}, {"nodes", true}, {"severity", false}}}
	for _, r := range m.Rules[:min(len(m.Rules), mostCommon)] {
		t.add(r.Rule, fmt.Sprintf("%d of %d", r.Nodes, len(m.Nodes)), string(r.Severity))
	}
	return section("Findings", "", Main, t)
}

// mostLeftOut and mostNodes bound tables: JSON has all.
const mostLeftOut, mostNodes = 20, 64

func leftOutSection(m *report.Merged) Section {
	var files Facts
	for _, l := range m.LeftOut[:min(len(m.LeftOut), mostLeftOut)] {
		files.add(l.File, l.Why)
	}
	return section("Left out", cutTo(len(m.LeftOut), mostLeftOut), Main, files)
}

// cutTo says how many of all a table has.
func cutTo(all, most int) string {
	if all > most {
		return fmt.Sprintf("%d of %d; --format json has all", most, all)
	}
	return ""
}

// rankList writes ranks, stretches of numbers by their ends.
func rankList(ranks []string) string {
	var list []int
	for _, r := range ranks {
		n, err := strconv.Atoi(r)
		if err != nil {
			return strings.Join(ranks, " ")
		}
		list = append(list, n)
	}
	slices.Sort(list)
	return numbers(list)
}

// nodesSection lists the nodes, those that wait for data most first.
func nodesSection(m *report.Merged) Section {
	figure := func(n report.Node, d metric.Desc) string {
		if x, ok := n.Figures[d.Name]; ok {
			return unit.Format(x, string(d.Unit))
		}
		return "?"
	}
	list := slices.SortedStableFunc(slices.Values(m.Nodes), func(a, b report.Node) int {
		return cmp.Compare(b.Figures[metric.InputWait.Name], a.Figures[metric.InputWait.Name])
	})
	t := &Table{Columns: []Column{{"", false}, {"ranks", false}, {"waits for data", true}, {"batches/s", true},
		{"GPU busy", true}, {"verdict", false}, {"file", false}}}
	for _, n := range list[:min(len(list), mostNodes)] {
		name := n.Name
		if n.HostName != "" {
			name += " (" + n.HostName + ")"
		}
		t.add(name, rankList(n.Ranks), figure(n, metric.InputWait), figure(n, metric.BatchesPerS),
			figure(n, metric.GPUBusy), orUnknown(string(n.Class)), n.File)
	}
	return section("Nodes", cutTo(len(m.Nodes), mostNodes), Supporting, t)
}
