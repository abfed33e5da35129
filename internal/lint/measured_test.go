package lint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/pkg/report"
)

// TestMark: a finding is the report's where rule and call are the same; else the report says nothing of it, or that its
// rule was quiet or could not be judged.
func TestMark(t *testing.T) {
	at := func(file string, line int) *report.Location { return &report.Location{File: file, Line: line} }
	restart := Finding{Rule: "lint/workers-restart", Confirms: "loader/workers-restart", File: "sub/train.py", Line: 4,
		EndLine: 6}
	fired := func(l *report.Location) *report.Report {
		return &report.Report{Findings: []report.Finding{{Rule: "loader/workers-restart", Score: 0.31,
			Summary: "the workers restart", Location: l}}}
	}
	job := func(r report.Report) *report.Report {
		r.Job = &report.Job{Loader: &report.Loader{Location: at("/srv/x/sub/train.py", 4)}}
		return &r
	}
	confirmed := &Measured{Confirmed, "loader/workers-restart", 0.31, "the workers restart"}
	for name, c := range map[string]struct {
		finding Finding
		report  *report.Report
		want    *Measured
	}{
		"the first line of the call": {restart, fired(at("/srv/x/sub/train.py", 4)), confirmed},
		"its last line":              {restart, fired(at("/srv/x/sub/train.py", 6)), confirmed},
		"redacted":                   {restart, fired(at("~/sub/train.py", 5)), confirmed},
		"of another machine":         {restart, fired(at("/workspace/sub/train.py", 5)), confirmed},
		"the line behind it":         {restart, fired(at("/srv/x/sub/train.py", 7)), nil},
		"another file of that name":  {restart, fired(at("/srv/x/train.py", 4)), nil},
		"no place":                   {restart, job(*fired(nil)), nil},
		"another file":               {restart, fired(at("/srv/x/sub/data.py", 4)), nil},
		"a job of which nothing is":  {restart, &report.Report{}, nil},
		"quiet":                      {restart, job(report.Report{}), &Measured{Quiet, restart.Confirms, 0, ""}},
		"not judged": {restart, job(report.Report{Abstained: []report.Abstained{{Rule: restart.Confirms,
			Reason: "one epoch"}}}), &Measured{Unknown, restart.Confirms, 0, "one epoch"}},
		"quiet where the workers compute": {Finding{Rule: "lint/file-per-item", Confirms: "storage/latency-bound",
			File: "sub/train.py", Line: 4, EndLine: 4},
			job(report.Report{Findings: []report.Finding{{Rule: computes}}}),
			&Measured{Unknown, "storage/latency-bound", 0, "the workers compute (cpu/decode-bound), and what of " +
				"that is " +
				"this line's was not seen"}},
		"a rule that nothing measures": {Finding{Rule: "lint/handle-shared", File: "sub/train.py", Line: 4,
			EndLine: 4}, job(report.Report{}), nil},
		"a cell": {Finding{Rule: restart.Rule, Confirms: restart.Confirms, File: "sub/train.py", Cell: 2, Line: 4,
			EndLine: 4}, fired(at("/srv/x/sub/train.py", 4)), nil},
	} {
		result := Result{Findings: []Finding{c.finding}}
		result.Mark(Request{Folder: "/srv/x", Files: []string{"sub/train.py", "train.py", "other.py"}}, c.report)
		if diff := cmp.Diff(c.want, result.Findings[0].Measured); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
