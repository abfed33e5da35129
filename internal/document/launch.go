package document

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What only a launched job's report holds: where its loader is made, which items are slow, and the patch.

// loaderSection names the training loop's loader as the job itself reported it; empty for a job that is watched from
// outside.
func loaderSection(r *report.Report) Section {
	l := r.DataLoader()
	if l.Source != "hook" {
		return Section{}
	}
	var facts Facts
	if l.Location != nil {
		facts.add("made at", place(l.Location))
	}
	facts.add("settings", settings(l))
	dataset := l.Dataset
	if l.Shards != nil {
		dataset += ", " + unit.Count(int64(*l.Shards), "shard", "shards")
	}
	facts.add("dataset", dataset)
	facts.add("sampler", l.Sampler)
	if w := r.Window; w != nil && w.Steps != nil {
		// the hook counts on between its reports: they come in parts
		seen := unit.Number(math.Round(*w.Steps)) + " steps"
		if w.Epochs != nil {
			seen += ", " + unit.Count(int64(*w.Epochs), "epoch", "epochs") + " ended"
		}
		facts.add("seen", seen)
	}
	return section("Loader", "as the job made it", Supporting, facts)
}

// settings are a loader's settings as one would write them.
func settings(l *report.Loader) string {
	var all []string
	for _, name := range report.LoaderArguments {
		if value := l.Argument(name); value != "" {
			all = append(all, name+"="+value)
		}
	}
	if l.StartMethod != "" {
		all = append(all, "workers started by "+l.StartMethod)
	}
	return strings.Join(all, ", ")
}

// mostSlow bounds the table of slow items, slowTimes is how many times the mean an item must take to be worth a name.
const mostSlow, slowTimes = 5, 3

// slowSection lists the items that took longest, where one stands out: as long as a batch takes in the middle.
func slowSection(r *report.Report) Section {
	list := r.DataLoader().SlowItems
	usual, known := r.Metrics[metric.MadeItem.Name]
	if len(list) == 0 || !known || list[0].Seconds < slowTimes*usual.Center {
		return Section{}
	}
	t := &Table{Columns: []Column{{"index", true}, {"time", true}, {"measured", true}}}
	for _, i := range list[:min(mostSlow, len(list))] {
		t.add(fmt.Sprint(i.Index), unit.Seconds(i.Seconds), unit.Count(int64(i.Times), "time", "times"))
	}
	return section("Slowest items", "an item takes "+unit.Seconds(usual.Center)+" on average", Supporting, t)
}

// mostDiff bounds the lines of a diff that are shown; the file that takes the patch has them all.
const mostDiff = 80

// patchSection says what becomes of each recommended setting, and shows the patch with the command that applies it.
func patchSection(r *report.Report) Section {
	if r.Patch == nil || len(r.Patch.Settings) == 0 {
		return Section{}
	}
	var facts Facts
	for _, c := range r.Patch.Settings {
		facts = append(facts, Fact{c.Setting, becomes(c)})
	}
	s := section("Patch", r.Patch.File, Supporting, facts)
	if r.Patch.Diff == "" {
		return s
	}
	command := "patch -p1 < fix.patch"
	if file := r.Patch.File; strings.HasPrefix(file, "/") || strings.HasPrefix(file, "~") {
		// not below the job's folder
		command = "patch -p1 -d / < fix.patch"
	}
	s.add(Code{Language: Diff, Text: shortDiff(r.Patch.Diff)},
		Note("No file was changed. With -o fix.patch this is written to a file, which is applied with"),
		Code{Language: Shell, Text: command})
	return s
}

func becomes(c report.PatchedSetting) string {
	line := ""
	if c.Line > 0 {
		line = fmt.Sprintf(", line %d", c.Line)
	}
	from := ""
	if c.From != nil {
		from = *c.From
	}
	switch c.How {
	case report.PatchReplaced:
		return from + " → " + c.To + line
	case report.PatchAdded:
		return "added: " + c.To + line
	case report.PatchRemoved:
		return "taken away: it needs workers (was " + from + ")" + line
	case report.PatchAlready:
		return "is " + c.To + " already" + line
	}
	return "to " + c.To + ", by hand" + line + ". " + cmp.Or(c.Origin, "It is not written there")
}

// shortDiff is a diff of at most mostDiff lines, without line ends of Windows. Tabs become spaces: a terminal would
// move.
func shortDiff(diff string) string {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	if left := len(lines) - mostDiff; left > 0 {
		lines = append(lines[:mostDiff:mostDiff], fmt.Sprintf("(%d more lines)", left))
	}
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    ")
	}
	return strings.Join(lines, "\n")
}
