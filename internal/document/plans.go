package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// plansSection is what a simulation makes of the loader's settings: each plan with its changes, what they come to, and
// where there is no plan why not. Empty where nothing was simulated.
func plansSection(r *report.Report) Section {
	s := Section{Title: "Plans", Weight: Supporting}
	t := &Table{Columns: []Column{{"plan", false}, {"change", false}, {"predicted", true}}}
	var text []string
	if o := r.Outlook; o != nil {
		s.About = "modelled"
		if len(r.Plans) > 0 && o.Confidence > 0 {
			s.About += ", " + unit.Percent(o.Confidence) + " intervals"
		}
		text = append(text, o.Statement)
	}
	recommended := r.Recommended()
	for i := range r.Plans {
		p := &r.Plans[i]
		t.Rows = append(t.Rows, planRows(p)...)
		text = append(text, p.Name+": "+comesTo(p, r.Job))
		if p == recommended || recommended == nil && i == 0 {
			for _, c := range p.Changes {
				text = append(text, caveat(c))
			}
		}
	}
	if o := r.Outlook; o != nil && len(r.Plans) > 0 {
		text = append(text, trust(o))
	}
	s.add(t)
	s.add(notes(text...)...)
	if i := slices.IndexFunc(r.Plans, func(p report.Plan) bool { return p.Check != "" }); i >= 0 { // the same for each
		s.add(Code{Label: "Check it", Language: Shell, Text: r.Plans[i].Check})
	}
	return s
}

// planRows are a plan's rows: what all of its changes bring, and, where it has several, each of them alone.
func planRows(p *report.Plan) []Row {
	name := p.Name + ", " + p.Risk + " risk"
	if len(p.Changes) == 1 {
		return []Row{{Cells: cells(name, changeText(p.Changes[0]), promised(p.Effect))}}
	}
	rows := []Row{{Cells: cells(name, "all of these", promised(p.Effect))}}
	for _, c := range p.Changes {
		effect := "only with the others"
		if c.Effect != nil {
			effect = "alone " + promised(c.Effect)
		}
		rows = append(rows, Row{Cells: cells("", changeText(c), effect)})
	}
	return rows
}

// changeText is a change without its reasons.
func changeText(c report.Recommendation) string {
	if c.From != nil {
		return c.Setting + ": " + *c.From + " → " + c.To
	}
	return c.Setting + " → " + c.To
}

func promised(e *report.Effect) string {
	if e == nil {
		return "?"
	}
	return effectText(*e)
}

// comesTo is what a plan leads to beside its rate.
func comesTo(p *report.Plan, job *report.Job) string {
	var parts []string
	if p.StepTimeS != nil {
		parts = append(parts, unit.Seconds(*p.StepTimeS)+" per step")
	}
	if p.EpochTimeS != nil {
		parts = append(parts, unit.Seconds(*p.EpochTimeS)+" per epoch")
	}
	if p.InputWaitRatio != nil {
		parts = append(parts, "input wait "+unit.Percent(*p.InputWaitRatio))
	}
	if n := p.ExtraMemoryBytes; n != nil && *n != 0 {
		word := " more memory"
		bytes := *n
		if bytes < 0 {
			word, bytes = " less memory", -bytes
		}
		text := "up to " + unit.Bytes(float64(bytes)) + word
		if s := p.ExtraShmBytes; s != nil && *s > 0 && *n > 0 {
			text += ", " + unit.Bytes(float64(*s)) + " of it in /dev/shm"
		}
		if job != nil && job.Ranks > 1 {
			text += ", in all " + strconv.Itoa(job.Ranks) + " trainers"
		}
		parts = append(parts, text)
	}
	if e := p.Effect; e != nil && e.Limit != "" {
		limits := "then limited by " + e.Limit
		if p.Next != "" && p.Next != e.Limit {
			limits += ", next by " + p.Next
		}
		parts = append(parts, limits)
	}
	if p.Clamp != "" {
		parts = append(parts, "more workers are ruled out by the "+strings.TrimPrefix(p.Clamp, "the "))
	}
	return strings.Join(parts, "; ")
}

// caveat is what can go wrong with a change, and what to look at afterwards.
func caveat(c report.Recommendation) string {
	text := c.Setting + ": " + strings.TrimSuffix(c.Caveat, ".")
	if c.Watch != "" {
		text += ". Watch " + c.Watch
	}
	return text
}

// trust says what the intervals hold and what they do not.
func trust(o *report.Outlook) string {
	text := "The intervals hold what the measured costs leave open, not the model's own error: " +
		"it was not calibrated on this machine"
	if o.Calibrated != "" {
		text = "The intervals hold the model's own error: " + o.Calibrated
	}
	if len(o.Assumed) > 0 {
		text += ". Assumed, not measured here: " + strings.Join(o.Assumed, ", ")
	}
	return text + "."
}
