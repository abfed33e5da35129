package merge

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/pkg/report"
)

var start = time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)

// node is the report of one node of a job with two ranks on each of nodes.
func node(rank, nodes int) *report.Report {
	const wait = 0.04
	r := &report.Report{Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "diagnose",
		Tool: report.Tool{Name: "pipetune", Version: "1"},
		Host: report.Host{ID: fmt.Sprintf("%012x", rank)}, Metrics: map[string]report.Metric{}}
	r.Job = &report.Job{PID: 100 + rank, Command: []string{"python", "train.py", "--node", strconv.Itoa(rank)},
		Ranks: 2, Place: &report.Place{JobID: "4711", Step: "0", NodeRank: &rank, Nodes: &nodes,
			WorldSize: new(2 * nodes)}}
	r.Window = &report.Window{DurationS: 60, StartS: 5, StartMono: float64(rank), StartedAt: start.Format(time.RFC3339)}
	r.Verdict = &report.Verdict{Class: report.GPUBound, Confidence: report.High}
	r.Ranks = []report.Rank{{Rank: strconv.Itoa(2 * rank), InputWaitRatio: new(wait)},
		{Rank: strconv.Itoa(2*rank + 1), InputWaitRatio: new(0.02)}}
	set(r, "input_wait_ratio", "ratio", wait)
	set(r, "data_stall_ratio", "ratio", wait)
	set(r, "batches_per_s", "1/s", 10)
	return r
}

func set(r *report.Report, name, unit string, x float64, windows ...float64) {
	r.Metrics[name] = report.Metric{Center: x, Lo: x, Hi: x, Unit: unit, Basis: report.Measured, Windows: windows}
}

func job(n int) (list []*report.Report) {
	for i := range n {
		list = append(list, node(i, n))
	}
	return list
}

func later(r *report.Report, by time.Duration) {
	r.Window.StartedAt = start.Add(by).Format(time.RFC3339)
}

func watches(t testing.TB, list []*report.Report) (out []*Watch) {
	t.Helper()
	for i, r := range list {
		out = append(out, must.Get(Of(fmt.Sprintf("n/%d.json", i), r))(t))
	}
	return out
}

func merged(t testing.TB, list []*report.Report) *report.Merged {
	t.Helper()
	m := must.Get(Run(watches(t, list), Options{Tool: report.Tool{Name: "pipetune"}}))(t)
	must.Do(t, report.EncodeMerged(&bytes.Buffer{}, m))
	return m
}

func encoded(t testing.TB, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, report.Encode(&b, r))
	return b.Bytes()
}

func find(t testing.TB, m *report.Merged, metric, of string) report.Spread {
	t.Helper()
	i := slices.IndexFunc(m.Figures, func(s report.Spread) bool { return s.Metric == metric && s.Of == of })
	if i < 0 {
		t.Fatalf("no %s of %s in %+v", metric, of, m.Figures)
	}
	return m.Figures[i]
}

func TestOneRankLacksData(t *testing.T) {
	list := job(4)
	list[2].Ranks[1].InputWaitRatio = new(0.64)
	list[2].Verdict.Class, list[2].Verdict.Rule = report.InputBound, "storage/saturated"
	set(list[2], "data_stall_ratio", "ratio", 0.6)
	set(list[3], "batches_per_s", "1/s", 8)
	m := merged(t, list)
	where := report.Where{Node: "node 2", Rank: "5"}
	if d := cmp.Diff([]report.Straggler{{Where: where, InputWaitRatio: 0.64, Above: 0.6, Severity: report.Error,
		Rule: "storage/saturated"}}, m.Stragglers); d != "" {
		t.Error(d)
	}
	if s := find(t, m, "input_wait_ratio", "ranks"); s.N != 8 || s.Median != 0.04 || s.Worst != 0.64 ||
		s.Where != where || *s.Skew != 0.6 {
		t.Errorf("%+v", s)
	}
	if s := find(t, m, "batches_per_s", "nodes"); s.Worst != 8 || s.Median != 10 || *s.Skew != 0.8 ||
		s.Where.Node != "node 3" {
		t.Errorf("%+v", s)
	}
	if d := cmp.Diff([]report.ClassNodes{{Class: report.GPUBound, Nodes: 3}, {Class: report.InputBound, Nodes: 1}},
		m.Verdict.Classes); d != "" {
		t.Error(d)
	}
	if want := []string{"pipetune report n/2.json", "pipetune explain storage/saturated"}; !cmp.Equal(want, m.Next) {
		t.Errorf("next: %q", m.Next)
	}
}

func TestAllAlikeIsNoStraggler(t *testing.T) {
	list := job(3)
	for _, r := range list {
		for i := range r.Ranks {
			r.Ranks[i].InputWaitRatio = new(0.5)
		}
		set(r, "data_stall_ratio", "ratio", 0.5)
	}
	if m := merged(t, list); m.StragglersN != 0 || !strings.HasPrefix(m.Verdict.Statement,
		"All nodes lack data alike") || m.Verdict.Grade != report.Error {
		t.Errorf("%d stragglers, %+v", m.StragglersN, m.Verdict)
	}
}

func TestMissing(t *testing.T) {
	list := job(6)
	m := merged(t, append(list[:1:1], list[3:5]...))
	if d := cmp.Diff(report.Missing{Nodes: []int{1, 2, 5}, Ranks: []int{2, 3, 4, 5, 10, 11}}, m.Missing); d != "" {
		t.Error(d)
	}
	for _, r := range list { // without ranks, nobody knows which are missing
		r.Ranks = nil
	}
	if m := merged(t, list); len(m.Missing.Ranks) > 0 {
		t.Errorf("%+v", m.Missing)
	}
}

