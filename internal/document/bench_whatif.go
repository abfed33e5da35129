package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// asIs is the candidate that the others are held against.
const asIs = "as-is"

// pivot makes a table with one row per value of label and one column per order of reading, each row held against the
// row named base: in random order, which is that of training, where it was read so.
type pivot struct {
	probe string
	label string
	base  string
	head  string // of the first column
	// name writes a value of the label for people.
	name func(value string) string
	size bool // with a column of stored_ratio
}

// table makes the table, with what all of its rows share; its rows are in order of first appearance, cold ones apart
// from warm ones.
func (v pivot) table(r *report.Report) (t *Table, shared, note string) {
	list := slices.DeleteFunc(groups(r, v.probe), func(g group) bool {
		return g.one(metric.ItemTime.Name, metric.ItemRate.Name, metric.StoredRatio.Name) == nil
	})
	slices.SortStableFunc(list, byAccess)
	timed := slices.DeleteFunc(slices.Clone(list), func(g group) bool { return g.one(metric.ItemTime.Name) == nil })
	orders := values(timed, report.LabelOrder)
	vary, shared := varying(timed, report.LabelCache, report.LabelDecoder)
	t = &Table{Columns: []Column{{v.head, false}, {"", false}}}
	for _, o := range orders {
		t.Columns = append(t.Columns, Column{cmp.Or(o, "per item"), true})
	}
	ratio := len(t.Columns)
	t.Columns = append(t.Columns, Column{"times as fast", true}, Column{"size", true})
	for _, value := range values(groups(r, v.probe), v.label) {
		first := len(t.Rows)
		for _, how := range accesses(timed, vary) {
			row, ok := v.row(list, value, how, orders)
			if !ok {
				continue
			}
			if len(t.Rows) > first { // the same again: its name and size stand above, its command below
				row.Cells[0].Text, row.Cells[ratio+1].Text, t.Rows[len(t.Rows)-1].Copy = "", "", ""
			}
			if strings.HasPrefix(row.Cells[ratio].Text, "~") {
				note = "~ before a ratio: its interval holds 1, no difference can be shown"
			}
			t.Rows = append(t.Rows, row)
		}
	}
	if !v.size {
		t.drop(ratio+1, ratio+2)
	}
	if len(vary) == 0 {
		t.drop(1, 2)
	}
	return t, shared, note
}

// row is one value of the label, read one way; not ok where it was not read that way.
func (v pivot) row(list []group, value string, how []string, orders []string) (Row, bool) {
	row := Row{Cells: cells(v.name(value), joined(" ", valuesOf(how)...))}
	seen, faster := false, "?"
	for _, o := range orders {
		keys := append([]string{report.LabelOrder, o}, how...)
		m := find(list, append([]string{v.label, value}, keys...)...).one(metric.ItemTime.Name)
		base := find(list, append([]string{v.label, v.base}, keys...)...).one(metric.ItemTime.Name)
		seen = seen || m != nil
		if m != nil && base != nil { // the last order is the one that counts
			faster = strings.Replace(times(base, m), " ×", "", 1)
		}
		row.Cells = append(row.Cells, Cell{Text: figure(m)})
	}
	stored := "?"
	for _, g := range list {
		if g.labels[v.label] != value {
			continue
		}
		row.Copy = cmp.Or(row.Copy, g.labels[report.LabelCommand])
		if m := g.one(metric.StoredRatio.Name); m != nil {
			stored = unit.Number(m.Center) + " ×"
		}
	}
	if value == v.base {
		faster, stored = "", ""
	}
	row.Cells = append(row.Cells, cells(faster, stored)...)
	return row, seen
}

// accesses lists the combinations of labels that occur, as pairs of name and value; one empty combination where none
// of them differs.
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
		if g.one(metric.ItemTime.Name) != nil &&
			!slices.ContainsFunc(out, func(h []string) bool { return slices.Equal(h, how) }) {
			out = append(out, how)
		}
	}
	return out
}

func valuesOf(pairs []string) (values []string) {
	for i := 1; i < len(pairs); i += 2 {
		values = append(values, pairs[i])
	}
	return values
}

// candidates are the names of package probe's candidates in words.
var candidates = map[string]string{
	asIs: "as it is", "chunk-item": "a chunk per item", "chunk-item-unfiltered": "a chunk per item, no filter",
	"unfiltered": "no filter", "contiguous": "contiguous",
	"jpeg-90": "as JPEG, quality 90", "resized-256": "short side 256 pixels",
	"packed-npy": "decoded, in one .npy", "packed-tar": "packed into a .tar",
}

func trySection(r *report.Report) Section {
	t, shared, note := pivot{probe: report.ProbeTry, label: report.LabelCandidate, base: asIs, head: "the sample",
		size: true, name: func(c string) string { return cmp.Or(candidates[c], c, "?") }}.table(r)
	if t.empty() {
		return section("What if", "", Main, Note(untried(r)))
	}
	return section("What if", joined(", ", shared, "time per item"), Main, t, Note(note))
}

// untried says why no layout was tried; "" where nobody asked for it.
func untried(r *report.Report) string {
	var whys []string
	for _, a := range r.Abstained {
		if a.Rule == "" && slices.Contains(a.Missing, report.ProbeTry) {
			whys = append(whys, joined(": ", a.Reason, a.Cure))
		}
	}
	if len(whys) == 0 {
		return ""
	}
	return "no other layout was tried: " + strings.Join(whys, "; ")
}

func tierSection(r *report.Report) Section {
	t, shared, note := pivot{probe: report.ProbeTier, label: report.LabelTier, base: "here",
		name: func(t string) string {
			return cmp.Or(map[string]string{"here": "here", "other": "--compare-path"}[t], t)
		}}.table(r)
	return section("Another place", shared, Supporting, t, Note(note))
}

// gathers say how a batch was put together.
var gathers = map[string]string{"items": "one read for each item", "selection": "one call for all items"}

// batchSection is what a whole batch takes in one process.
func batchSection(r *report.Report) Section {
	list := groups(r, report.ProbeBatch)
	vary, shared := varying(list, report.LabelOrder, report.LabelCache, report.LabelDecoder)
	t := &Table{Columns: []Column{{"items", true}, {"gathered by", false}, {"per batch", true},
		{"95 % interval", true}}}
	for _, g := range list {
		m := g.one(metric.BatchTime.Name)
		if m == nil {
			continue
		}
		by := cmp.Or(gathers[g.labels[report.LabelGather]], g.labels[report.LabelGather])
		by = joined(", ", by, g.words(vary...))
		t.add(orUnknown(g.labels[report.LabelBatchSize]), by, figure(m), within(m))
	}
	return section("A batch", shared, Supporting, t)
}
