package document

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// hdf5Section is what the layout, the cache and the handle of an HDF5 file cost.
func hdf5Section(r *report.Report) Section {
	if r.Benchmark.Kind != "hdf5" {
		return Section{}
	}
	list := groups(r, report.ProbeHDF5)
	slices.SortStableFunc(list, byAccess)
	var facts Facts
	facts.add("read amplification", amplified(r))
	facts.add("filters", filtered(list))
	facts.add("handle", beside(list, report.LabelHandle, report.LabelChunkCache, map[string]string{"kept": "kept open",
		"reopened": "opened for each item"}, metric.ItemTime))
	facts.add("file locks", beside(list, report.LabelMode, report.LabelHandle, map[string]string{"locked": "with",
		"unlocked": "without"}, metric.OpenTime, metric.ItemTime))
	s := section("HDF5", "", Supporting, facts)
	s.add(chunkCaches(list)...)
	return s
}

// amplified lists bytes read per byte delivered, of each way to read.
func amplified(r *report.Report) string {
	var list []string
	all := groups(r, report.ProbeRead)
	slices.SortStableFunc(all, byAccess)
	for _, g := range all {
		if m := g.one(metric.Amplification.Name); m != nil {
			how := g.words(report.LabelOrder, report.LabelCache, report.LabelHandle)
			list = append(list, joined(" ", unit.Number(m.Center), "×", how))
		}
	}
	if len(list) == 0 {
		return ""
	}
	return "bytes read per byte delivered: " + strings.Join(list, "; ")
}

func filtered(list []group) string {
	for _, g := range list {
		if m := g.one(metric.FilterTime.Name); m != nil {
			return figure(m) + " of CPU per item (" + within(m) + ")"
		}
	}
	return ""
}

// beside holds the ways against each other that a label names, each in words, of groups without another label.
func beside(list []group, label, without string, words map[string]string, metrics ...metric.Desc) string {
	var facts []string
	for _, g := range list {
		way := g.labels[label]
		i := slices.IndexFunc(metrics, func(d metric.Desc) bool { return g.one(d.Name) != nil })
		if i < 0 || way == "" || g.labels[without] != "" {
			continue
		}
		per := map[bool]string{true: " per open", false: " per item"}[metrics[i] == metric.OpenTime]
		facts = append(facts, words[way]+" "+figure(g.one(metrics[i].Name))+per)
	}
	return strings.Join(facts, "; ")
}

// chunkCaches is the table of chunk cache sizes, and from which size on one pays.
func chunkCaches(all []group) []Part {
	list := slices.DeleteFunc(slices.Clone(all), func(g group) bool {
		return g.labels[report.LabelChunkCache] == "" || g.one(metric.ItemTime.Name) == nil
	})
	if len(list) == 0 {
		return nil
	}
	slices.SortStableFunc(list, byAccess)
	orders := values(list, report.LabelOrder)
	byCount(list, report.LabelChunkCache)
	t := &Table{Columns: []Column{{"chunk cache", true}}}
	for _, o := range orders {
		t.Columns = append(t.Columns, Column{cmp.Or(o, "per item"), true}, Column{"95 % interval", true})
	}
	for _, size := range values(list, report.LabelChunkCache) {
		name := sizeText(size)
		if size == strconv.Itoa(format.ChunkCacheBytes) {
			name = "default, " + name
		}
		row := cells(name)
		for _, o := range orders {
			m := find(list, report.LabelChunkCache, size, report.LabelOrder, o).one(metric.ItemTime.Name)
			row = append(row, cells(figure(m), within(m))...)
		}
		t.Rows = append(t.Rows, Row{Cells: row})
	}
	parts := []Part{t}
	for _, o := range orders {
		parts = append(parts, Note(cachePays(list, o)))
	}
	return parts
}

// cachePays says from which size on a chunk cache brings more than the figures' own uncertainty.
func cachePays(list []group, order string) string {
	base := find(list, report.LabelChunkCache, strconv.Itoa(format.ChunkCacheBytes), report.LabelOrder,
		order).one(metric.ItemTime.Name)
	where := cmp.Or(orderWords[order], "Read so")
	if base == nil {
		return where + " the default cache was not measured."
	}
	first, best, fastest := "", "", base
	for _, size := range values(list, report.LabelChunkCache) {
		m := find(list, report.LabelChunkCache, size, report.LabelOrder, order).one(metric.ItemTime.Name)
		if n, ok := count(size); !ok || n <= 1<<20 || m == nil || m.Hi >= base.Lo*(1-report.Precision) {
			continue
		}
		if first == "" {
			first = sizeText(size) + " on, " + times(base, m) + " as fast"
		}
		if m.Hi < fastest.Lo*(1-report.Precision) {
			best, fastest = sizeText(size), m
		}
	}
	switch {
	case first == "":
		return where + " no larger cache that was tried pays."
	case strings.HasPrefix(first, best+" on"):
		return where + " a larger cache pays from " + first + "."
	}
	return where + " a larger cache pays from " + first + "; " + times(base, fastest) + " with " + best + "."
}

// orderWords begin a sentence about an order of reading.
var orderWords = map[string]string{"sequential": "In sequence", "random": "At random"}

func values(list []group, label string) []string {
	var all []string
	for _, g := range list {
		if v := g.labels[label]; !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// find gives the first group with these labels, pairs of name and value; an empty group where there is none.
func find(list []group, pairs ...string) group {
next:
	for _, g := range list {
		for pair := range slices.Chunk(pairs, 2) {
			if g.labels[pair[0]] != pair[1] {
				continue next
			}
		}
		return g
	}
	return group{}
}
