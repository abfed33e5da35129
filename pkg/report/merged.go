package report

import "strings"

// MergedSchema and MergedVersion name the format of the joined reports of a job's nodes.
const (
	MergedSchema  = "pipetune.merged"
	MergedVersion = "1.0.0"
)

// Merged is what the reports of one job's nodes say together.
type Merged struct {
	Schema        string        `json:"schema"`
	SchemaVersion string        `json:"schema_version"` // major.minor.patch of this format
	Kind          string        `json:"kind"`           // of the reports: "diagnose"
	Tool          Tool          `json:"tool"`           // what merged; its overhead is null
	Job           MergedJob     `json:"job"`
	Window        MergedWindow  `json:"window"`
	Verdict       MergedVerdict `json:"verdict"`
	Figures       []Spread      `json:"figures"`
	// ranks that lack data while most do not, the worst first; at most MaxStragglers
	Stragglers  []Straggler `json:"stragglers"`
	StragglersN int         `json:"stragglers_total"` // all of them
	Rules       []RuleNodes `json:"rules"`            // findings, those of most nodes first
	Nodes       []Node      `json:"nodes"`            // one for each report, by rank
	Missing     Missing     `json:"missing"`          // that the job has, and of which no report was merged
	LeftOut     []LeftOut   `json:"left_out"`         // files that were not merged
	Warnings    []string    `json:"warnings"`         // about the merging, for the person
	Next        []string    `json:"next,omitempty"`   // commands worth running next, ready to copy
}

// MaxStragglers bounds Merged.Stragglers.
const MaxStragglers = 20

// MergedJob is the job.
type MergedJob struct {
	ID        string   `json:"id,omitempty"`        // of Slurm, or of torchrun's rendezvous
	Step      string   `json:"step,omitempty"`      // of Slurm, in the job
	Framework string   `json:"framework,omitempty"` // "pytorch", …
	Command   []string `json:"command"`             // of the first node, redacted
	Nodes     *int     `json:"nodes"`               // as the job's environment says
	WorldSize *int     `json:"world_size"`          // trainers, as it says
}

// MergedWindow is the time that the figures are of.
type MergedWindow struct {
	StartedAt string  `json:"started_at,omitempty"` // RFC 3339 in UTC, by the nodes' own clocks
	DurationS float64 `json:"duration_s"`           // from there
}

// MergedVerdict says what bounds the nodes.
type MergedVerdict struct {
	Classes   []ClassNodes `json:"classes"`        // those of most nodes first
	Lead      *Where       `json:"lead"`           // whose trainer lacks data most; null where no node says
	Statement string       `json:"statement"`      // one or two sentences
	Grade     Severity     `json:"grade"`          // of the lead's data stall
	Rule      string       `json:"rule,omitempty"` // the first finding of the lead
}

// ClassNodes is how many nodes have a verdict.
type ClassNodes struct {
	Class Class `json:"class"`
	Nodes int   `json:"nodes"` // reports that say so
}

// Spread is one figure over all nodes, or over all ranks.
type Spread struct {
	Metric     string   `json:"metric"`     // as of a report
	Of         string   `json:"of"`         // "nodes" or "ranks"
	Unit       string   `json:"unit"`       // base unit
	N          int      `json:"n"`          // nodes or ranks that have the figure
	Median     float64  `json:"median"`     // over nodes or ranks
	Worst      float64  `json:"worst"`      // the largest, of rates and GPU use the smallest
	Difference bool     `json:"difference"` // skew is worst - median (of ratios); else worst / median
	Skew       *float64 `json:"skew"`       // null where the median is 0
	Where      Where    `json:"where"`      // of the worst
}

// Where is a place in the job.
type Where struct {
	Node string `json:"node"`           // its name
	Rank string `json:"rank,omitempty"` // as of a report; absent: all of the node
}

// String is the place in words: "rank 5 on node 2".
func (w Where) String() string {
	switch {
	case w.Rank == "":
		return w.Node
	case strings.HasPrefix(w.Rank, "pid"):
		return w.Rank + " on " + w.Node
	}
	return "rank " + w.Rank + " on " + w.Node
}

// Straggler is a rank that lacks data while most do not.
type Straggler struct {
	Where          Where    `json:"where"`
	InputWaitRatio float64  `json:"input_wait_ratio" share:"yes"`   // share of its time it waits for a batch
	Above          float64  `json:"above_median_ratio" share:"yes"` // that less the median of all ranks
	Severity       Severity `json:"severity"`
	Rule           string   `json:"rule,omitempty"` // the first finding of its node
}

// RuleNodes is on how many nodes a rule found something.
type RuleNodes struct {
	Rule     string   `json:"rule"`     // its ID
	Severity Severity `json:"severity"` // the worst
	Nodes    int      `json:"nodes"`    // reports that hold it
}

// Node is one report.
type Node struct {
	Name     string   `json:"name"`                   // "node 3", else its host's id, else the file
	Rank     *int     `json:"node_rank"`              // from 0; null: not reported
	Host     string   `json:"host,omitempty"`         // its id
	HostName string   `json:"host_name,omitempty"`    // only with --no-redact
	File     string   `json:"file"`                   // without its folder
	Ranks    []string `json:"ranks"`                  // trainers watched
	Class    Class    `json:"class,omitempty"`        // of its verdict
	Rule     string   `json:"rule,omitempty"`         // of its verdict
	Seen     float64  `json:"seen_ratio" share:"yes"` // share of the joint window it was watched in
	// in the joint window, where the report has windows; else of its own
	Figures map[string]float64 `json:"figures"`
}

// Missing is what a job has and no report was merged of.
type Missing struct {
	Nodes []int `json:"nodes"` // their ranks
	Ranks []int `json:"ranks"` // trainers
}

// The reasons a file is not merged.
const (
	LeftUnreadable = "unreadable" // cut off, edited, or no report
	LeftOtherKind  = "other-kind" // of bench-io
	LeftOtherJob   = "other-job"  // than --job names
	LeftDuplicate  = "duplicate"  // the run of another file
	LeftSameRank   = "same-rank"  // another run of ranks that another file has
	LeftApart      = "apart"      // watched at another time than most, or by a clock that is wrong
)

// LeftReasons lists these words.
var LeftReasons = []string{LeftUnreadable, LeftOtherKind, LeftOtherJob, LeftDuplicate, LeftSameRank, LeftApart}

// LeftOut is a file that was not merged.
type LeftOut struct {
	File   string `json:"file"`   // without its folder
	Reason string `json:"reason"` // one of LeftReasons
	Why    string `json:"why"`    // in words
}
