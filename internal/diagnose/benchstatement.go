package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// headline is the figure that counts: what one worker gets after the first epoch. "" where no item could be timed.
func headline(e *evidence.Evidence) string {
	item, isCold, ok := Settled(e)
	read, haveRead := e.Get(metric.BenchRead)
	cache := "warm"
	if isCold {
		cache = "cold"
	}
	rate, mind := e.Bench.Noun+"s/s", ""
	if e.Bench.Note != "" {
		mind = "; that is no rate of samples"
	}
	switch {
	case e.Bench.NoneDecode:
		return "no item could be decoded"
	case e.Bench.Undecoded && haveRead && read.Center > 0: // that of reading is no rate of items
		return near(read) + " items/s in one worker, warm, random order, reading alone: decoding was not measured"
	case !ok && !e.Bench.Undecoded && len(e.Bench.Decoders) > 0: // libraries have filters that pipetune lacks
		best := e.Bench.Decoders[0]
		return fmt.Sprintf("%s %s in one worker by %s, warm, random order; pipetune itself cannot read them%s",
			near(best.Item), rate, best.Name, mind)
	case e.Bench.Undecoded, !ok, item.Center <= 0:
		return ""
	case item.Confidence > 0 && report.Vague(item.Lo, item.Hi):
		most := "any number of"
		if item.Lo > 0 {
			most = unit.Number(1 / item.Lo)
		}
		return fmt.Sprintf("cannot tell on this budget (between %s and %s %s in one worker, %s, random order%s)",
			unit.Number(1/item.Hi), most, rate, cache, mind)
	}
	text := fmt.Sprintf("%s %s in one worker, %s, random order%s", near(item), rate, cache, mind)
	if usual, differs := inPython(e); differs && !isCold {
		text += fmt.Sprintf("; in Python (%s) %s", usual.Name, near(usual.Item))
	}
	return text
}

// near writes the rate of items that take a time, with a ~ where that is known less well than it is to be.
func near(item evidence.Value) string {
	rate := unit.Number(1 / item.Center)
	if report.Rough(item.Center, item.Lo, item.Hi, item.Confidence) {
		return "~" + rate
	}
	return rate
}

// doing says what a phase is, as the end of "of an item's time goes to …".
func doing(e *evidence.Evidence, phase string) string {
	_, warm := e.Get(metric.BenchItem)
	chunk, ok := e.Get(metric.HDF5Chunk)
	touched := orZero(e, metric.HDF5Touched)
	switch {
	case phase == phaseFilter && !ok:
		return "undoing HDF5's filters"
	case phase == phaseFilter && touched > 1:
		return fmt.Sprintf("undoing the filters of its %s chunks", unit.Number(touched))
	case phase == phaseFilter:
		return fmt.Sprintf("undoing the filters of its %s chunk", unit.Bytes(chunk.Center))
	case phase == phaseDecode:
		return strings.TrimSpace("decoding " + pictureFormats(e))
	case phase == phaseUndo:
		return "reading it and undoing its filters, whose part was not measured"
	case phase == phaseRead && e.Facts.HDF5 != nil && e.Facts.HDF5.Members:
		return "finding, opening and reading it"
	case phase == phaseRead && warm:
		return "reading it from memory"
	case phase == phaseRead:
		return "reading it"
	}
	return phase
}

// pictureFormats names what was decoded: "JPEG", "JPEG and PNG".
func pictureFormats(e *evidence.Evidence) string {
	var names []string
	for _, f := range e.Bench.Formats {
		if f != "" {
			names = append(names, strings.Replace(strings.ToUpper(f), "WEBP", "WebP", 1))
		}
	}
	slices.Sort(names)
	return strings.Join(names, " and ")
}

// benchStatement says in a few sentences what an item's time goes to, what is in the way, and what the first change
// would bring. Where an item is no sample, it says so first.
func benchStatement(e *evidence.Evidence, r *report.Report) string {
	text := itemStatement(e, r)
	if note := e.Bench.Note; note != "" {
		text = sentence(capital(note)) + " " + text
	}
	if of := r.Benchmark.Sample; of.Unread > 0 && of.Unread < of.Items {
		text = fmt.Sprintf("%d of the %d sampled items could not be read or decoded, and all figures are of the "+
			"others. ", of.Unread, of.Items) + text
	}
	return text
}

func itemStatement(e *evidence.Evidence, r *report.Report) string {
	if e.Bench.Undecoded {
		return undecodedStatement(e)
	}
	phases := r.Phases
	item, isCold, ok := Settled(e)
	if !ok || len(phases) == 0 {
		text := "Too little could be measured to tell where an item's time goes"
		if reason, _ := e.WhyMissing(metric.BenchItem); reason != "" {
			text += ": " + reason
		}
		return sentence(text)
	}
	text := fmt.Sprintf("%s of an item's %s goes to %s", unit.Percent(phases[0].Ratio), unit.Seconds(item.Center),
		doing(e, phases[0].Name))
	if len(phases) > 1 {
		text += fmt.Sprintf(", %s to %s", unit.Percent(phases[1].Ratio), doing(e, phases[1].Name))
	}
	text += "." + inPythonSaid(e)
	lead := slices.IndexFunc(r.Findings, func(f report.Finding) bool { return f.Severity != report.Info })
	if lead < 0 {
		return text + storageShare(e, isCold) + " " + allClear(r)
	}
	first := &r.Findings[lead]
	told := slices.IndexFunc(first.Recommendations, func(c report.Recommendation) bool {
		return c.Effect != nil && c.Effect.Metric == metric.ItemRate.Name
	})
	if told < 0 || phases[0].Name == phaseRead { // which says nothing of why
		text += " " + sentence(first.Summary)
	}
	if told < 0 {
		return text
	}
	return text + " " + sentence(promise(first.Recommendations[told]))
}

