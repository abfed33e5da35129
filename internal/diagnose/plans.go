package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// PlansID stands where a rule's ID would in what a report abstained from.
const PlansID = "plans"

// plan adds to a report the plans that the model makes of the loader's settings, or why it makes nothing of them. What
// findings rule out is in no plan. False where there is nothing to tell.
func (s *subject) plan(r *report.Report) (p predict.Plans, ok bool) {
	e := s.evidence
	if r.Verdict.Class == report.Inconclusive || !Training(e) {
		return p, false // the verdict says what is missing, and that is missing here too
	}
	l, why := s.absolute()
	if why != nil {
		r.Abstained = append(r.Abstained, *why)
		return p, false
	}
	inOrder := e.Reported().Loader.InOrder != nil
	p, ok = l.forecaster.Plans(inOrder, func(set predict.Setting) bool {
		return l.ruledOut(r, set) || set.Workers < l.Setting.Workers && MayStall(e)
	})
	if !ok {
		r.Abstained = append(r.Abstained, *noModel(e, nil, "the costs of the loader are no times that could be "+
			"simulated", ""))
		return p, false
	}
	check := checkCommand(e)
	for _, x := range p.Plans {
		// The model's own gain is not enough: what it misses of the present rate may be as much.
		if one := l.plan(x, check); one.Effect != nil && one.Effect.Worthwhile() {
			r.Plans = append(r.Plans, one)
		}
	}
	if len(r.Plans) == 0 && p.Outcome == report.OutcomeWorthwhile {
		p.Outcome = report.OutcomeNothing
	}
	if p.Outcome == report.OutcomeNothing && r.Verdict.Class == report.InputBound && DeviceUnseen(e) {
		r.Abstained = append(r.Abstained, *noModel(e, nil,
			"no counter of the GPU was read: settings bring nothing where it works while the trainer waits", ""))
		return p, false
	}
	return p, true
}

// absolute is the model where it gives rates, or why there is none.
func (s *subject) absolute() (*Loader, *report.Abstained) {
	l, ok := s.model()
	return l, unplannable(s.evidence, l, ok)
}

// PlannedLoader is LoaderOf where a report would have plans; else it returns why it would not.
func PlannedLoader(e *evidence.Evidence, own predict.Calibration) (*Loader, *report.Abstained) {
	l, ok := LoaderOf(e, own)
	return l, unplannable(e, l, ok)
}

// unplannable is why there are no plans for a loader; nil where there are. False stands for a loader that has no model.
func unplannable(e *evidence.Evidence, l *Loader, ok bool) *report.Abstained {
	switch {
	case e.Facts.Fed != nil:
		return noModel(e, nil, fedHow(e)+", and a plan is of a DataLoader's settings", "")
	case !ok || l.Metric == Relative:
		needs := []metric.Desc{metric.NumWorkers, metric.BatchesPerS, metric.FreeStepTime, metric.WorkerCPUBatch}
		if Workerless(e) {
			needs = []metric.Desc{metric.BatchesPerS, metric.FreeStepTime, metric.FetchTime}
		}
		return noModel(e, needs, "", "")
	case !(l.FreeStep.Center > 0):
		return noModel(e, nil, "no time was seen that is not spent waiting for data: without a step there is nothing "+
			"to feed", "watch for longer")
	case DeviceUnseen(e) && l.StepRange:
		return noModel(e, nil, "no counter of the GPU was read: what a step takes with data at hand is unknown", "")
	case !l.fits():
		return noModel(e, nil, l.misses(), "watch for longer, while nothing else runs on the machine")
	}
	return nil
}

// LaunchCure is what to do where a launched job would show more.
const LaunchCure = "start the job with pipetune: pipetune diagnose -- COMMAND"

// noModel says why there is none: what is missing, or else a reason of its own.
func noModel(e *evidence.Evidence, needs []metric.Desc, reason, cure string) *report.Abstained {
	names, why, itsCure := missing(e, needs)
	if reason == "" {
		reason, cure = cmp.Or(why, "this watch gave too little to model the loader"), itsCure
	}
	if cure == "" && Workerless(e) && !Hooked(e) && e.Header.Mode != "launch" {
		cure = LaunchCure
	}
	return &report.Abstained{Rule: PlansID, Missing: names, Reason: reason, Cure: cure}
}