func TestLeftOut(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func([]*report.Report) []*report.Report
		reason string
		says   string
	}{
		"the same run": {func(l []*report.Report) []*report.Report { return append(l, l[1]) }, report.LeftDuplicate,
			"the same run as 1.json"},
		"another run of the node": {func(l []*report.Report) []*report.Report {
			again := node(1, 4)
			later(again, 20*time.Second)
			return append(l, again)
		}, report.LeftSameRank, "another run of rank 2 of node 1, beside 1.json"},
		"two nodes of one number": {func(l []*report.Report) []*report.Report {
			other := node(1, 4)
			other.Host.ID = "feed"
			return append(l, other)
		}, report.LeftSameRank, "on another machine"},
		"a clock that is wrong": {func(l []*report.Report) []*report.Report { later(l[3], -3*time.Hour); return l },
			report.LeftApart, "watched 2.98 h before most nodes were: another run of the job, or a clock that is " +
				"wrong"},
		"watched later": {func(l []*report.Report) []*report.Report { later(l[3], 2*time.Minute); return l },
			report.LeftApart, "watched 60 s after"},
		"mostly later": {func(l []*report.Report) []*report.Report { later(l[3], 45*time.Second); return l },
			report.LeftApart, "watched in 25 % of the time only"},
	} {
		t.Run(name, func(t *testing.T) {
			m := merged(t, c.spoil(job(4)))
			if len(m.LeftOut) != 1 || m.LeftOut[0].Reason != c.reason || !strings.Contains(m.LeftOut[0].Why, c.says) {
				t.Errorf("%+v", m.LeftOut)
			}
		})
	}
}

// A node that began late counts by what it did while the others were watched.
func TestOnlyOverlappingTimeCounts(t *testing.T) {
	list := job(3)
	later(list[2], 30*time.Second)
	set(list[2], "batches_per_s", "1/s", 5, 8, 8, 8, 2, 2, 2)
	if s := find(t, merged(t, list), "batches_per_s", "nodes"); s.Worst != 8 {
		t.Errorf("%+v", s)
	}
}

// One pipetune for each rank is several reports of a node.
func TestReportsOfEachRank(t *testing.T) {
	var list []*report.Report
	for i, r := range []*report.Report{node(0, 2), node(0, 2), node(1, 2), node(1, 2)} {
		r.Ranks = r.Ranks[i%2 : i%2+1]
		r.Job.PID += 10 * i
		list = append(list, r)
	}
	if m := merged(t, list); len(m.Nodes) != 4 || len(m.LeftOut)+len(m.Missing.Nodes)+len(m.Missing.Ranks) != 0 {
		t.Errorf("%+v, %+v, %+v", m.Nodes, m.LeftOut, m.Missing)
	}
}

func TestTwoJobsAreRefused(t *testing.T) {
	list := job(3)
	other := node(1, 3)
	other.Job.Place.JobID = "4712"
	both := watches(t, append(list, other))
	if _, err := Run(both, Options{}); !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(),
		"3 of 4711.0, 1 of 4712.0") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"4711", "4711.0"} {
		m, err := Run(both, Options{Job: name})
		if err != nil || len(m.Nodes) != 3 || len(m.LeftOut) != 1 || m.LeftOut[0].Reason != report.LeftOtherJob {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
	if _, err := Run(both, Options{Job: "1"}); !errors.Is(err, ErrNothing) {
		t.Errorf("%v", err)
	}
}

// Who names no job is reported by what it runs.
func TestJobsWithoutAnID(t *testing.T) {
	list := job(3)
	for _, r := range list {
		r.Job.Place.JobID, r.Job.Place.Step = "", ""
	}
	if m := merged(t, list); len(m.Nodes) != 3 || !strings.Contains(strings.Join(m.Warnings, " "), "train.py") {
		t.Errorf("%+v", m.Warnings)
	}
	list[0].Job.Place.JobID = "4711"
	if m := merged(t, list); len(m.Nodes) != 3 || m.Job.ID != "4711" || !strings.Contains(strings.Join(m.Warnings, " "),
		"2 reports do not name a job") {
		t.Errorf("%+v", m.Warnings)
	}
	list[1].Job.Command = []string{"python", "-m", "other"}
	if _, err := Run(watches(t, list), Options{}); !errors.Is(err, ErrMixed) {
		t.Errorf("%v", err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	whole := string(encoded(t, node(0, 1)))
	for name, c := range map[string]struct {
		file string
		want error
	}{
		"cut off":      {whole[:len(whole)/2], report.ErrInvalid},
		"other JSON":   {`{"a":1}`, report.ErrNotReport},
		"empty":        {"", report.ErrNotReport},
		"newer":        {`{"schema":"pipetune.report","schema_version":"2.0.0"}`, report.ErrNewer},
		"of bench-io":  {`{"schema":"pipetune.report","schema_version":"1.1.0","kind":"bench-io"}`, ErrOtherKind},
		"not a number": {strings.Replace(whole, `"center": 10`, `"center": 1e999`, 1), report.ErrInvalid},
		"too long":     {whole + strings.Repeat(" ", MaxBytes), report.ErrInvalid},
	} {
		if _, err := Decode("x.json", []byte(c.file)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever a file holds, what comes of it is a report that can be written.
func FuzzRun(f *testing.F) {
	f.Add(encoded(f, node(0, 2)))
	f.Fuzz(func(t *testing.T, b []byte) {
		w, err := Decode("x.json", b)
		if err != nil {
			return
		}
		m, err := Run([]*Watch{w, must.Get(Of("y.json", node(1, 2)))(t)}, Options{})
		if err != nil {
			return
		}
		must.Do(t, report.EncodeMerged(&bytes.Buffer{}, m))
	})
}
