package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/patch"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

func recommends(severity report.Severity, pairs ...string) report.Finding {
	f := report.Finding{Rule: "loader/x", Severity: severity}
	for i := 0; i < len(pairs); i += 2 {
		f.Recommendations = append(f.Recommendations, report.Recommendation{Setting: pairs[i], To: pairs[i+1]})
	}
	return f
}

// TestPatchable: the highest finding decides about a setting, value or not; prose and other settings are left out.
func TestPatchable(t *testing.T) {
	for name, c := range map[string]struct {
		findings []report.Finding
		want     []patch.Setting
	}{
		"none": {nil, nil},
		"every kind": {[]report.Finding{recommends(report.Error, "num_workers", "6", "prefetch_factor", "4",
			"persistent_workers", "True", "pin_memory", "True", "in_order", "False", "multiprocessing_context",
			"fork")},
			[]patch.Setting{{Name: "num_workers", To: "6"}, {Name: "prefetch_factor", To: "4"},
				{Name: "persistent_workers", To: "True"}, {Name: "pin_memory", To: "True"},
				{Name: "in_order", To: "False"}, {Name: "multiprocessing_context", To: `"fork"`}}},
		"the higher one wins": {[]report.Finding{recommends(report.Error, "num_workers", "6"),
			recommends(report.Warning, "num_workers", "2")}, []patch.Setting{{Name: "num_workers", To: "6"}}},
		"prose decides too": {[]report.Finding{recommends(report.Error, "num_workers",
			"more than there are cores"), recommends(report.Warning, "num_workers", "2")}, nil},
		"worth knowing only": {[]report.Finding{recommends(report.Info, "num_workers", "6")}, nil},
		"not of the call": {[]report.Finding{recommends(report.Error, "batch_size", "64",
			"files of the dataset", "fewer", "seed", "1")}, nil},
		"no number of this kind": {[]report.Finding{recommends(report.Error, "num_workers", "-1", "prefetch_factor",
			"4.5", "persistent_workers", "yes", "multiprocessing_context", "thread")}, nil},
		"what goes along with it": {[]report.Finding{{Severity: report.Error, Recommendations: []report.Recommendation{{
			Setting: "num_workers", To: "2", With: []report.Value{{Setting: "persistent_workers", To: "True"}}}}}},
			[]patch.Setting{{Name: "num_workers", To: "2"}, {Name: "persistent_workers", To: "True"}}},
		"what cannot be made along with it": {[]report.Finding{recommends(report.Error, "persistent_workers", "True"),
			recommends(report.Warning, "num_workers", "0")},
			[]patch.Setting{{Name: "persistent_workers", To: "True"}}},
		"what is held goes along with nothing": {[]report.Finding{{Severity: report.Error,
			Recommendations: []report.Recommendation{{Setting: "num_workers", To: "0"}, {Setting: "pin_memory",
				To: "True", With: []report.Value{{Setting: "prefetch_factor", To: "4"}}}, {Setting: "prefetch_factor",
				To: "4"}}}},
			[]patch.Setting{{Name: "num_workers", To: "0"}, {Name: "pin_memory", To: "True"}}},
		"a number written oddly":  {[]report.Finding{recommends(report.Error, "num_workers", "+6")}, nil},
		"a number with something": {[]report.Finding{recommends(report.Error, "num_workers", "6); import os")}, nil},
	} {
		if d := cmp.Diff(c.want, patchable(&report.Report{Findings: c.findings})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestPatched: the trainer that the report is of, and of its loaders the one on the report's line, else one of a
// trainer in turn.
func TestPatched(t *testing.T) {
	one, two, other := hook.Call{File: "/home/ann/run/train.py", Line: 8}, hook.Call{File: "/home/ann/run/train.py",
		Line: 14}, hook.Call{File: "/home/ann/run/data.py", Line: 14}
	list := []hook.Trainer{{PID: 1}, {PID: 2, Call: one, Calls: []hook.Call{one}},
		{PID: 3, Call: one, Calls: []hook.Call{one, other}}, {PID: 4, Call: one, Calls: []hook.Call{one, other, two}}}
	at := func(line int) *report.Loader {
		return &report.Loader{Location: &report.Location{File: "train.py", Line: line}}
	}
	for name, c := range map[string]struct {
		r    report.Report
		pid  int
		call hook.Call
	}{
		"the job's": {report.Report{Job: &report.Job{PID: 3}}, 3, one},
		"the worst rank": {report.Report{Job: &report.Job{PID: 2}, Ranks: []report.Rank{{PID: 2},
			{PID: 3, Worst: true}}}, 3, one},
		"the first":           {report.Report{Job: &report.Job{PID: 1}}, 2, one},
		"no job":              {report.Report{}, 2, one},
		"no place":            {report.Report{Job: &report.Job{PID: 4, Loader: &report.Loader{}}}, 4, one},
		"the line it is on":   {report.Report{Job: &report.Job{PID: 4, Loader: at(14)}}, 4, two},
		"one made elsewhere":  {report.Report{Job: &report.Job{PID: 4, Loader: at(15)}}, 4, one},
		"a later one in turn": {report.Report{Job: &report.Job{PID: 2, Loader: at(14)}}, 4, two},
	} {
		if from, call, ok := patched(list, &c.r); !ok || from.PID != c.pid || call != c.call {
			t.Errorf("%s: %d, %+v, %v", name, from.PID, call, ok)
		}
	}
	if _, _, ok := patched(list[:1], &report.Report{}); ok {
		t.Error("a trainer that did not say where its loader is made")
	}
}

// TestFix makes a patch of a file at home with a secret beside the call: the report's is redacted, the file's is not.
func TestFix(t *testing.T) {
	home := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	const source = "import torch\n\tKEY = 'hf_abcdefghijklmnopqrstuvwxyzABCDEFGH'\nloader = DataLoader(HOME, " +
		"num_workers=1, pin_memory=args.pin)\n"
	text := strings.ReplaceAll(strings.ReplaceAll(source, "\tKEY", "KEY"), "HOME", "'"+home+"/data'")
	file := filepath.Join(home, "train.py")
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	j := &Job{started: time.Now().Add(time.Hour), redact: untrusted.Redaction{Home: home}}
	trainers := []hook.Trainer{{PID: 7, Executable: "/usr/bin/python3", Call: hook.Call{File: file, Line: 3,
		Folder: home}}}
	r := &report.Report{Job: &report.Job{PID: 7}, Findings: []report.Finding{recommends(report.Error, "num_workers",
		"6", "pin_memory", "True")}}
	exact := j.Fix(t.Context(), r, trainers)
	if !strings.Contains(exact.Diff, "+loader = DataLoader('"+home+"/data', num_workers=6") {
		t.Fatalf("the file: %+v", exact)
	}
	if r.Patch == nil || strings.Contains(r.Patch.Diff, home) || strings.Contains(r.Patch.Diff, "hf_abc") ||
		!strings.Contains(r.Patch.Diff, "+loader = DataLoader('~/data', num_workers=6") {
		t.Errorf("the report: %+v", r.Patch)
	}
	if !strings.Contains(exact.Lacks, "a part of the change: pin_memory is set elsewhere: args.pin") ||
		strings.Contains(exact.Lacks, "measured") {
		t.Errorf("it lacks %q", exact.Lacks)
	}
	if len(r.Patch.Settings) != 2 || r.Patch.Settings[1].How != report.PatchElsewhere {
		t.Errorf("the settings: %+v", r.Patch.Settings)
	}
}

// TestNoFix: where there is none it is said why.
func TestNoFix(t *testing.T) {
	folder := t.TempDir()
	elsewhere := filepath.Join(folder, "train.py")
	must.Do(t, os.WriteFile(elsewhere, []byte("loader = DataLoader(data, num_workers=args.workers)\n"), 0o644))
	six := []report.Finding{recommends(report.Error, "num_workers", "6")}
	for want, c := range map[string]struct {
		findings []report.Finding
		trainers []hook.Trainer
	}{
		"no setting of the DataLoader is recommended":       {},
		"the hook did not see where the DataLoader is made": {six, nil},
		"cannot be read": {six, []hook.Trainer{{Call: hook.Call{File: folder + "/gone.py", Line: 1}}}},
		"num_workers is set elsewhere: args.workers: args is not assigned in": {six,
			[]hook.Trainer{{Call: hook.Call{File: elsewhere, Line: 1, Folder: folder}}}},
		"in code that is in no file": {six, []hook.Trainer{{Call: hook.Call{File: "<string>", Line: 1}}}},
		"changed after the job began, so the line the job named may be another ": {six,
			[]hook.Trainer{{PID: -1, Call: hook.Call{File: elsewhere, Line: 1}}}},
	} {
		j := &Job{started: time.Now().Add(time.Hour)}
		if strings.HasPrefix(want, "changed") {
			j.started = time.Now().Add(-time.Hour)
		}
		if got := j.Fix(t.Context(), &report.Report{Findings: c.findings}, c.trainers); got.Diff != "" ||
			!strings.Contains(got.Why, want) {
			t.Errorf("%+v, not %q", got, want)
		}
	}
}
