package render

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// asIs is the candidate that the others are held against.
const asIs = "as-is"

// pivot makes a table with one row per value of label and one column per order of reading, each row held against the row named base: in random
// order, which is that of training, where it was read so.
type pivot struct {
	probe string
	label string
	base  string
	head  string // of the first column
	// name writes a value of the label for people.
	name func(value string) string
	size bool // with a column of stored_ratio
}

// section gives the table; its rows are in order of first appearance, cold ones apart from warm ones.
func (v pivot) section(r *report.Report, title string) section {
	list := slices.DeleteFunc(groups(r, v.probe), func(g group) bool { return g.one(itemTime, itemRate, storedRatio) == nil })
	slices.SortStableFunc(list, byAccess)
	timed := slices.DeleteFunc(slices.Clone(list), func(g group) bool { return g.one(itemTime) == nil })
	orders := spread(timed, report.LabelOrder)
	vary, shared := telling(timed, report.LabelCache, report.LabelDecoder)
	s := section{title: title, about: shared, columns: []column{{v.head, false}}}
	if len(vary) > 0 {
		s.columns = append(s.columns, column{"", false})
	}
	for _, o := range orders {
		s.columns = append(s.columns, column{cmp.Or(o, "per item"), true})
	}
	s.columns = append(s.columns, column{"times as fast", true})
	if v.size {
		s.columns = append(s.columns, column{"size", true})
	}
	after := 1 // columns from the ratio's to the last
	if v.size {
		after = 2
	}
	for _, value := range spread(groups(r, v.probe), v.label) {
		first := len(s.rows)
		for _, how := range accesses(timed, vary) {
			e, ok := v.row(list, value, how, orders)
			if !ok {
				continue
			}
			if len(vary) > 0 {
				e.cells = slices.Insert(e.cells, 1, strings.Join(valuesOf(how), " "))
			}
			if len(s.rows) > first { // the same again: its name and size stand above, its command below
				e.cells[0], s.rows[len(s.rows)-1].copy = "", ""
				if v.size {
					e.cells[len(e.cells)-1] = ""
				}
			}
			if strings.HasPrefix(e.cells[len(s.columns)-after], "~") {
				s.notes = []string{"~ before a ratio: its interval holds 1, no difference can be told"}
			}
			s.rows = append(s.rows, e)
		}
	}
	return s
}

// row is one value of the label, read one way; not ok where it was not read that way.
func (v pivot) row(list []group, value string, how []string, orders []string) (entry, bool) {
	e := entry{cells: []string{v.name(value)}}
	seen, faster := false, "?"
	for _, o := range orders {
		keys := append([]string{report.LabelOrder, o}, how...)
		m := find(list, append([]string{v.label, value}, keys...)...).one(itemTime)
		base := find(list, append([]string{v.label, v.base}, keys...)...).one(itemTime)
		seen = seen || m != nil
		if m != nil && base != nil { // the last order is the one that counts
			faster = strings.Replace(times(base, m), " ×", "", 1)
		}
		e.cells = append(e.cells, figure(m))
	}
	if value == v.base {
		faster = ""
	}
	e.cells = append(e.cells, faster)
	stored := "?"
	for _, g := range list {
		if g.labels[v.label] != value {
			continue
		}
		e.copy = cmp.Or(e.copy, g.labels[report.LabelCommand])
		if m := g.one(storedRatio); m != nil {
			stored = factor(m.Center) + " ×"
		}
	}
	if value == v.base {
		stored = ""
	}
	if v.size {
		e.cells = append(e.cells, stored)
	}
	return e, seen
}

// accesses lists the combinations of labels that occur, as pairs of name and value; one empty combination where none of them differs.
func accesses(list []group, labels []string) [][]string {
	if len(labels) == 0 {
		return [][]string{nil}
	}
	var out [][]string
	for _, g := range list {
		var how []string
		for _, l := range labels {
			how = append(how, l, g.labels[l])
		}
		if g.one(itemTime) != nil && !slices.ContainsFunc(out, func(h []string) bool { return slices.Equal(h, how) }) {
			out = append(out, how)
		}
	}
	return out
}

// valuesOf are the values of a list of pairs.
func valuesOf(pairs []string) (values []string) {
	for i := 1; i < len(pairs); i += 2 {
		if pairs[i] != "" {
			values = append(values, pairs[i])
		}
	}
	return values
}

// candidates are the names of package probe's candidates in words.
var candidates = map[string]string{
	asIs: "as it is", "chunk-item": "a chunk per item", "chunk-item-unfiltered": "a chunk per item, no filter", "unfiltered": "no filter", "contiguous": "contiguous",
	"jpeg-90": "as JPEG, quality 90", "resized-256": "short side 256 pixels", "packed-npy": "decoded, in one .npy", "packed-tar": "packed into a .tar",
}

func trySection(r *report.Report) section {
	s := pivot{probe: report.ProbeTry, label: report.LabelCandidate, base: asIs, head: "the sample", size: true, name: func(c string) string {
		return cmp.Or(candidates[c], c, "?")
	}}.section(r, "WHAT IF")
	s.about = strings.TrimPrefix(s.about+", time per item", ", ")
	return s
}

func tierSection(r *report.Report) section {
	return pivot{probe: report.ProbeTier, label: report.LabelTier, base: "here", head: "", name: func(t string) string {
		return cmp.Or(map[string]string{"here": "here", "other": "--compare-path"}[t], t)
	}}.section(r, "ANOTHER PLACE")
}

// gathers say how a batch was put together.
var gathers = map[string]string{"items": "one read for each item", "selection": "one call for all items"}

// batchSection is what a whole batch takes in one process.
func batchSection(r *report.Report) section {
	list := groups(r, report.ProbeBatch)
	vary, shared := telling(list, report.LabelOrder, report.LabelCache, report.LabelDecoder)
	s := section{title: "A BATCH", about: shared, columns: []column{{"items", true}, {"gathered by", false}, {"per batch", true}, {"95 % interval", true}}}
	for _, g := range list {
		m := g.one(batchTime)
		if m == nil {
			continue
		}
		by := cmp.Or(gathers[g.labels[report.LabelGather]], g.labels[report.LabelGather])
		if words := g.words(vary...); words != "" {
			by = strings.TrimPrefix(by+", "+words, ", ")
		}
		s.rows = append(s.rows, entry{cells: []string{known1(g.labels[report.LabelBatchSize]), by, figure(m), within(m)}})
	}
	return s
}
