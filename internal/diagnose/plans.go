package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// PlansID stands where a rule's ID would in what a report abstained from.
const PlansID = "plans"

// Confidence is that of the intervals of plans.
const Confidence = 0.9

// mostMisfit is by what factor the model's rate at the settings as they are may differ from the one that was seen. Beyond it something that
// the model does not know of holds the loader, and what it says of other settings is worth nothing.
const mostMisfit = 1.25

// plan adds to a report what the simulation makes of the loader's settings, or why it makes nothing of them.
func plan(r *report.Report, e *evidence.Evidence, by judgement) {
	if r.Verdict.Class == report.Inconclusive || !Training(e) {
		return // the verdict says what is missing, and that is missing here too
	}
	m, why := pipelineOf(e)
	if why != nil {
		r.Abstained = append(r.Abstained, *why)
		return
	}
	f := predict.NewForecaster(m.Pipeline, predict.Options{Confidence: Confidence, Calibration: m.error,
		RuledOut: func(set predict.Setting) bool { return m.ruledOut(r, set) }})
	inOrder := e.Facts.Hook != nil && e.Facts.Hook.Loader.InOrder != nil
	p, ok := f.Plans(inOrder)
	if !ok {
		r.Abstained = append(r.Abstained, *noModel(e, nil, "the costs of the loader are no times that could be simulated", ""))
		return
	}
	if by := m.misfit(p.Now); by > mostMisfit {
		r.Abstained = append(r.Abstained, *noModel(e, nil, fmt.Sprintf(
			"the model makes %s %s of the loader as it is, where %s were seen: something that it does not know of limits it",
			unit.Number(p.Now.Rate*m.as.scale), noun(m.as.Metric), unit.Number(m.as.Now.Center)), "watch for longer, while nothing else runs on the machine"))
		return
	}
	check := checkCommand(e)
	r.Plans = m.plans(f, p, check)
	// What findings rule out is in no plan, and what the simulation denies is in no finding. Each denial may let another finding have its say, which
	// may rule out a plan; it ends, because a change is denied once.
	for m.agree(f, p.Now, r, by) {
		r.Findings = by.weigh()
		r.Verdict = verdict(e, r.Findings, by.rules)
		p, _ = f.Plans(inOrder)
		r.Plans = m.plans(f, p, check)
	}
	if len(r.Plans) == 0 && p.Verdict == predict.Worthwhile {
		p.Verdict = predict.Nothing
	}
	r.Outlook = m.outlook(f, p, r)
}

// plans tells those plans that are worth a change.
func (m *model) plans(f *predict.Forecaster, p predict.Plans, check string) []report.Plan {
	worthwhile := []report.Plan{}
	for _, x := range p.Plans {
		// The model's own gain is not enough: what it misses of the present rate may be as much.
		if told := m.plan(f, p.Now, x, check); told.Effect != nil && told.Effect.Worthwhile() {
			worthwhile = append(worthwhile, told)
		}
	}
	return worthwhile
}

// noun is a metric as prose has it.
func noun(name string) string {
	return strings.Replace(strings.ReplaceAll(name, "_", " "), " per s", " per second", 1)
}

// checkCommand is what tells whether a plan came true.
func checkCommand(e *evidence.Evidence) string {
	watch := "pipetune diagnose -o after.json"
	if e.Header.Mode == "launch" && len(e.Header.Job.Command) > 0 {
		watch += " --"
		for _, word := range e.Header.Job.Command {
			watch += " " + shellArgument(word)
		}
	}
	return watch + " && pipetune compare before.json after.json"
}

// plan tells one plan.
func (m *model) plan(f *predict.Forecaster, now predict.Forecast, x predict.Plan, check string) report.Plan {
	out := report.Plan{Name: x.Name, Risk: string(x.Risk), Changes: []report.Recommendation{}, Effect: m.effect(x.After, x.Gain), Check: check,
		Next: limitText[x.After.Next], Clamp: string(x.Clamp), InputWaitRatio: known(unitShare(x.After.WaitRatio))}
	if out.Effect != nil && out.Effect.After > 0 {
		out.StepTimeS = known(m.as.scale / out.Effect.After)
		if m.Epoch > 0 {
			out.EpochTimeS = known(float64(m.Epoch) * m.as.scale / out.Effect.After)
		}
	}
	out.ExtraMemoryBytes, out.ExtraShmBytes = m.bytes(x.Extra.Total()*float64(m.as.Trainers())), m.bytes(x.Extra.Shm*float64(m.as.Trainers()))
	if m.WorkerBytes == 0 && m.Setting.Workers == 0 { // of workers that are not there yet nothing is known
		out.ExtraMemoryBytes = nil
	}
	at := now.Setting
	for _, c := range x.Changes {
		out.Changes = append(out.Changes, m.change(f, now, at, c))
		at = c.Then.Setting
	}
	return out
}

