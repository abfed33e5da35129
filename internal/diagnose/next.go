package diagnose

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// next lists commands worth running, ready to copy.
func next(e *evidence.Evidence, r *report.Report) []string {
	var out []string
	switch {
	case r.Verdict.Class == report.Inconclusive && e.Facts.OffMain != "" && !tooLittle(e):
		// a longer watch would tell no more of what the main thread waits for
	case r.Verdict.Class == report.Inconclusive:
		inside := e.Header.Mode != "launch" && StartLine(e) != ""
		if inside && (e.Window.Startup.Whole || MayLoad(e)) { // its steps may never show from outside
			out = append(out, "pipetune diagnose"+StartLine(e))
		}
		if !MayLoad(e) || tooLittle(e) || len(out) == 0 {
			out = append(out, longerWatch(e))
		}
	case r.Verdict.Rule != "":
		out = append(out, "pipetune explain "+r.Verdict.Rule)
	case len(r.Findings) > 0:
		advises := func(f report.Finding) bool { return f.Severity != report.Info && len(f.Recommendations) > 0 }
		if short := slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Rule == tooShort }); short {
			out = append(out, longerWatch(e))
		} else if i := slices.IndexFunc(r.Findings, advises); i >= 0 {
			out = append(out, "pipetune explain "+r.Findings[i].Rule)
		}
	}
	if r.Verdict.Class == report.InputBound && r.Verdict.Rule == "" && e.Header.Mode != "launch" && StartLine(e) != "" {
		out = append(out, "pipetune diagnose"+StartLine(e)) // from inside more is seen
	}
	if e.Facts.Dataset != "" && r.Verdict.Class == report.InputBound {
		out = append(out, "pipetune bench-io "+ShellWord(e.Facts.Dataset))
	}
	return out
}

var plainWord = regexp.MustCompile(`^~?[A-Za-z0-9_./=:@%+,-]+$`)

// shellArgument quotes a word of a command line as it is: options stay options.
func shellArgument(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return quoted(word)
}

func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// ShellWord quotes a path, which is data, for a POSIX shell: a copied line must not run anything else.
func ShellWord(path string) string {
	if plainWord.MatchString(path) && !strings.HasPrefix(path, "-") {
		return path
	}
	if rest, home := strings.CutPrefix(path, "~/"); home {
		// a home that was redacted: between quotes the shell would not find it
		return "~/" + quoted(rest)
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return quoted(path)
}

// tooShort is the rule that says that a watch was, and the only one to judge a watch from which nothing can be
// concluded.
const tooShort = "quality/too-short"

// tooLittle says whether the steady window is too short for any rule, or holds no step: the line below which there is
// no verdict either. A handful of samples gives shares of 0 or 100 % and no interval, and a rule that holds them
// against its limits finds what chance put there.
func tooLittle(e *evidence.Evidence) bool {
	v, ok := e.Get(metric.WindowTime)
	return ok && v.Center < leastWindow || e.Window.Startup.Whole
}

// judgeShort stands in place of Judge where too little was seen.
func (s *subject) judgeShort(rule *Rule) ([]report.Finding, []report.Abstained) {
	switch {
	case rule.ID == tooShort:
		return s.judge(rule)
	case rule.Eval == nil:
		return nil, nil
	}
	if s.evidence.Window.Startup.Whole {
		return nil, []report.Abstained{{Rule: rule.ID,
			Reason: "no step was seen: the job was still starting up, or its steps do not show from outside",
			Cure:   "watch once it trains, or start it with pipetune: pipetune diagnose -- COMMAND"}}
	}
	reason := "too little was seen to judge by: at least " + unit.Seconds(leastWindow) + " are needed after the warm-up"
	return nil, []report.Abstained{{Rule: rule.ID, Reason: reason}}
}

// withhold takes off a report what a handful of samples cannot tell: how a step and a worker's time divide, and figures
// without an interval.
func withhold(r *report.Report) {
	r.Verdict.Step = report.Step{}
	r.Phases, r.Plans, r.Ranks = nil, nil, nil
	maps.DeleteFunc(r.Metrics, func(_ string, m report.Metric) bool { return m.Confidence == 0 })
}

// promiseNothing takes off a report from which nothing follows what would follow: what changes would bring, and what
// were if data were free.
func promiseNothing(r *report.Report) {
	for _, f := range r.Findings {
		for i := range f.Recommendations {
			f.Recommendations[i].Effect = nil
		}
	}
	delete(r.Metrics, metric.FreeStepTime.Name)
}

// How a watch ended, as recordings name it.
const (
	byDuration = "duration"
	bySteps    = "steps"
)

// Longer is the setting that makes a watch long enough, and its value, where the steps to be seen take so many seconds;
// 0 where they are not known. It depends on what ended this watch: a longer --duration is of no use to a job that ends
// before.
func Longer(e *evidence.Evidence, steps float64) (setting, to string) {
	launched := e.Header.Mode == "launch"
	rate, counted := e.Get(metric.BatchesPerS)
	switch {
	case launched && e.Window.By == bySteps && counted && rate.Center > 0:
		return "--steps", fmt.Sprintf("%.0f", math.Ceil(rate.Center*max(steps, evidence.AdvisedWatch)))
	case launched && e.Window.By != byDuration && e.Window.By != bySteps:
		return "length of the job", fmt.Sprintf("at least %.0f s of training",
			math.Ceil(max(steps, evidence.AdvisedTraining)))
	case e.Window.Ended:
		return "start of the watch", "earlier in the job, or with it: pipetune diagnose -- COMMAND"
	}
	return "--duration", fmt.Sprintf("%.0fs", math.Ceil(max(steps, evidence.AdvisedWatch)))
}

// longerWatch is the command that watches for long enough.
func longerWatch(e *evidence.Evidence) string {
	switch setting, to := Longer(e, 0); {
	case e.Header.Mode != "launch" && !e.Window.Ended && e.Header.Job.PID > 0:
		return fmt.Sprintf("pipetune diagnose --pid %d %s %s", e.Header.Job.PID, setting, to)
	case e.Header.Mode != "launch" && !e.Window.Ended:
		return "pipetune diagnose " + setting + " " + to
	case e.Header.Mode != "launch":
		return "pipetune diagnose -- COMMAND  # the job ended while it was watched"
	case !tooLittle(e):
		return "pipetune doctor" // it was watched for as long as it trained: what is missing is not time
	case setting == "length of the job":
		return "pipetune diagnose -- COMMAND  # let the job run longer: " + to
	default:
		return "pipetune diagnose " + setting + " " + to + " -- COMMAND"
	}
}

// failureFirst gives, in a report that concludes nothing, the failure of a launched job as the first reason: it is
// why too little was seen, and a longer watch would not see more.
func failureFirst(e *evidence.Evidence, r *report.Report) {
	if e.Window.Failure == "" || r.Verdict == nil || r.Verdict.Class != report.Inconclusive {
		return
	}
	r.Verdict.Doubts = append([]string{"the job " + e.Window.Failure}, r.Verdict.Doubts...)
	r.Verdict.Statement = inconclusive(e, r.Verdict.Doubts)
	longer := longerWatch(e)
	r.Next = slices.DeleteFunc(r.Next, func(command string) bool { return command == longer })
}
