package render

import (
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// plansSection is what a simulation makes of the loader's settings: each plan with its changes, what they come to, and where there is no
// plan why not. Empty where nothing was simulated.
func plansSection(r *report.Report) section {
	if len(r.Plans) == 0 && r.Outlook == nil {
		return section{}
	}
	s := section{title: "PLANS"}
	if o := r.Outlook; o != nil {
		s.about = "modelled"
		if len(r.Plans) > 0 && o.Confidence > 0 {
			s.about += ", " + unit.Percent(o.Confidence) + " intervals"
		}
		s.notes = append(s.notes, o.Statement)
	}
	recommended := r.Recommended()
	for i := range r.Plans {
		p := &r.Plans[i]
		s.rows = append(s.rows, planRows(p)...)
		s.notes = append(s.notes, p.Name+": "+comesTo(p, r.Job))
		if p == recommended || recommended == nil && i == 0 {
			for _, c := range p.Changes {
				s.notes = append(s.notes, minding(c))
			}
		}
	}
	if len(s.rows) > 0 {
		s.columns = []column{{"plan", false}, {"change", false}, {"predicted", true}}
	}
	if o := r.Outlook; o != nil && len(r.Plans) > 0 {
		s.notes = append(s.notes, trust(o))
	}
	return s
}

// planRows are a plan's rows: what all of its changes bring, and, where it has several, each of them alone.
func planRows(p *report.Plan) []entry {
	name := p.Name + ", " + p.Risk + " risk"
	if len(p.Changes) == 1 {
		return []entry{{cells: []string{name, turn(p.Changes[0]), promised(p.Effect)}}}
	}
	rows := []entry{{cells: []string{name, "all of these", promised(p.Effect)}}}
	for _, c := range p.Changes {
		effect := "only with the others"
		if c.Effect != nil {
			effect = "alone " + promised(c.Effect)
		}
		rows = append(rows, entry{cells: []string{"", turn(c), effect}})
	}
	return rows
}

// turn is a change without its reasons.
func turn(c report.Recommendation) string {
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
		parts = append(parts, p.Clamp+" allow no more workers")
	}
	return strings.Join(parts, "; ")
}

// minding is what can go wrong with a change, and what to look at afterwards.
func minding(c report.Recommendation) string {
	text := c.Setting + ": " + strings.TrimSuffix(c.Caveat, ".")
	if c.Watch != "" {
		text += ". Watch " + c.Watch
	}
	return text
}

// trust says what the intervals hold and what they do not.
func trust(o *report.Outlook) string {
	text := "The intervals hold what the measured costs leave open, not the model's own error: it was not calibrated on this machine"
	if o.Calibrated != "" {
		text = "The intervals hold the model's own error: " + o.Calibrated
	}
	if len(o.Assumed) > 0 {
		text += ". Assumed, not measured here: " + strings.Join(o.Assumed, ", ")
	}
	return text + "."
}

// check is the command that checks the plans, the same for each; "" without any.
func check(r *report.Report) string {
	for _, p := range r.Plans {
		if p.Check != "" {
			return p.Check
		}
	}
	return ""
}

// plans writes the section for a terminal. The command is not broken, so that it can be copied.
func (p *page) plans(r *report.Report) {
	p.section(plansSection(r))
	for i, l := range checkLines(r) {
		p.line([]string{"  Check it:  ", "             "}[min(i, 1)], l)
	}
}

// checkLines is that command as it stands on a terminal: after && a shell reads on in the next line, so that the lines can be copied as they are.
func checkLines(r *report.Report) []string {
	c := safe(check(r))
	if c == "" {
		return nil
	}
	before, after, ok := strings.Cut(c, " && pipetune ")
	if !ok || columns("  Check it:  "+c) <= width {
		return []string{c}
	}
	return []string{before + " &&", "pipetune " + after}
}

// mdPlans writes it for a pull request.
func mdPlans(r *report.Report) string {
	s := plansSection(r)
	if s.empty() {
		return ""
	}
	out := mdSection(s)
	if c := check(r); c != "" {
		out += "\nCheck it:\n" + mdCommand(c)
	}
	return out
}