// promise says what a change would bring. A training gains less: it does more with an item than have it read and
// decoded.
func promise(c report.Recommendation) string {
	lo, hi := unit.Number(c.Effect.Lo), unit.Number(c.Effect.Hi)
	if report.Vague(c.Effect.Lo, c.Effect.Hi) {
		return fmt.Sprintf("What %s: %s would give is unknown on this budget (between %s and %s items/s in one "+
			"worker)", c.Setting, c.To, lo, hi)
	}
	if lo != hi {
		lo += " to " + hi
	}
	return fmt.Sprintf("%s: %s would give %s items/s in one worker (%s). That is of reading and decoding alone: a "+
		"training, which does more with each item, gains less, and pipetune diagnose says how much", capital(c.Setting),
		c.To, lo, c.Effect.Basis)
}

// undecodedStatement says what is known of pictures of which it is not known what decoding takes.
func undecodedStatement(e *evidence.Evidence) string {
	why := "what decoding it takes was not measured"
	if reason, _ := e.WhyMissing(metric.BenchDecode); reason != "" {
		why += " (" + reason + ")"
	}
	why += ", so that it is unknown where its time goes or what is in the way."
	if read, ok := e.Get(metric.BenchRead); ok {
		return fmt.Sprintf("Reading an item takes %s, warm; %s", unit.Seconds(read.Center), why)
	}
	return "Of an item, " + why
}

// pythonDiffers is where the user's own Python is said to take longer, or less, than pipetune's readers: the check
// against a DataLoader allows 15 %.
const pythonDiffers = 1.15

// inPython is the library that the user's job most likely reads with, and whether it clearly takes another time than
// pipetune's readers: its libhdf5 may have a larger chunk cache.
func inPython(e *evidence.Evidence) (usual evidence.Decoder, differs bool) {
	own, ok := e.Get(metric.BenchItem)
	usual, ok2 := e.Bench.Usual()
	return usual, ok && ok2 && max(own.Center, usual.Item.Center) > pythonDiffers*min(own.Center, usual.Item.Center)
}

// inPythonSaid says what it takes, and what the fastest library does where that is clearly less.
func inPythonSaid(e *evidence.Evidence) string {
	usual, differs := inPython(e)
	if !differs {
		return ""
	}
	text := fmt.Sprintf(" In Python (%s) it takes %s", usual.Name, unit.Seconds(usual.Item.Center))
	if best := e.Bench.Decoders[0]; usual.Item.Center > pythonDiffers*best.Item.Center {
		text += fmt.Sprintf(", by %s %s", best.Name, unit.Seconds(best.Item.Center))
	}
	return text + "."
}

// shownRules is how many rules that could not judge are named.
const shownRules = 3

// aboutStorage are the groups of rules about how data is stored.
var aboutStorage = []string{"hdf5", "image", "storage"}

// allClear says that nothing was found in the way, as far as it was looked for.
func allClear(r *report.Report) string {
	var mute []string
	for _, a := range r.Abstained {
		group, _, _ := strings.Cut(a.Rule, "/")
		if slices.Contains(aboutStorage, group) && !slices.Contains(mute, a.Rule) {
			mute = append(mute, a.Rule)
		}
	}
	slices.Sort(mute)
	text := "Nothing in how the data is stored was found to be in the way"
	switch {
	case r.Benchmark.ItemNote != "" && r.Benchmark.Noun() == "block":
		return "Whether how samples are stored in these files is in the way was not judged: " +
			"pipetune diagnose shows what they cost in the training itself."
	case r.Benchmark.Interrupted:
		text = "The run was interrupted: whether how the data is stored is in the way was checked in part only"
	case len(mute) > 0:
		text = "Nothing that was measured is in the way"
	}
	if len(mute) == 0 {
		return text + "."
	}
	text += fmt.Sprintf("; %s could not judge: %s", unit.Count(int64(len(mute)), "rule", "rules"),
		strings.Join(mute[:min(len(mute), shownRules)], ", "))
	if more := len(mute) - shownRules; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + "."
}

// capital begins a sentence with words that do not; a name from a program keeps its spelling.
func capital(s string) string {
	first, _, _ := strings.Cut(s, " ")
	if first == "" || strings.ContainsAny(first, "_.(=") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// storageShare says what a first pass costs, where the settled state is the warm one.
func storageShare(e *evidence.Evidence, isCold bool) string {
	share, ok := e.Get(metric.BenchStorage)
	cold, ok2 := e.Get(metric.BenchColdItem)
	if isCold || !ok || !ok2 {
		return ""
	}
	return fmt.Sprintf(" Cold, an item takes %s; storage has %s of that.", unit.Seconds(cold.Center),
		unit.Percent(stat.Share(share.Center)))
}
