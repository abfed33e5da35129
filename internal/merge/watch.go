package merge

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// MaxBytes bounds the report of one node. Reports are some 10 to 100 kB.
const MaxBytes = 2 << 20

// spread are the figures that are held against each other, in the order they are shown; the worst is the largest, or
// the smallest.
var spread = []struct {
	metric   metric.Desc
	smallest bool
}{
	{metric.DataStall, false}, {metric.InputWait, false}, {metric.SamplesPerS, true}, {metric.BatchesPerS, true},
	{metric.StepTime, false},
	{metric.GPUBusy, true}, {metric.WorkerBusy, false}, {metric.WorkerStorage, false}, {metric.UsableBusy, false},
	{metric.MemLimitUsed, false},
}

// Watch is what is kept of one report: some 5 kB, however many there are.
type Watch struct {
	File     string       // where it is kept
	Place    report.Place // of its node, as far as it says
	report   part
	joins    string // the job that it was taken for, where it names none itself
	run      run
	from, to float64  // by the wall clock of the node, in seconds; both 0: not reported
	figures  []figure // as many as spread; of those not reported the unit is ""
}

// run tells one watch from another, however often and in which form it was written.
type run struct {
	started, host string
	mono          float64
	pid           int
}

type found struct {
	Rule     string          `json:"rule"`
	Severity report.Severity `json:"severity"`
}

// figure is a figure of a report, with its values in windows of equal length over the watch where there are any.
type figure struct {
	center  float64
	unit    string
	windows []float32
}

// part is what is read of a report.
type part struct {
	report.Head
	Kind    string                    `json:"kind"`
	Tool    struct{ Version string }  `json:"tool"`
	Host    struct{ ID, Name string } `json:"host"`
	Job     report.Job                `json:"job"`
	Window  report.Window             `json:"window"`
	Verdict report.Verdict            `json:"verdict"`
	Metrics map[string]report.Metric  `json:"metrics"`
	Ranks   []report.Rank             `json:"ranks"`
	Found   []found                   `json:"findings"`
}

// Decode reads what merging needs of a node's report, and forgets the rest. The error wraps ErrOtherKind, or
// one of report.DecodePart's.
func Decode(file string, b []byte) (*Watch, error) {
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: larger than %d bytes", report.ErrInvalid, MaxBytes)
	}
	w := &Watch{File: file, figures: make([]figure, len(spread))}
	if err := report.DecodePart(b, &w.report); err != nil {
		return nil, err
	}
	if w.report.Kind != "diagnose" {
		return nil, fmt.Errorf("%w: one of %.40s, which is of no node of a job", ErrOtherKind, w.report.Kind)
	}
	if w.report.Job.Place != nil {
		w.Place = *w.report.Job.Place
	}
	w.when()
	for i, s := range spread {
		m, ok := w.report.Metrics[s.metric.Name]
		if !ok || !stat.Finite(m.Center) {
			continue
		}
		w.figures[i] = figure{center: m.Center, unit: m.Unit}
		for _, x := range m.Windows[:min(len(m.Windows), report.MaxWindows)] {
			w.figures[i].windows = append(w.figures[i].windows, float32(x))
		}
	}
	for _, r := range w.report.Ranks { // ratios of a file that nobody checked
		if x := r.InputWaitRatio; x != nil {
			*x = stat.Share(*x)
		}
	}
	// what nobody asks for is not kept
	w.report.Metrics, w.report.Job.Loader = nil, nil
	w.report.Verdict = report.Verdict{Class: w.report.Verdict.Class, Rule: w.report.Verdict.Rule}
	return w, nil
}

// Of is what is kept of a report that is at hand whole, as of a recording.
func Of(file string, r *report.Report) (*Watch, error) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(r); err != nil {
		return nil, fmt.Errorf("%w: %v", report.ErrInvalid, err)
	}
	return Decode(file, b.Bytes())
}

// when takes over from when to when it was watched.
func (w *Watch) when() {
	window := w.report.Window
	w.run = run{started: window.StartedAt, mono: window.StartMono, host: w.report.Host.ID, pid: w.report.Job.PID}
	at, err := time.Parse(time.RFC3339, window.StartedAt)
	if err != nil || !(window.DurationS > 0) || !stat.Finite(window.StartS, window.DurationS) {
		return
	}
	w.from = float64(at.Unix()) + max(window.StartS, 0)
	w.to = w.from + window.DurationS
}

// node is the name of its node: by rank, which a person knows, else by a hash, else by the file.
func (w *Watch) node() string {
	switch {
	case w.Place.NodeRank != nil:
		return "node " + strconv.Itoa(*w.Place.NodeRank)
	case w.report.Host.ID != "":
		return "host " + w.report.Host.ID
	}
	return path.Base(w.File)
}

// job tells one job from another: by the id that the scheduler gave, else by what it runs; its nodes differ in their
// arguments, as in --node_rank.
func (w *Watch) job() string {
	switch {
	case w.Place.JobID != "" && w.Place.Step != "":
		return w.Place.JobID + "." + w.Place.Step
	case w.Place.JobID != "":
		return w.Place.JobID
	}
	return cmp.Or(w.joins, report.Script(w.report.Job.Command), "a job without a command")
}

// of reports whether it is of the job that a person named: by its id, with or without Slurm's step, or by its script.
func (w *Watch) of(name string) bool {
	return name == "" || name == w.job() || name == w.Place.JobID
}

// trainers are the names of what it watched: ranks, else the process.
func (w *Watch) trainers() []string {
	var names []string
	for _, r := range w.report.Ranks {
		names = append(names, r.Rank)
	}
	if len(names) == 0 {
		names = append(names, fmt.Sprint("pid ", w.run.pid))
	}
	return names
}

// byRank puts nodes in their order, those without a number behind them by name.
func byRank(a, b *Watch) int {
	rank := func(w *Watch) int {
		if w.Place.NodeRank == nil {
			return 1 << 30
		}
		return *w.Place.NodeRank
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.node(), b.node()), slices.Compare(a.trainers(),
		b.trainers()), cmp.Compare(a.File, b.File))
}
