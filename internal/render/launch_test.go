package render

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/pkg/report"
)

// TestLaunchPartsAreOfLaunchedJobs: the report of a job that was watched from outside shows none of them.
func TestLaunchPartsAreOfLaunchedJobs(t *testing.T) {
	r := load(t, fixtures+"/reopened.json")
	if s := loaderSection(r); !s.empty() {
		t.Errorf("%+v", s)
	}
	if !slowSection(r).empty() || mdPatch(r) != "" || mdLoader(r) != "" {
		t.Error("parts of a launched job's report")
	}
	for _, bare := range []*report.Report{{}, {Job: &report.Job{}}, {Job: &report.Job{Loader: &report.Loader{Source: "hook"}}, Patch: &report.Patch{}}} {
		var b bytes.Buffer
		if err := Text(&b, bare, Options{}); err != nil {
			t.Error(err)
		}
		if err := Markdown(&b, bare, Options{}); err != nil {
			t.Error(err)
		}
	}
}

// What the hook counts is read between its tellings; nobody has seen half a step.
func TestStepsSeenAreWhole(t *testing.T) {
	r := load(t, fixtures+"/launch-classifier.json")
	steps, epochs := 47.6, 0
	r.Window.Steps, r.Window.Epochs = &steps, &epochs
	facts := loaderSection(r).facts
	if got := facts[len(facts)-1].text; got != "48 steps, 0 epochs ended" {
		t.Errorf("%q", got)
	}
}

func TestSlowItemsStandOut(t *testing.T) {
	r := load(t, fixtures+"/launch-classifier.json")
	if slowSection(r).empty() {
		t.Fatal("items of 800 ms beside 7 ms on average are not shown")
	}
	m := r.Metrics["made_item_s"]
	m.Center = r.Job.Loader.SlowItems[0].Seconds / 2
	r.Metrics["made_item_s"] = m
	if !slowSection(r).empty() {
		t.Error("an item of twice the mean is shown")
	}
	delete(r.Metrics, "made_item_s")
	if !slowSection(r).empty() {
		t.Error("shown without a mean to hold them against")
	}
}

func TestBecomes(t *testing.T) {
	one := "1"
	for want, c := range map[string]report.PatchedSetting{
		"1 → 6, line 4":        {From: &one, To: "6", Line: 4, How: report.PatchReplaced},
		"added: True, line 9":  {To: "True", Line: 9, How: report.PatchAdded},
		"is 6 already, line 4": {From: &one, To: "6", Line: 4, How: report.PatchAlready},
		"is True already":      {To: "True", How: report.PatchAlready},
		"to 6, by hand, line 4. args.workers: --workers, default 1 (train.py:12); start the job with --workers 6": {From: &one, To: "6", Line: 4, How: report.PatchElsewhere,
			Origin: "args.workers: --workers, default 1 (train.py:12); start the job with --workers 6"},
		"to 6, by hand. It is not written there":       {To: "6", How: report.PatchElsewhere},
		"taken away: it needs workers (was 1), line 4": {From: &one, Line: 4, How: report.PatchRemoved},
	} {
		if got := becomes(c); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

func TestDiffLines(t *testing.T) {
	for name, c := range map[string]struct {
		diff string
		want []string
	}{
		"tabs and line ends of Windows": {"+\tx\r\n y\n", []string{"+    x", " y"}},
		"escapes":                       {"+\x1b[2J\u202e\n", []string{`+\x1b[2J\u202e`}},
		"no end":                        {"-a\n\\ No newline at end of file\n", []string{"-a", `\ No newline at end of file`}},
	} {
		if got := diffLines(c.diff); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := diffLines(strings.Repeat("+x\n", mostDiff+7)); len(got) != mostDiff+1 || got[mostDiff] != "(7 more lines)" {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

func TestApplying(t *testing.T) {
	for file, want := range map[string]string{"train.py": "patch -p1 < fix.patch", "a/b.py": "patch -p1 < fix.patch", "/srv/x/train.py": "patch -p1 -d / < fix.patch", "~/train.py": "patch -p1 -d / < fix.patch"} {
		if _, got := applying(&report.Patch{File: file}); got != want {
			t.Errorf("%s: %s", file, got)
		}
	}
}
