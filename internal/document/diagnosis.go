package document

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/timeline"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// Of builds the document of a report: that of a diagnosis, with the watch over time where that is at hand, or of a
// benchmark.
func Of(r *report.Report, t *timeline.Timeline) *Document {
	h := r.Host
	cpus := fmt.Sprintf("%s of %d CPUs usable, kernel %s", unit.Number(h.CPUsUsable), h.CPUsPresent, h.Kernel)
	d := &Document{Key: "v1", Title: "pipetune", Next: r.Next, Method: footer(r), Setup: []string{cpus},
		Origin: origin(r.Tool, r.SchemaVersion)}
	for _, g := range r.Host.GPUs {
		d.Setup = append(d.Setup, "GPU: "+g.Name+", "+unit.Bytes(float64(g.MemoryBytes)))
	}
	if r.Job != nil {
		d.Setup = append(d.Setup, "Job: "+strings.Join(r.Job.Command, " "))
	}
	if r.Benchmark != nil {
		benchmark(d, r)
	} else {
		diagnosis(d, r, t)
	}
	return d
}

func origin(t report.Tool, schema string) string {
	return "pipetune " + t.Version + " · schema " + schema + " · paths and host names redacted"
}

func diagnosis(d *Document, r *report.Report, t *timeline.Timeline) {
	d.Subject, d.More = Subject(r.Job), more(r)
	if v := r.Verdict; v != nil {
		class := strings.ToUpper(string(v.Class))
		headline := class
		if f := lead(r); f != nil {
			headline += " (" + f.Title + ")"
		}
		d.Key, d.Title = r.Kind+":v1", "pipetune: "+headline
		d.Answer = &Answer{Label: "Verdict", Headline: headline, Aside: "confidence: " + string(v.Confidence),
			Short: class, Why: v.Statement, Lines: slices.Concat(fix(r), useless(lead(r)), thresholds(r))}
		for _, doubt := range v.Doubts {
			if strings.Contains(v.Statement, doubt) {
				continue // said already
			}
			d.Answer.Lines = append(d.Answer.Lines, Line{Label: "Doubt", Text: doubt})
		}
		switch v.Class {
		case report.GPUBound, report.Balanced:
			d.Tone = Good
		case report.Inconclusive:
		default:
			d.Tone = Caution
		}
	}
	d.Try = tryLine(r)
	carrying, others := figures(r)
	d.add(section("", "", Main, carrying), tuningSection(r), stepSection(r), afterwardsSection(r), expectedSection(r),
		overTime(r, t), chunksSection(r))
	d.add(section("Other figures", "", Supporting, others), loaderSection(r), phasesSection(r), slowSection(r),
		ranksSection(r))
	d.add(findingsSection(r), plansSection(r), patchSection(r), gapsSection(r))
	warnings := Supporting
	if len(fix(r)) == 0 { // they may be why no cure was found
		warnings = Main
	}
	d.add(section("Notes", "", warnings, List(r.Warnings)))
}

// thresholds says what became of the limits that were asked for.
func thresholds(r *report.Report) (lines []Line) {
	for _, t := range r.Thresholds {
		g := gates[t.Answer]
		lines = append(lines, Line{Label: "Limit", Text: g.word + ": " + t.Text + "; " + t.Why, Tone: g.tone})
	}
	return lines
}

// figureRows are the figures every reader looks for, with the signal that says what each would be if data were free.
// The first carry the verdict.
var figureRows = []struct {
	name, metric, free string
	carries            bool
}{
	{"GPU busy", metric.GPUBusy.Name, "", true},
	{"Trainer waits for data", metric.InputWait.Name, "", true},
	{"Throughput, samples", metric.SamplesPerS.Name, "1/" + metric.FreeStepTime.Name, false},
	{"Throughput, batches", metric.BatchesPerS.Name, "1/" + metric.FreeStepTime.Name, true},
	{"Step time", metric.StepTime.Name, metric.FreeStepTime.Name, true},
	{"CPU in use, of usable", metric.UsableBusy.Name, "", true},
	{"Making a batch", metric.FetchTime.Name, "", false},
	{"99 of 100 batches", metric.FetchP99.Name, "", false},
	{"Evaluation, of all time", metric.Evaluation.Name, "", false},
	{"Bytes per batch", metric.BatchBytes.Name, "", false},
	{"Read", metric.ReadBytes.Name, "", false},
	{"of it from storage", metric.StorageBytes.Name, "", false},
}

