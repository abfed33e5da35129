package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// hdf5Section is what the layout, the cache and the handle of an HDF5 file cost.
func hdf5Section(r *report.Report) section {
	s := section{title: "HDF5"}
	if r.Benchmark.Kind != "hdf5" {
		return s
	}
	list := groups(r, report.ProbeHDF5)
	slices.SortStableFunc(list, byAccess)
	for _, f := range []struct {
		name  string
		facts []string
	}{
		{"read amplification", amplified(r)},
		{"filters", filtered(list)},
		{"handle", handles(list)},
		{"file locks", locks(list)},
	} {
		if len(f.facts) > 0 {
			s.facts = append(s.facts, fact{f.name, strings.Join(f.facts, "; ")})
		}
	}
	sweep(&s, list)
	return s
}

// amplified lists bytes read per byte delivered, of each way to read.
func amplified(r *report.Report) []string {
	var list []string
	all := groups(r, report.ProbeRead)
	slices.SortStableFunc(all, byAccess)
	for _, g := range all {
		if m := g.one(amplification); m != nil {
			list = append(list, strings.TrimSpace(factor(m.Center)+" × "+g.words(report.LabelOrder, report.LabelCache, report.LabelHandle)))
		}
	}
	if len(list) > 0 {
		list[0] = "bytes read per byte delivered: " + list[0]
	}
	return list
}

func filtered(list []group) []string {
	for _, g := range list {
		if m := g.one(filterTime); m != nil {
			return []string{figure(m) + " of CPU per item (" + within(m) + ")"}
		}
	}
	return nil
}

// handles compares a file that stays open with one that is opened for each item.
func handles(list []group) []string {
	var facts []string
	for _, g := range list {
		h := g.labels[report.LabelHandle]
		if m := g.one(itemTime, openTime); m != nil && h != "" && g.labels[report.LabelChunkCache] == "" {
			facts = append(facts, map[string]string{"kept": "kept open", "reopened": "opened for each item"}[h]+" "+figure(m)+" per item")
		}
	}
	return facts
}

func locks(list []group) []string {
	var facts []string
	for _, g := range list {
		mode := g.labels[report.LabelMode]
		if m := g.one(openTime, itemTime); m != nil && mode != "" && g.labels[report.LabelHandle] == "" {
			what := "per item"
			if g.one(openTime) != nil {
				what = "per open"
			}
			facts = append(facts, map[string]string{"locked": "with", "unlocked": "without"}[mode]+" "+figure(m)+" "+what)
		}
	}
	return facts
}

// defaultChunkCache is what a dataset gets unless asked otherwise: 1 MiB before HDF5 2.0 (H5Ppublic.h, H5D_CHUNK_CACHE_NBYTES_DEFAULT).
const defaultChunkCache = "1048576"

// sweep is the table of chunk cache sizes.
func sweep(s *section, all []group) {
	var list []group
	for _, g := range all {
		if g.labels[report.LabelChunkCache] != "" && g.one(itemTime) != nil {
			list = append(list, g)
		}
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, byAccess)
	orders := spread(list, report.LabelOrder)
	byCount(list, report.LabelChunkCache)
	s.columns = []column{{"chunk cache", true}}
	for _, o := range orders {
		s.columns = append(s.columns, column{cmp.Or(o, "per item"), true}, column{"95 % interval", true})
	}
	for _, size := range spread(list, report.LabelChunkCache) {
		name := sizeText(size)
		if size == defaultChunkCache {
			name = "default, " + name
		}
		e := entry{cells: []string{name}}
		for _, o := range orders {
			m := find(list, report.LabelChunkCache, size, report.LabelOrder, o).one(itemTime)
			e.cells = append(e.cells, figure(m), within(m))
		}
		s.rows = append(s.rows, e)
	}
	for _, o := range orders {
		s.notes = append(s.notes, pays(list, o))
	}
}

// pays says from which size on a chunk cache brings more than the figures' own uncertainty.
func pays(list []group, order string) string {
	base := find(list, report.LabelChunkCache, defaultChunkCache, report.LabelOrder, order).one(itemTime)
	where := cmp.Or(orderWords[order], "Read so")
	if base == nil {
		return where + " the default cache was not measured."
	}
	first, best, fastest := "", "", base
	for _, size := range spread(list, report.LabelChunkCache) {
		m := find(list, report.LabelChunkCache, size, report.LabelOrder, order).one(itemTime)
		if n, ok := count(size); !ok || n <= 1<<20 || m == nil || m.Hi >= base.Lo*(1-wanted) {
			continue
		}
		if first == "" {
			first = sizeText(size) + " on, " + times(base, m) + " as fast"
		}
		if m.Hi < fastest.Lo*(1-wanted) {
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

// spread lists the values of a label, in order of first appearance.
func spread(list []group, label string) []string {
	var values []string
	seen := map[string]bool{}
	for _, g := range list {
		if v := g.labels[label]; !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// find gives the first group with these labels, pairs of name and value; an empty group where there is none.
func find(list []group, pairs ...string) group {
next:
	for _, g := range list {
		for i := 0; i+1 < len(pairs); i += 2 {
			if g.labels[pairs[i]] != pairs[i+1] {
				continue next
			}
		}
		return g
	}
	return group{}
}
