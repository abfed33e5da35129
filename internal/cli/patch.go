package cli

import (
	"context"
	"errors"
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

// patchSuffixes mark the outputs that take the patch instead of the report.
var patchSuffixes = []string{".patch", ".diff"}

func takesPatch(path string) bool {
	return slices.ContainsFunc(patchSuffixes, func(s string) bool { return strings.HasSuffix(path, s) })
}

// refusePatch ends a command that was asked for a patch and never makes one.
func refusePatch(outs []output) error {
	for _, o := range outs {
		if o.patch {
			return fail(exitUsage, "let pipetune start the job: pipetune diagnose -o fix.patch -- python train.py",
				"-o %s: only of a job that it has launched does pipetune know the line to patch", o.path)
		}
	}
	return nil
}

// fix is the patch of a launched job as its files need it: not redacted.
type fix struct {
	diff string // "" where there is none
	why  string // then, for the person
}

// amendReport adds to the report what only a launched job can give: its settings as a change of the source.
func (l *launch) amendReport(ctx context.Context, r *report.Report) {
	settings := patchable(r)
	if len(settings) == 0 {
		l.fix = fix{why: "no setting of the DataLoader is recommended"}
		switch {
		case r.Verdict != nil && r.Verdict.Class == report.Inconclusive:
			l.fix.why = "nothing could be concluded, so no setting is recommended"
		case r.Unshared():
			l.fix.why = "the dataset is iterable: each worker goes over all of it unless its own code takes a share, which is for you to see to before there are several workers"
		}
		return
	}
	from, ok := patchedTrainer(l.told.Trainers, r)
	if !ok {
		l.fix = fix{why: whyNoSource(r)}
		return
	}
	call := patchedCall(from, r)
	folder := call.Folder
	if folder == "" {
		folder, _ = os.Getwd() // without it the file is named from the root
	}
	request := patch.Request{Python: from.Executable, File: call.File, Line: call.Line, Folder: folder, Began: l.started, Settings: settings}
	if r.Job != nil && r.Job.Loader != nil {
		request.Workers = r.Job.Loader.NumWorkers
	}
	p, err := patch.Make(ctx, request)
	if err != nil {
		l.fix = fix{why: untrusted.Path(err.Error(), l.redact)}
		r.Warnings = append(r.Warnings, "the recommended settings could not be made a patch: "+l.fix.why)
		return
	}
	shown := redactPatch(p, l.redact)
	r.Patch = &shown
	l.fix = fix{diff: p.Diff, why: whyNoDiff(shown)}
}

// whyNoSource says why nobody's source can be patched.
func whyNoSource(r *report.Report) string {
	if r.Job != nil && r.Job.Loader != nil {
		if at := r.Job.Loader.Location; at != nil && strings.HasPrefix(at.File, "<") {
			return fmt.Sprintf("the DataLoader is made at %s:%d, which is no file: a notebook's cell, or source that was made as the job ran", at.File, at.Line)
		}
	}
	return "the hook did not see where the DataLoader is made"
}

// patchable are the recommended settings that are arguments of DataLoader with a value that can be written down: of the moderate plan, and of each
// other setting the first that is recommended. Where that one names no value, a lower finding must not have its way instead.
func patchable(r *report.Report) []patch.Setting {
	var list []patch.Setting
	for _, c := range r.Ready() {
		if to, ok := asPython(c.Setting, c.To); ok {
			list = append(list, patch.Setting{Name: c.Setting, To: to})
		}
	}
	return list
}

// asPython writes a recommended value as a literal of Python, where setting is one that can be patched and the value is no prose.
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

// patchedTrainer is the trainer whose source is patched: the one the report's figures are of, else the first that said where its loader is made.
func patchedTrainer(list []hook.Trainer, r *report.Report) (hook.Trainer, bool) {
	pid := 0
	if r.Job != nil {
		pid = r.Job.PID
	}
	for _, k := range r.Ranks {
		if k.Worst {
			pid = k.PID
		}
	}
	known := slices.DeleteFunc(slices.Clone(list), func(t hook.Trainer) bool { return t.Call.File == "" })
	if len(known) == 0 {
		return hook.Trainer{}, false
	}
	best := known[max(0, slices.IndexFunc(known, func(t hook.Trainer) bool { return t.PID == pid }))]
	if _, ok := namedCall(best, r); !ok { // of trainers in turn, the report may be of a later one
		for _, t := range known {
			if _, ok := namedCall(t, r); ok {
				return t, true
			}
		}
	}
	return best, true
}

// patchedCall is where the loader that the report's settings are of is made.
func patchedCall(from hook.Trainer, r *report.Report) hook.Call {
	if c, ok := namedCall(from, r); ok {
		return c
	}
	return from.Call
}

// namedCall is, of the loaders of a trainer, the one on the line that the report names, which has lost its folder where that says too much.
func namedCall(from hook.Trainer, r *report.Report) (hook.Call, bool) {
	if r.Job == nil || r.Job.Loader == nil || r.Job.Loader.Location == nil {
		return hook.Call{}, false
	}
	at := r.Job.Loader.Location
	i := slices.IndexFunc(from.Calls, func(c hook.Call) bool { return c.Line == at.Line && filepath.Base(c.File) == filepath.Base(at.File) })
	if i < 0 {
		return hook.Call{}, false
	}
	return from.Calls[i], true
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
			from := untrusted.Path(*s.From, with)
			out.Settings[i].From = &from
		}
		out.Settings[i].Origin = untrusted.Path(s.Origin, with)
	}
	return out
}

// whyNoDiff says for each setting why it is not in the patch, "" where there is a patch.
func whyNoDiff(p report.Patch) string {
	if p.Diff != "" {
		return ""
	}
	var why []string
	for _, s := range p.Settings {
		if s.How == report.PatchAlready {
			why = append(why, s.Setting+" is "+s.To+" there already")
		} else {
			why = append(why, s.Setting+" stands elsewhere: "+s.Origin)
		}
	}
	return strings.Join(why, "; ")
}

// writePatch writes the patch to the outputs that take one. Where there is none it says why; that is no failure.
func (l *launch) writePatch() error {
	var failed error
	for _, o := range l.outs {
		switch {
		case !o.patch:
		case l.fix.diff == "":
			note(l.env.Stderr, fmt.Sprintf("-o %s: no patch was written: %s", o.path, l.fix.why))
		default:
			if err := o.writeText(l.fix.diff); err != nil {
				complain(l.env.Stderr, err)
				failed = errors.Join(failed, quietExit(exitCode(err)))
			}
		}
	}
	return failed
}