// noun is a metric as prose has it.
func noun(name string) string {
	return strings.Replace(strings.ReplaceAll(name, "_", " "), " per s", " per second", 1)
}

// checkCommand is what tells whether a plan came true; "" where pipetune started the job and the command is not known.
func checkCommand(e *evidence.Evidence) string {
	watch := "pipetune diagnose --baseline " + Before
	if e.Header.Mode != "launch" {
		return watch
	}
	start := StartLine(e)
	if start == "" {
		return ""
	}
	return watch + start
}

// Before stands in commands for the file that the report is kept in.
const Before = "before.json"

// StartLine is the end of a command line that starts the job; "" where its own is not known. What multiprocessing
// starts a process with (Lib/multiprocessing/spawn.py, forkserver.py) is of use to it alone: it names the parent's
// pipes.
func StartLine(e *evidence.Evidence) string {
	command := e.Header.Job.Command
	if len(command) == 0 || slices.ContainsFunc(command, func(word string) bool {
		return strings.HasPrefix(word, "from multiprocessing.") || word == "--multiprocessing-fork"
	}) {
		return ""
	}
	text := " --"
	for _, word := range command {
		text += " " + shellArgument(word)
	}
	return text
}

// plan tells one plan.
func (l *Loader) plan(x predict.Plan, check string) report.Plan {
	out := report.Plan{Name: x.Name, Risk: x.Risk,
		Effect: l.effect(x.After, true), Check: check,
		Next: limitText[x.After.Next], Clamp: string(x.Clamp),
		InputWaitRatio: stat.Known(stat.Share(x.After.WaitRatio))}
	if out.Effect != nil && out.Effect.After > 0 {
		out.StepTimeS = stat.Known(l.PerBatch / out.Effect.After)
		if l.Epoch > 0 {
			out.EpochTimeS = stat.Known(float64(l.Epoch) * l.PerBatch / out.Effect.After)
		}
	}
	before, after := l.Memory(l.present.Setting), l.Memory(x.After.Setting)
	out.ExtraMemoryBytes, out.ExtraShmBytes = l.bytes(after.Total()-before.Total()), l.bytes(after.Shm-before.Shm)
	if l.WorkerBytes == 0 && l.Setting.Workers == 0 { // of workers that are not there yet nothing is known
		out.ExtraMemoryBytes = nil
	}
	at := l.present.Setting
	for _, c := range x.Changes {
		out.Changes = append(out.Changes, l.change(at, c))
		at = c.Then.Setting
	}
	return out
}

func (l *Loader) change(at predict.Setting, c predict.Change) report.Recommendation {
	from, to := c.Knob.Value(at), c.Knob.Value(c.Then.Setting)
	text := knobText[c.Knob]
	if c.Knob == predict.PrefetchFactor && l.Pause.Simulated() {
		text.risk = deeperInPauses
	}
	out := report.Recommendation{Setting: string(c.Knob), To: to, Caveat: text.risk, Watch: text.watch,
		Effect: l.effect(c.Alone, true)}
	if l.present.Setting.Workers == 0 && c.Knob != predict.NumWorkers {
		out.Effect = nil // without workers it means nothing, and PyTorch 2 refuses it
	}
	if l.seen(c.Knob) {
		out.From = &from
	}
	if l.contended(c.Alone) {
		out.Caveat = also(byGroup, out.Caveat)
	}
	if c.Knob == predict.NumWorkers && c.Then.Setting.Workers > at.Workers {
		out.Caveat = also(out.Caveat, l.sharing)
	}
	out.Why = "next limit: " + cmp.Or(limitText[c.Then.Limit], "nothing that was measured")
	if c.Then.Limit == predict.Workers {
		out.Why = "the limit stays: the workers"
	}
	return out
}

// knobText is what can go wrong with a change of a setting, and what to look at after it.
var knobText = map[predict.Knob]struct{ risk, watch string }{
	predict.NumWorkers: {
		risk: "each worker is a process with a copy of what the dataset holds in Python objects; a dataset that " +
			"keeps an open file or a random state from before the start needs a worker_init_fn",
		watch: "the workers' CPU and memory, the run queue, and whether storage gets slower as more of them read",
	},
	predict.PrefetchFactor: {
		risk: "finished batches fill /dev/shm; with order kept, depth only evens out how batches vary and does not " +
			"raise the mean",
		watch: "free space in /dev/shm",
	},
	predict.PersistentWorkers: {
		risk: "the dataset's state lives on from epoch to epoch: changes made to it in the trainer between epochs " +
			"no longer reach the workers",
		watch: "the workers' memory from epoch to epoch",
	},
	predict.InOrder: {
		risk: "the order of batches depends on their timing, so a run can no longer be repeated exactly, and slow " +
			"samples come later than their turn",
		watch: "the loss, against a run with order kept",
	},
}

