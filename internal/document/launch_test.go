package document

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

// The report of a job that was watched from outside shows nothing that only a launched job reports.
func TestLaunchPartsAreOfLaunchedJobs(t *testing.T) {
	for _, r := range []*report.Report{load(t, "reopened"), {}, {Job: &report.Job{}},
		{Job: &report.Job{Loader: &report.Loader{Source: "hook"}}, Patch: &report.Patch{}}} {
		for _, s := range []Section{loaderSection(r), slowSection(r), patchSection(r)} {
			if !s.Empty() {
				t.Errorf("%+v", s)
			}
		}
	}
}

func load(t *testing.T, name string) *report.Report {
	t.Helper()
	b := must.Get(os.ReadFile("../../testdata/reports/" + name + ".json"))(t)
	return must.Get(report.Decode(bytes.NewReader(b)))(t)
}

// What the hook counts is read between its tellings; nobody has seen half a step.
func TestStepsSeenAreWhole(t *testing.T) {
	r := load(t, "launch-classifier")
	r.Window.Steps, r.Window.Epochs = new(47.6), new(0)
	facts := loaderSection(r).Parts[0].(Facts)
	if got := facts[len(facts)-1].Text; got != "48 steps, 0 epochs ended" {
		t.Errorf("%q", got)
	}
}

func TestSlowItemsStandOut(t *testing.T) {
	r := load(t, "launch-classifier")
	if slowSection(r).Empty() {
		t.Fatal("items of 800 ms beside 7 ms on average are not shown")
	}
	m := r.Metrics["made_item_s"]
	m.Center = r.Job.Loader.SlowItems[0].Seconds / 2
	r.Metrics["made_item_s"] = m
	if !slowSection(r).Empty() {
		t.Error("an item of twice the mean is shown")
	}
	delete(r.Metrics, "made_item_s")
	if !slowSection(r).Empty() {
		t.Error("shown without a mean to hold them against")
	}
}

func TestBecomes(t *testing.T) {
	one := new("1")
	for want, c := range map[string]report.PatchedSetting{
		"1 → 6, line 4":        {From: one, To: "6", Line: 4, How: report.PatchReplaced},
		"added: True, line 9":  {To: "True", Line: 9, How: report.PatchAdded},
		"is 6 already, line 4": {From: one, To: "6", Line: 4, How: report.PatchAlready},
		"is True already":      {To: "True", How: report.PatchAlready},
		"to 6, by hand, line 4. args.workers: --workers, default 1 (train.py:12); start the job with --workers 6": {
			From: one, To: "6", Line: 4, How: report.PatchElsewhere,
			Origin: "args.workers: --workers, default 1 (train.py:12); start the job with --workers 6",
		},
		"to 6, by hand. It is not written there":       {To: "6", How: report.PatchElsewhere},
		"taken away: it needs workers (was 1), line 4": {From: one, Line: 4, How: report.PatchRemoved},
	} {
		if got := becomes(c); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestShortDiff(t *testing.T) {
	for given, want := range map[string]string{"+\tx\r\n y\n": "+    x\n y",
		"-a\n\\ No newline at end of file\n": "-a\n\\ No newline at end of file"} {
		if got := shortDiff(given); got != want {
			t.Errorf("%q: %q", given, got)
		}
	}
	got := strings.Split(shortDiff(strings.Repeat("+x\n", mostDiff+7)), "\n")
	if len(got) != mostDiff+1 || got[mostDiff] != "(7 more lines)" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

// A patch of a file that does not lie below the job's folder is applied from the root.
func TestPatchCommand(t *testing.T) {
	for file, want := range map[string]string{"train.py": "patch -p1 < fix.patch", "a/b.py": "patch -p1 < fix.patch",
		"/srv/x/train.py": "patch -p1 -d / < fix.patch", "~/train.py": "patch -p1 -d / < fix.patch"} {
		r := load(t, "launch-classifier")
		r.Patch.File = file
		parts := patchSection(r).Parts
		if got := parts[len(parts)-1].(Code).Text; got != want {
			t.Errorf("%s: %s", file, got)
		}
	}
}
