package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/patch"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// Fix is the recommended settings as a change of the job's source, as a file needs it: not redacted.
type Fix struct {
	Diff string // "" where there is none
	Why  string // then, for the person
	// Lacks says which of the recommended settings the diff does not make; "" where it makes all
	Lacks string
}

// Fix makes a patch of a report's recommended settings and adds it to the report, redacted. trainers are what the
// hook has reported of.
func (j *Job) Fix(ctx context.Context, r *report.Report, trainers []hook.Trainer) Fix {
	settings := patchable(r)
	switch {
	case len(settings) > 0:
	case slices.ContainsFunc(r.Decided(), func(d report.Decision) bool { return d.Hold == report.HoldIterable }):
		return Fix{Why: report.HoldIterable + ", which is for you to see to before there are several workers"}
	case r.Tuning != nil && r.Tuning.Outcome == report.TuningNothing:
		return Fix{Why: "no setting that was measured brings 3 %"}
	case r.Tuning != nil && r.Tuning.Outcome == report.TuningUnclear:
		return Fix{Why: "rates varied too much to tell which setting is faster"}
	case r.Tuning != nil && r.Tuning.Outcome == report.TuningNone:
		return Fix{Why: "no other setting was measured in the loop"}
	case r.Verdict != nil && r.Verdict.Class == report.Inconclusive:
		return Fix{Why: "nothing could be concluded, so no setting is recommended"}
	default:
		return Fix{Why: "no setting of the DataLoader is recommended"}
	}
	from, call, ok := patched(trainers, r)
	if !ok {
		return Fix{Why: whyNoSource(r)}
	}
	folder := call.Folder
	if folder == "" {
		folder, _ = os.Getwd() // without it the file is named from the root
	}
	request := patch.Request{
		Python: from.Executable, File: call.File, Line: call.Line, Folder: folder, Began: j.started, Settings: settings,
	}
	if r.Job != nil && r.Job.Loader != nil {
		request.Workers = r.Job.Loader.NumWorkers
	}
	p, err := patch.Make(ctx, request)
	if err != nil {
		why := untrusted.Path(err.Error(), j.redact)
		r.Warnings = append(r.Warnings, "the recommended settings could not be made a patch: "+why)
		return Fix{Why: why}
	}
	shown := redactPatch(p, j.redact)
	r.Patch = &shown
	var left []string // to do by hand: where there is no diff, each setting with the reason
	for _, s := range shown.Settings {
		if p.Diff == "" || s.How == report.PatchElsewhere {
			left = append(left, notMade(s))
		}
	}
	switch text := strings.Join(left, "; "); {
	case p.Diff == "":
		return Fix{Why: text}
	case text == "":
		return Fix{Diff: p.Diff}
	case r.Tuning != nil && r.Tuning.Outcome == report.TuningChange:
		left = append(left, "the settings were measured together")
	}
	return Fix{Diff: p.Diff, Lacks: "the patch makes a part of the change: " + strings.Join(left, "; ")}
}

// whyNoSource says why nobody's source can be patched.
func whyNoSource(r *report.Report) string {
	if r.Job != nil && r.Job.Loader != nil {
		if at := r.Job.Loader.Location; at != nil && strings.HasPrefix(at.File, "<") {
			return fmt.Sprintf("the DataLoader is made at %s:%d, which is no file: a notebook's cell, or source that "+
				"was made as the job ran", at.File, at.Line)
		}
	}
	return "the hook did not see where the DataLoader is made"
}

// patchable are the settings to change as they stand that are arguments of DataLoader with a value that can be written
// down.
func patchable(r *report.Report) []patch.Setting {
	var list []patch.Setting
	add := func(setting, to string) {
		known := slices.ContainsFunc(list, func(s patch.Setting) bool { return s.Name == setting })
		if to, ok := asPython(setting, to); ok && !known {
			list = append(list, patch.Setting{Name: setting, To: to})
		}
	}
	ready := r.Ready()
	for _, c := range ready {
		add(c.Setting, c.To)
	}
	for _, c := range ready { // a decision of its own comes before what goes along with another
		for _, w := range c.With {
			if d := r.Decision(w.Setting); d == nil || d.Hold == "" { // what is held stays so beside another
				add(w.Setting, w.To)
			}
		}
	}
	return list
}

// asPython writes a recommended value as a literal of Python, where setting is one that can be patched and the value
// is no prose.
func asPython(setting, to string) (string, bool) {
	switch setting {
	case "num_workers", "prefetch_factor":
		n, err := strconv.Atoi(to)
		return to, err == nil && n >= 0 && strconv.Itoa(n) == to
	case "persistent_workers", "pin_memory", "in_order":
		return to, to == "True" || to == "False"
	case "multiprocessing_context":
		return strconv.Quote(to), to == "fork" || to == "spawn" || to == "forkserver"
	}
	return "", false
}

// patched is the trainer whose source is patched, and where the loader that the report's settings are of is made: of
// the trainer that the report's figures are of, else of one that makes a loader on the line that the report names, as
// the report may be of a later one of trainers in turn. Where nobody does it is the former, or the first that said
// where its loader is made. The report's file has lost its folder where that says too much.
func patched(list []hook.Trainer, r *report.Report) (from hook.Trainer, call hook.Call, ok bool) {
	pid, at := 0, report.Location{}
	if r.Job != nil {
		pid = r.Job.PID
		if r.Job.Loader != nil && r.Job.Loader.Location != nil {
			at = *r.Job.Loader.Location
		}
	}
	for _, k := range r.Ranks {
		if k.Worst {
			pid = k.PID
		}
	}
	known := slices.DeleteFunc(slices.Clone(list), func(t hook.Trainer) bool { return t.Call.File == "" })
	if len(known) == 0 {
		return hook.Trainer{}, hook.Call{}, false
	}
	if i := slices.IndexFunc(known, func(t hook.Trainer) bool { return t.PID == pid }); i > 0 {
		known = slices.Insert(known, 0, known[i]) // it comes first
	}
	for _, t := range known {
		for _, c := range t.Calls {
			if c.Line == at.Line && filepath.Base(c.File) == filepath.Base(at.File) {
				return t, c, true
			}
		}
	}
	return known[0], known[0].Call, true
}

// redactPatch is a patch as a report may show it: in a public place.
func redactPatch(p report.Patch, with untrusted.Redaction) report.Patch {
	out := report.Patch{File: untrusted.Path(p.File, with), Settings: slices.Clone(p.Settings)}
	for line := range strings.Lines(p.Diff) {
		line = strings.TrimRight(line, "\r\n") // of a file with the line ends of Windows
		parts := strings.Split(line, "\t")
		for i := range parts {
			parts[i] = untrusted.Path(parts[i], with)
		}
		out.Diff += strings.Join(parts, "\t") + "\n"
	}
	for i, s := range out.Settings {
		if s.From != nil {
			out.Settings[i].From = new(untrusted.Path(*s.From, with))
		}
		out.Settings[i].Origin = untrusted.Path(s.Origin, with)
	}
	return out
}

// notMade says why a setting is not in a patch.
func notMade(s report.PatchedSetting) string {
	switch {
	case s.How == report.PatchAlready:
		return s.Setting + " is " + s.To + " there already"
	case strings.HasPrefix(s.Origin, "not written: "):
		return s.Setting + " is " + s.Origin
	}
	return s.Setting + " is set elsewhere: " + s.Origin
}
