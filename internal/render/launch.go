package render

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What only a launched job's report holds: where its loader is made, which items are slow, and the patch.

// place is a line of the person's source: "train.py:88".
func place(at *report.Location) string { return safe(at.File) + ":" + fmt.Sprint(at.Line) }

// loaderSection names the training loop's loader as the job itself told it; empty for a job that is watched from outside.
func loaderSection(r *report.Report) section {
	if r.Job == nil || r.Job.Loader == nil || r.Job.Loader.Source != "hook" {
		return section{}
	}
	l := r.Job.Loader
	s := section{title: "LOADER", about: "as the job made it"}
	if l.Location != nil {
		s.facts = append(s.facts, fact{"made at", place(l.Location)})
	}
	if given := settings(l); given != "" {
		s.facts = append(s.facts, fact{"settings", given})
	}
	dataset := l.Dataset
	if l.Shards != nil {
		dataset += ", " + plural(int64(*l.Shards), "shard")
	}
	for _, f := range []fact{{"dataset", dataset}, {"sampler", l.Sampler}} {
		if f.text != "" {
			s.facts = append(s.facts, f)
		}
	}
	if w := r.Window; w != nil && w.Steps != nil {
		seen := unit.Number(math.Round(*w.Steps)) + " steps" // the hook's counts are read between its tellings, so they come in parts
		if w.Epochs != nil {
			seen += ", " + plural(int64(*w.Epochs), "epoch") + " ended"
		}
		s.facts = append(s.facts, fact{"seen", seen})
	}
	return s
}

// settings are a loader's settings as one would write them.
func settings(l *report.Loader) string {
	var all []string
	for _, n := range []struct {
		name  string
		value *int
	}{{"batch_size", l.BatchSize}, {"num_workers", l.NumWorkers}, {"prefetch_factor", l.PrefetchFactor}} {
		if n.value != nil {
			all = append(all, fmt.Sprintf("%s=%d", n.name, *n.value))
		}
	}
	for _, b := range []struct {
		name  string
		value *bool
	}{{"persistent_workers", l.PersistentWorkers}, {"pin_memory", l.PinMemory}, {"in_order", l.InOrder}} {
		if b.value != nil {
			all = append(all, b.name+"="+map[bool]string{true: "True", false: "False"}[*b.value])
		}
	}
	if l.StartMethod != "" {
		all = append(all, "workers started by "+l.StartMethod)
	}
	return strings.Join(all, ", ")
}

// mostSlow bounds the table of slow items.
const mostSlow = 5

// slowSection lists the items that took longest, where one stands out: as long as a batch takes in the middle.
func slowSection(r *report.Report) section {
	if r.Job == nil || r.Job.Loader == nil || len(r.Job.Loader.SlowItems) == 0 {
		return section{}
	}
	list := r.Job.Loader.SlowItems
	usual, known := r.Metrics["made_item_s"]
	if !known || list[0].Seconds < slowTimes*usual.Center {
		return section{}
	}
	s := section{title: "SLOWEST ITEMS", about: "an item takes " + unit.Seconds(usual.Center) + " on average",
		columns: []column{{"index", true}, {"time", true}, {"measured", true}}}
	for _, i := range list[:min(mostSlow, len(list))] {
		s.rows = append(s.rows, entry{cells: []string{fmt.Sprint(i.Index), unit.Seconds(i.Seconds), plural(int64(i.Times), "time")}})
	}
	return s
}

// slowTimes is how many times the mean an item must take to be worth a name.
const slowTimes = 3

// mostDiff bounds the lines of a diff that are shown; the file that takes the patch has them all.
const mostDiff = 80

// patchSection says what becomes of each recommended setting.
func patchSection(r *report.Report) section {
	if r.Patch == nil || len(r.Patch.Settings) == 0 {
		return section{}
	}
	s := section{title: "PATCH", about: r.Patch.File}
	for _, c := range r.Patch.Settings {
		s.facts = append(s.facts, fact{c.Setting, becomes(c)})
	}
	return s
}

// applying is what to do with a patch, and the command.
func applying(p *report.Patch) (note, command string) {
	command = "patch -p1 < fix.patch"
	if strings.HasPrefix(p.File, "/") || strings.HasPrefix(p.File, "~") { // not below the job's folder: named from the root
		command = "patch -p1 -d / < fix.patch"
	}
	return "No file was changed. With -o fix.patch this is written to a file, which is applied with", command
}

// becomes is what becomes of one setting, and where.
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

// diffLines are the lines of a diff made safe, without the ends, at most mostDiff of them. Tabs become spaces: a terminal would move.
func diffLines(diff string) []string {
	lines := strings.Split(strings.TrimSuffix(diff, "\n"), "\n")
	left := len(lines) - mostDiff
	if left > 0 {
		lines = lines[:mostDiff]
	}
	out := make([]string, 0, len(lines)+1)
	for _, l := range lines {
		out = append(out, safe(strings.ReplaceAll(strings.TrimSuffix(l, "\r"), "\t", "    ")))
	}
	if left > 0 {
		out = append(out, fmt.Sprintf("(%d more lines)", left))
	}
	return out
}

// patch shows the patch. The lines of the diff are as long as those of the source.
func (p *page) patch(r *report.Report) {
	p.section(patchSection(r))
	if r.Patch == nil || r.Patch.Diff == "" {
		return
	}
	for _, l := range diffLines(r.Patch.Diff) {
		style := ""
		switch l[:min(1, len(l))] {
		case "+":
			style = green
		case "-":
			style = red
		}
		p.line("    ", p.paint(style, l))
	}
	note, command := applying(r.Patch)
	p.wrapped("  ", note)
	p.line("    ", command)
}

// mdPatch shows the patch in a fence longer than any run of backticks in it, so that nothing in the source ends it.
func mdPatch(r *report.Report) string {
	s := patchSection(r)
	if s.empty() {
		return ""
	}
	out := mdSection(s)
	if r.Patch.Diff == "" {
		return out
	}
	text := strings.Join(diffLines(r.Patch.Diff), "\n")
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	out += "\n" + fence + "diff\n" + text + "\n" + fence + "\n"
	note, command := applying(r.Patch)
	return out + "\n" + md(note) + "\n\n" + mdCommand(command)
}

// longestRun counts the most of a character in a row.
func longestRun(s string, of byte) (longest int) {
	run := 0
	for i := range len(s) {
		if run++; s[i] != of {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// mdLoader folds away what the job told of its loader.
func mdLoader(r *report.Report) string {
	return details("The loader", mdBody(loaderSection(r))+mdSection(slowSection(r)))
}