func (m *model) change(f *predict.Forecaster, now predict.Forecast, at predict.Setting, c predict.Change) report.Recommendation {
	from, to := value(c.Knob, at), value(c.Knob, c.Then.Setting)
	out := report.Recommendation{Setting: string(c.Knob), To: to, Caveat: c.Risk, Watch: c.Watch, Effect: m.effect(c.Alone, c.Gain)}
	if m.seen(c.Knob) {
		out.From = &from
	}
	if m.contested(c.Alone) {
		out.Caveat = also(byGroup, out.Caveat)
	}
	if c.Knob == predict.NumWorkers && c.Then.Setting.Workers > at.Workers {
		out.Caveat = also(out.Caveat, m.sharing)
	}
	out.Why = fmt.Sprintf("then %s limits", cmp.Or(limitText[c.Then.Limit], "nothing that was measured"))
	if c.Then.Limit == predict.Workers {
		out.Why = "then the workers still limit"
	}
	return out
}

// seen tells whether the present value of a setting was observed, and is not just PyTorch's default.
func (m *model) seen(k predict.Knob) bool {
	switch k {
	case predict.NumWorkers:
		return true
	case predict.PrefetchFactor:
		return m.as.Prefetch > 0 && m.Setting.Workers > 0
	case predict.PersistentWorkers, predict.Context:
		return m.Setting.Workers > 0
	}
	return false
}

// value writes a setting as Python has it.
func value(k predict.Knob, s predict.Setting) string {
	truth := map[bool]string{true: "True", false: "False"}
	switch k {
	case predict.NumWorkers:
		return strconv.Itoa(s.Workers)
	case predict.PrefetchFactor:
		return strconv.Itoa(s.Prefetch)
	case predict.PersistentWorkers:
		return truth[s.Persistent]
	case predict.Context:
		return string(s.Start)
	}
	return truth[!s.Unordered]
}

func known(x float64) *float64 {
	if !finite(x) {
		return nil
	}
	return &x
}

func (m *model) bytes(x float64) *int64 {
	if !finite(x) || math.Abs(x) > math.MaxInt64/2 || m.BatchBytes == 0 && m.WorkerBytes == 0 {
		return nil
	}
	n := int64(math.Round(x))
	return &n
}

// outlook says what the plans come to.
func (m *model) outlook(f *predict.Forecaster, p predict.Plans, r *report.Report) *report.Outlook {
	m.quiet = nil // of what is, other programs are a part
	o := &report.Outlook{Outcome: string(p.Verdict), Now: m.effect(p.Now, f.Gain(p.Now, p.Now)), Limit: limitText[p.Now.Limit], Next: limitText[p.Now.Next],
		Confidence: Confidence, Calibrated: m.error.Source, Assumed: m.assumed, First: firstCause(r)}
	if p.Headroom > 0 {
		o.Headroom = known(p.Headroom)
	}
	if m.Others >= leastOthers && p.Now.Limit == predict.CPUs {
		o.Limit += ", which other programs use as well"
	}
	switch p.Verdict {
	case predict.StepBound:
		who := "The training step"
		if len(r.Host.GPUs) > 0 && r.Verdict.Class == report.GPUBound {
			who = "The training step (GPU)"
		}
		o.Statement = who + " is the limit"
		if o.Headroom != nil && *o.Headroom >= 1.05 {
			o.Statement += "; the loader alone could give " + unit.Number(*o.Headroom) + " times as much"
		}
		o.Statement += ". No setting of the loader is worth changing."
	case predict.Nothing:
		o.Statement = "Nothing is worth changing: no setting of the loader within reach brings 3 %"
		if o.Limit != "" {
			o.Statement += "; what limits is " + o.Limit
		}
		o.Statement += "."
	default:
		o.Statement = "What limits now is " + cmp.Or(o.Limit, "not known")
		if o.Next != "" {
			o.Statement += ", then " + o.Next
		}
		o.Statement += "."
	}
	if p.Now.StartShare >= Moderate.Value && p.Now.Setting.Workers > 0 {
		o.Statement += " Starting and ending workers takes " + unit.Percent(p.Now.StartShare) + " of an epoch."
	}
	if m.Others >= leastOthers && len(r.Plans) > 0 {
		o.Statement += " The upper ends of the intervals allow for the other programs to stop."
		if slices.ContainsFunc(p.Plans, func(x predict.Plan) bool { return m.contested(x.After) }) {
			o.Statement += " The lower ends include no gain: the kernel shares CPUs by group of processes (sched(7)), so that more workers may get nothing from other programs."
		}
	}
	if o.First != "" {
		o.Statement += " These are settings only: " + o.First + " comes first."
	}
	return o
}

// firstCause is the rule that leads the verdict where its cure is no setting that is simulated; "" else.
func firstCause(r *report.Report) string {
	if r.Verdict.Class != report.InputBound || r.Verdict.Rule == "" {
		return ""
	}
	for _, f := range r.Findings {
		setting := slices.ContainsFunc(f.Recommendations, func(c report.Recommendation) bool { return slices.Contains(report.Simulated, c.Setting) }) ||
			slices.ContainsFunc(f.Unhelpful, func(u report.Unhelpful) bool {
				return u.Direction == report.To && slices.Contains(report.Simulated, u.Setting)
			})
		if f.Rule == r.Verdict.Rule && !setting {
			return f.Rule
		}
	}
	return ""
}