// manyEvaluations is the share of all time from which on evaluating is a figure that carries a verdict: the line from
// which a single cause counts as high.
const manyEvaluations = 0.2

// figures are those that carry the verdict, and the others. The rate that carries it is the one that effects are
// reported in.
func figures(r *report.Report) (carrying, others Figures) {
	samples, inSamples := r.Metrics[metric.SamplesPerS.Name]
	for _, row := range figureRows {
		m, ok := r.Metrics[row.metric]
		if !ok || !row.carries && m.Center == 0 { // a row of nothing says nothing
			continue
		}
		perBatch := 1.0
		switch batches := r.Metrics[metric.BatchesPerS.Name].Center; row.metric {
		case metric.SamplesPerS.Name:
			row.carries, perBatch = batches > 0, samples.Center/batches
		case metric.BatchesPerS.Name:
			row.carries = !inSamples
		case metric.Evaluation.Name:
			row.carries = m.Center >= manyEvaluations
		case metric.UsableBusy.Name:
			usable, others := r.Metrics[metric.UsableCPUs.Name].Center, r.Metrics[metric.OtherCPU.Name].Center
			if usable > 0 && others/usable >= leastOthers {
				row.name = fmt.Sprintf("CPU in use (others %s)", unit.Percent(min(others/usable, 1)))
			}
		}
		f := Figure{Name: row.name, Now: unit.Format(m.Center, m.Unit), Free: freeText(r, row.free, perBatch)}
		if m.Confidence > 0 && m.Lo != m.Hi {
			f.Interval = span(m.Lo, m.Hi, m.Unit)
		}
		if m.Basis != report.Measured {
			f.Name += " (" + string(m.Basis) + ")"
		}
		if row.carries {
			carrying = append(carrying, f)
		} else {
			others = append(others, f)
		}
	}
	return carrying, others
}

// apart is how many times as high as its lower end an interval's upper end is where one figure would say more than is
// known.
const apart = 1.05

// freeText is what a figure would be if data were free, by a signal, or by its inverse so many times.
func freeText(r *report.Report, signal string, times float64) string {
	name, inverse := strings.CutPrefix(signal, "1/")
	m, ok := r.Metrics[name]
	if !ok || name == "" {
		return ""
	}
	at, lo, hi, u := m.Center, m.Lo, m.Hi, m.Unit
	if inverse {
		at, lo, hi, u = times/at, times/hi, times/lo, "1/s"
	}
	switch {
	case math.IsInf(at, 0):
		return ""
	case m.Confidence > 0 && hi > apart*lo && !math.IsInf(hi, 0):
		return span(lo, hi, u)
	}
	return "≈ " + unit.Format(at, u)
}

func ranksSection(r *report.Report) Section {
	if len(r.Ranks) < 2 {
		return Section{}
	}
	t := &Table{Columns: []Column{{"rank", false}, {"pid", true}, {"waits", true}, {"batches", true}, {"", false}}}
	for _, k := range r.Ranks {
		mark := ""
		if k.Worst {
			mark = "waits most, shown above"
		}
		t.add(k.Rank, fmt.Sprint(k.PID), optional(k.InputWaitRatio, "ratio"), optional(k.BatchesPerS, "1/s"), mark)
	}
	return section("Ranks", "", Supporting, t)
}

// footer says how long was watched and what that cost.
func footer(r *report.Report) []string {
	var watched, cost string
	if w := r.Window; w != nil {
		watched = unit.Seconds(w.DurationS) + " sampled, " + unit.Seconds(w.WarmupS) + " warm-up dropped"
		if w.WholeEpochs > 0 {
			watched = unit.Count(int64(w.WholeEpochs), "whole epoch", "whole epochs") + " used, " +
				unit.Seconds(w.DurationS) + " in all, " + unit.Seconds(w.WarmupS) + " warm-up dropped"
		}
	}
	if o := r.Tool.Overhead; o != nil {
		cost = "pipetune used " + unit.Percent(o.CPURatio) + " of one CPU, " + unit.Bytes(float64(o.MaxRSSBytes))
	}
	if watched == "" && cost == "" {
		return nil
	}
	return []string{joined("; ", watched, cost)}
}
