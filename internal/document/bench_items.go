package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// itemKind is how a probe's rows stand in the table of one item's costs.
type itemKind struct {
	probe   string
	verb    string // in front of the labels
	moves   bool   // bytes come from somewhere: their rate and their source are asked for
	metrics []string
}

// itemKinds is the order of the table.
var itemKinds = []itemKind{
	{report.ProbeOpen, "open file", false, []string{metric.OpenTime.Name}},
	{report.ProbeRead, "read", true, []string{metric.ItemTime.Name}},
	{report.ProbeDecode, "decode", false, []string{metric.DecodeTime.Name, metric.ItemTime.Name}},
	{report.ProbePython, "", false, []string{metric.ItemTime.Name, metric.DecodeTime.Name, metric.OpenTime.Name}},
}

// itemsSection is what one item costs in one process.
func itemsSection(r *report.Report) Section {
	t := &Table{Columns: []Column{{"", false}, {"per item", true}, {"95 % interval", true}, {"items/s", true},
		{"delivered", true}, {"storage", true}}}
	for _, k := range itemKinds {
		list := groups(r, k.probe)
		if k.moves {
			slices.SortStableFunc(list, byAccess)
		}
		for _, g := range list {
			m := g.one(k.metrics...)
			if m == nil {
				continue
			}
			delivered, storage := "", ""
			if k.moves {
				delivered, storage = value(g.one(metric.ByteRate.Name)), value(g.one(metric.ItemStorage.Name))
			}
			t.add(itemName(k, g, list), figure(m), within(m), perSecond(k, g, m), delivered, storage)
		}
	}
	s := section("Reading one item", "one worker", Main, t)
	if !t.empty() {
		s.add(notes(slices.Concat(slowest(r), sources(r))...)...)
	}
	return s
}

// byAccess orders rows as a reader goes through them: sequential before random, warm before cold, kept before
// reopened.
func byAccess(a, b group) (order int) {
	for _, l := range []struct {
		label string
		order []string
	}{
		{report.LabelOrder, []string{"sequential", "random"}}, {report.LabelCache, []string{"warm", "cold"}},
		{report.LabelHandle, []string{"kept", "reopened"}}, {report.LabelMode, []string{"locked", "unlocked"}},
	} {
		order = cmp.Or(order, slices.Index(l.order, a.labels[l.label])-slices.Index(l.order, b.labels[l.label]))
	}
	return order
}

// itemName names a row by its labels. Those that all rows of a library of Python share stand below the table.
func itemName(k itemKind, g group, list []group) string {
	words := []string{k.verb, g.labels[report.LabelDecoder]}
	if adds(g) {
		words[0] = "+"
	}
	if k.probe == report.ProbePython && g.one(metric.DecodeTime.Name) != nil {
		words = append(words, "decode")
	}
	if differ(list, report.LabelFormat) {
		words = append(words, g.labels[report.LabelFormat])
	}
	for _, l := range []string{report.LabelOrder, report.LabelCache, report.LabelHandle, report.LabelMode} {
		if k.probe != report.ProbePython || usual(list, l) == "" {
			words = append(words, g.words(l))
		}
	}
	return joined(" ", words...)
}

// adds reports whether a row is what making batches adds to each item, and no way to read one.
func adds(g group) bool {
	name := g.labels[report.LabelDecoder]
	return strings.HasPrefix(name, "torch ") && name != report.TorchReading && name != report.TorchInProcess
}

// usual is the one value that a label has in all groups that have it, "" where there are several.
func usual(list []group, label string) string {
	found := slices.DeleteFunc(values(list, label), func(v string) bool { return v == "" })
	if len(found) != 1 {
		return ""
	}
	return found[0]
}

// perSecond is the rate as it was measured, else what the time per item comes to; opening is no item, and what is
// added to one has no rate.
func perSecond(k itemKind, g group, m *report.Metric) string {
	switch rate := g.one(metric.ItemRate.Name); {
	case adds(g):
		return ""
	case rate != nil:
		return value(rate)
	case k.probe == report.ProbeOpen || m.Center <= 0:
		return ""
	}
	if m.Confidence > 0 && report.Vague(m.Lo, m.Hi) {
		return "?"
	}
	return unit.Number(1 / m.Center)
}

// slowest says what the slowest reads take: what holds up a loader that hands out batches in order.
func slowest(r *report.Report) []string {
	var list []string
	for _, g := range groups(r, report.ProbeRead) {
		if m := g.one(metric.ItemSlow.Name); m != nil && g.labels[report.LabelOrder] != "sequential" {
			list = append(list, figure(m)+" "+g.words(report.LabelOrder, report.LabelCache, report.LabelHandle))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []string{"99 of 100 reads stay below " + strings.Join(list, ", ")}
}

// sources says which program the rows' figures come from: the fastest decoder there is, one that is no forecast, or
// the user's own.
func sources(r *report.Report) []string {
	own, note := libraries(groups(r, report.ProbeDecode)), "open, read"
	if len(own) > 0 {
		note += ", decode (" + strings.Join(own, ", ") + ")"
	}
	note += ": pipetune itself"
	if slices.ContainsFunc(own, func(l string) bool { return !strings.HasPrefix(l, "libjpeg-turbo") }) {
		note += "; Go's decoders are no forecast for a training in Python"
	}
	notes := []string{note}
	list := groups(r, report.ProbePython)
	if theirs := libraries(list); len(theirs) > 0 {
		note := strings.Join(theirs, ", ") + ": " + cmp.Or(r.Benchmark.Interpreter, "Python") + ", on the same files"
		for _, l := range []string{report.LabelOrder, report.LabelCache} {
			if u := usual(list, l); u != "" {
				note += ", " + u
			}
		}
		if n := usual(list, report.LabelBatchSize); n != "" {
			note += "; +: what batches of " + n + " add to each item"
			if slices.Contains(values(list, report.LabelDecoder), report.TorchReading) {
				note += ", " + report.TorchReading + ": all of it, in a DataLoader of one worker"
			}
			if slices.Contains(values(list, report.LabelDecoder), report.TorchInProcess) {
				note += ", " + report.TorchInProcess + ": in one without workers"
			}
		}
		notes = append(notes, note)
	}
	return notes
}

// libraries lists the libraries of decoders with their versions, each once: "torch collate" is torch.
func libraries(list []group) (names []string) {
	for _, g := range list {
		library, _, _ := strings.Cut(g.labels[report.LabelDecoder], " ")
		name := strings.TrimSpace(library + " " + g.labels[report.LabelVersion])
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
