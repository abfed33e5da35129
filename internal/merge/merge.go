// Package merge joins the reports of a job's nodes: how each figure is spread over nodes and ranks, who lacks data
// while most do not, and who is missing.
//
// It promises to hold against each other only what was watched at the same time, and to name each file that it leaves
// out. It refuses the reports of two jobs.
package merge

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// Errors of merging.
var (
	ErrOtherKind = errors.New("not a report of diagnose")
	ErrMixed     = errors.New("reports of several jobs")
	ErrNothing   = errors.New("nothing to merge")
)

// Options are what a merge is asked for.
type Options struct {
	Tool report.Tool
	Job  string           // only this one: its id, or its script; "": there is but one
	Left []report.LeftOut // files that could not be read
}

// Run merges. The error wraps ErrMixed or ErrNothing.
func Run(list []*Watch, o Options) (*report.Merged, error) {
	m := &merger{out: &report.Merged{Schema: report.MergedSchema, SchemaVersion: report.MergedVersion, Kind: "diagnose",
		Tool: o.Tool, LeftOut: o.Left}}
	list = slices.SortedStableFunc(slices.Values(list), byRank)
	adopted := adopt(list)
	list = m.keep(list, func(w *Watch) (string, string) {
		if !w.of(o.Job) {
			return report.LeftOtherJob, "of job " + w.job()
		}
		return "", ""
	})
	if err := single(list); err != nil {
		return nil, err
	}
	list = m.once(list)
	m.all = joint(list)
	list = m.keep(list, func(w *Watch) (string, string) {
		if w.seen(m.all) < leastShared {
			return report.LeftApart, w.apart(m.all)
		}
		return "", ""
	})
	list = m.oneOfEach(list)
	if len(list) == 0 {
		return nil, ErrNothing
	}
	m.list = list
	m.describe()
	m.nodes()
	m.figures()
	m.stragglers()
	m.rules()
	m.missing()
	m.verdict()
	m.next()
	m.warnings()
	if adopted > 0 {
		m.warn("%s not name a job: taken for of %s, which runs the same script.", unit.Count(int64(adopted),
			"report does", "reports do"), list[0].job())
	}
	return m.out, nil
}

type merger struct {
	out  *report.Merged
	list []*Watch // by rank
	all  span     // the joint window
	lead *Watch   // whose trainer lacks data most

	first *Watch // the worst straggler's; nil where there is none
}

// keep leaves out what a reason is reported for.
func (m *merger) keep(list []*Watch, why func(*Watch) (reason, text string)) []*Watch {
	var kept []*Watch
	for _, w := range list {
		if reason, text := why(w); reason != "" {
			m.out.LeftOut = append(m.out.LeftOut, report.LeftOut{File: path.Base(w.File), Reason: reason, Why: text})
		} else {
			kept = append(kept, w)
		}
	}
	return kept
}

// adopt takes reports that name no job, as of an older pipetune or of an environment that could not be read, for of the
// one job with an id that runs the same script.
func adopt(list []*Watch) (adopted int) {
	by := map[string]string{}
	for _, w := range list {
		if w.Place.JobID != "" {
			name := report.Script(w.report.Job.Command)
			if other, known := by[name]; known && other != w.job() {
				return 0 // two jobs run it: which one is not known
			}
			by[name] = w.job()
		}
	}
	for _, w := range list {
		if id := by[report.Script(w.report.Job.Command)]; w.Place.JobID == "" && id != "" {
			w.joins = id
			adopted++
		}
	}
	return adopted
}