// deeperInPauses is the risk of a deeper queue where training pauses while its workers go on.
const deeperInPauses = "finished batches fill /dev/shm; with order kept, depth evens out how batches vary and holds " +
	"more of what is made while training pauses, and does not raise the mean else"

// seen tells whether the present value of a setting was observed, and is not just PyTorch's default.
func (l *Loader) seen(k predict.Knob) bool {
	switch k {
	case predict.NumWorkers:
		return true
	case predict.PrefetchFactor:
		return l.Setting.Prefetch > 0 && l.Setting.Workers > 0
	case predict.PersistentWorkers:
		return l.Setting.Workers > 0
	}
	return false
}

// bytes is what so much more memory for each loader comes to in all trainers.
func (l *Loader) bytes(x float64) *int64 {
	x *= float64(l.Trainers())
	if !stat.Finite(x) || math.Abs(x) > math.MaxInt64/2 || l.BatchBytes == 0 && l.WorkerBytes == 0 {
		return nil
	}
	n := int64(math.Round(x))
	return &n
}

// outlook says what the plans come to.
func (l *Loader) outlook(p predict.Plans, r *report.Report) *report.Outlook {
	o := &report.Outlook{Outcome: p.Outcome, Now: l.effect(p.Now, false), Limit: limitText[p.Now.Limit],
		Next:       limitText[p.Now.Next],
		Confidence: predict.Confidence, Calibrated: l.error.Source, Assumed: l.assumed, First: firstCause(r)}
	if p.Headroom > 0 {
		o.Headroom = stat.Known(p.Headroom)
	}
	if p.Now.Limit == predict.Device && r.Verdict.Class == report.HostBound {
		o.Limit = limitText[predict.Step] // the device is busy in name only
	}
	if l.Others >= leastOthers && p.Now.Limit == predict.CPUs {
		o.Limit += ", which other programs use as well"
	}
	switch p.Outcome {
	case report.OutcomeStep:
		if r.Verdict.Class != report.InputBound { // a batch that is there still has to be taken
			o.Statement = "The training step is the limit"
			if len(r.Host.GPUs) > 0 && r.Verdict.Class == report.GPUBound {
				o.Statement = "The training step (GPU) is the limit"
			}
			if o.Headroom != nil && *o.Headroom >= 1.05 {
				o.Statement += "; the loader alone could give " + unit.Number(*o.Headroom) + " times as much"
			}
			o.Statement += ". "
		}
		o.Statement += "No setting of the loader that could be simulated brings 3 %."
	case report.OutcomeNothing:
		o.Statement = "Nothing is worth changing: no setting of the loader within reach brings 3 %"
		if slices.ContainsFunc(r.Decisions, func(d report.Decision) bool { return d.Outcome == report.ToChange }) {
			o.Statement = "No setting of the loader that could be simulated brings 3 %"
		}
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
		o.Statement += " The beginnings and ends of epochs take " + unit.Percent(p.Now.StartShare) + " of an epoch."
	}
	if l.Others >= leastOthers && len(r.Plans) > 0 {
		o.Statement += " The upper ends of the intervals allow for the other programs to stop."
		if slices.ContainsFunc(p.Plans, func(x predict.Plan) bool { return l.contended(x.After) }) {
			o.Statement += " The lower ends include no gain: the kernel shares CPUs by group of processes " +
				"(sched(7)), so that more workers may get nothing from other programs."
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
		setting := slices.ContainsFunc(f.Recommendations,
			func(c report.Recommendation) bool { return slices.Contains(report.Simulated, c.Setting) }) ||
			slices.ContainsFunc(f.Unhelpful, func(u report.Unhelpful) bool {
				return u.Direction == report.To && slices.Contains(report.Simulated, u.Setting)
			})
		if f.Rule == r.Verdict.Rule && !setting {
			return f.Rule
		}
	}
	return ""
}