// single refuses reports of several jobs, naming how many are of which.
func single(list []*Watch) error {
	count := map[string]int{}
	for _, w := range list {
		count[w.job()]++
	}
	if len(count) < 2 {
		return nil
	}
	const most = 5
	var parts []string
	for _, job := range slices.SortedFunc(maps.Keys(count),
		func(a, b string) int { return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b)) }) {
		if len(parts) == most {
			parts = append(parts, fmt.Sprintf("%d more jobs", len(count)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%d of %s", count[job], job))
	}
	return fmt.Errorf("%w: %s", ErrMixed, strings.Join(parts, ", "))
}

// once leaves out further copies of one run: the same file again, or the report beside its recording.
func (m *merger) once(list []*Watch) []*Watch {
	first := map[run]string{}
	return m.keep(list, func(w *Watch) (string, string) {
		other, again := first[w.run]
		if again && w.run != (run{pid: w.run.pid, host: w.run.host}) {
			return report.LeftDuplicate, "the same run as " + path.Base(other)
		}
		first[w.run] = w.File
		return "", ""
	})
}

// oneOfEach leaves out what was watched again: of two runs that hold a rank of one node, the one that was watched
// longer in the joint window stays.
func (m *merger) oneOfEach(list []*Watch) []*Watch {
	type rank struct{ node, rank string }
	holder := map[rank]*Watch{}
	for _, w := range slices.SortedStableFunc(slices.Values(list),
		func(a, b *Watch) int { return -cmp.Compare(a.seen(m.all), b.seen(m.all)) }) {
		for _, name := range w.trainers() {
			if key := (rank{w.node(), name}); holder[key] == nil {
				holder[key] = w
			}
		}
	}
	return m.keep(list, func(w *Watch) (string, string) {
		for _, name := range w.trainers() {
			other := holder[rank{w.node(), name}]
			switch {
			case other == w:
			case other.report.Host.ID != w.report.Host.ID:
				return report.LeftSameRank, fmt.Sprintf("%s too is %s of %s, on another machine: is one of them of "+
					"another job?", path.Base(other.File), called(name), w.node())
			default:
				return report.LeftSameRank, fmt.Sprintf("another run of %s of %s, beside %s", called(name), w.node(),
					path.Base(other.File))
			}
		}
		return "", ""
	})
}

func called(name string) string {
	if strings.HasPrefix(name, "pid") {
		return name
	}
	return "rank " + name
}

// describe says which job it is, and of which time the figures are.
func (m *merger) describe() {
	first := m.list[max(slices.IndexFunc(m.list, func(w *Watch) bool { return w.Place.JobID != "" }), 0)]
	m.out.Job = report.MergedJob{ID: first.Place.JobID, Step: first.Place.Step, Framework: first.report.Job.Framework,
		Command: first.report.Job.Command}
	for _, w := range m.list {
		m.out.Job.Nodes = larger(m.out.Job.Nodes, w.Place.Nodes)
		m.out.Job.WorldSize = larger(m.out.Job.WorldSize, w.Place.WorldSize)
	}
	if m.all.length() > 0 {
		m.out.Window = report.MergedWindow{StartedAt: time.Unix(int64(m.all.from), 0).UTC().Format(time.RFC3339),
			DurationS: m.all.length()}
	}
}

func larger(a, b *int) *int {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func (m *merger) nodes() {
	for _, w := range m.list {
		n := report.Node{Name: w.node(), Rank: w.Place.NodeRank, Host: w.report.Host.ID, HostName: w.report.Host.Name,
			File: path.Base(w.File), Class: w.report.Verdict.Class, Rule: w.report.Verdict.Rule, Ranks: w.trainers(),
			Seen: min(w.seen(m.all), 1), Figures: map[string]float64{}}
		for i, f := range w.figures {
			if f.unit != "" {
				n.Figures[spread[i].metric.Name] = w.within(f, m.all)
			}
		}
		m.out.Nodes = append(m.out.Nodes, n)
	}
}

// rules counts findings that call for a change.
func (m *merger) rules() {
	by := map[string]*report.RuleNodes{}
	for _, w := range m.list {
		for _, f := range w.report.Found {
			if f.Severity == report.Info {
				continue
			}
			r := by[f.Rule]
			if r == nil {
				r = &report.RuleNodes{Rule: f.Rule, Severity: f.Severity}
				by[f.Rule] = r
			}
			if r.Nodes++; f.Severity == report.Error {
				r.Severity = report.Error
			}
		}
	}
	for _, r := range by {
		m.out.Rules = append(m.out.Rules, *r)
	}
	slices.SortFunc(m.out.Rules, func(a, b report.RuleNodes) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), cmp.Compare(a.Rule, b.Rule))
	})
}

// missing names the nodes and ranks that the job has and no report is of.
func (m *merger) missing() {
	nodes, ranks := map[int]bool{}, map[int]bool{}
	numbered := true // all trainers go by rank: those that are not there can be determined
	for _, w := range m.list {
		if r := w.Place.NodeRank; r != nil {
			nodes[*r] = true
		}
		for _, r := range w.report.Ranks {
			n, err := strconv.Atoi(r.Rank)
			numbered = numbered && err == nil
			ranks[n] = true
		}
		numbered = numbered && len(w.report.Ranks) > 0
	}
	if len(nodes) > 0 {
		m.out.Missing.Nodes = absent(nodes, m.out.Job.Nodes)
	}
	if numbered {
		m.out.Missing.Ranks = absent(ranks, m.out.Job.WorldSize)
	}
}

// mostNodes bounds what is counted up to: a file may say anything.
const mostNodes = 1 << 20

func absent(there map[int]bool, of *int) (list []int) {
	if of == nil {
		return nil
	}
	for i := range min(*of, mostNodes) {
		if !there[i] {
			list = append(list, i)
		}
	}
	return list
}

// next are commands that look at the node that lacks data most.
func (m *merger) next() {
	w := m.lead
	if m.out.StragglersN > 0 {
		w = m.first
	} else if w == nil || m.out.Verdict.Grade == report.Info {
		return
	}
	m.out.Next = append(m.out.Next, "pipetune report "+diagnose.ShellWord(w.File))
	if w.report.Verdict.Rule != "" {
		m.out.Next = append(m.out.Next, "pipetune explain "+w.report.Verdict.Rule)
	}
}

// warnings are about what the reader must know of the input.
func (m *merger) warnings() {
	undated, versions, hosts := 0, map[string]bool{}, map[string]bool{}
	for _, w := range m.list {
		if w.to <= w.from {
			undated++
		}
		versions[w.report.Tool.Version], hosts[w.node()] = true, true
	}
	if undated > 0 {
		m.warn("%d reports do not say when they were made (schema before 1.2.0): whether they are of one time is not "+
			"known.", undated)
	}
	if len(versions) > 1 {
		m.warn("The reports are of %d versions of pipetune: figures may be made in different ways.", len(versions))
	}
	switch {
	case len(m.list) == 1:
		m.warn("There is one node only: nothing can be held against it.")
	case len(hosts) == 1:
		m.warn("All %d reports are of one machine: what is called a node here is one of its trainers.", len(m.list))
	case len(hosts) < len(m.list):
		m.warn("%d reports are of %d machines: those of one machine are counted as a node each.", len(m.list),
			len(hosts))
	}
	if !slices.ContainsFunc(m.list, func(w *Watch) bool { return w.Place.JobID != "" }) {
		m.warn("The job's environment gives no job id: that these are nodes of one job is concluded from what they "+
			"run, %s.", m.list[0].job())
	}
}

func (m *merger) warn(format string, args ...any) {
	m.out.Warnings = append(m.out.Warnings, fmt.Sprintf(format, args...))
}
