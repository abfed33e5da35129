package report

// ComparisonSchema and ComparisonVersion name the format of a comparison.
const (
	ComparisonSchema  = "pipetune.comparison"
	ComparisonVersion = "1.1.0"
)

// Comparison is what became of a job, or of a dataset's reading, between reports before a change and reports after it.
type Comparison struct {
	Schema        string          `json:"schema"`
	SchemaVersion string          `json:"schema_version"` // major.minor.patch of this format
	Kind          string          `json:"kind"`           // of the reports: "diagnose" or "bench-io"
	Tool          Tool            `json:"tool"`           // what compared; its overhead is null
	Before        Side            `json:"before"`
	After         Side            `json:"after"`
	Comparable    Comparability   `json:"comparable"`
	Conditions    []Condition     `json:"conditions"` // what else differs between the sides, weightiest first
	Changes       []Change        `json:"changes"`
	Settings      []SettingChange `json:"settings"`
	Rules         RuleChanges     `json:"rules"`
	Predictions   []Prediction    `json:"predictions"`
	Tally         *Tally          `json:"tally"`    // null where no prediction was made
	Gate          *Gate           `json:"gate"`     // null where none was asked for
	How           string          `json:"how"`      // by which test, and what its figures allow for
	Warnings      []string        `json:"warnings"` // about the comparing, for the person
}

// Side is one side of a comparison: one run, or several of the same job.
type Side struct {
	Files         []string `json:"files"`                // names without their folders
	Runs          int      `json:"runs"`                 // reports of this side
	SchemaVersion string   `json:"schema_version"`       // of the first report
	ToolVersion   string   `json:"tool_version"`         // of the first report
	Class         Class    `json:"class,omitempty"`      // of the verdict; "" for bench-io
	Rule          string   `json:"rule,omitempty"`       // of the verdict; "" for bench-io
	Confidence    string   `json:"confidence,omitempty"` // of the verdict; "" for bench-io
	Job           string   `json:"job,omitempty"`        // its command, redacted; for bench-io the dataset's path
	DurationS     float64  `json:"duration_s"`           // watched or measured, all runs together
	// samples (or batches) per second if the trainer never waited; modelled
	Free      *float64 `json:"free_rate"`
	FreeOf    string   `json:"free_of,omitempty"`   // the metric that free_rate is of
	Statement string   `json:"statement,omitempty"` // of the verdict
	Phases    []Phase  `json:"phases"`              // of the first run
}

// Comparability says whether figures of the two sides may be held against each other.
type Comparability string

// The closed list of answers.
const (
	Comparable    Comparability = "yes"
	WithCare      Comparability = "with-care" // something differs that may have moved a figure
	NotComparable Comparability = "no"        // something differs that a figure depends on
)

// Condition is something beside the settings that is not the same on both sides.
type Condition struct {
	Name        string `json:"name"`        // what differs
	Before      string `json:"before"`      // there
	After       string `json:"after"`       // here
	Consequence string `json:"consequence"` // what it may do to the figures
	Breaks      bool   `json:"breaks"`      // the figures cannot be held against each other
}

// Answer is what the data say of one figure.
type Answer string

// The closed list of answers. Unclear is not "the same": it says that the data cannot tell.
const (
	Better  Answer = "better"
	Worse   Answer = "worse"
	Higher  Answer = "higher" // where neither direction is better
	Lower   Answer = "lower"
	Unclear Answer = "unclear"
)

// The ways two figures can be held against each other.
const (
	ByRuns      = "runs"      // Mann-Whitney over the centers of repeated runs
	ByWindows   = "windows"   // Mann-Whitney over blocks of windows, with an allowance for what differs from run to run
	ByIntervals = "intervals" // whether the intervals overlap, with the same allowance; no p
)

// Change is one figure on both sides.
type Change struct {
	Key        string            `json:"key"`              // names this row: the metric, or probe.metric{label=value,…}
	Metric     string            `json:"metric"`           // as of a report
	Probe      string            `json:"probe,omitempty"`  // bench-io, as are the labels
	Labels     map[string]string `json:"labels,omitempty"` // of a measurement
	Unit       string            `json:"unit"`             // of both figures
	Before     Figure            `json:"before"`
	After      Figure            `json:"after"`
	Difference bool              `json:"difference"`    // change is after - before (of ratios); else after/before - 1
	Change     *float64          `json:"change"`        // null where it cannot be said, as from 0
	Lo         *float64          `json:"lo"`            // interval of change at 95 %, null where there is none
	Hi         *float64          `json:"hi"`            // its upper end
	P          *float64          `json:"p" share:"yes"` // that a difference as large comes by chance; null by intervals
	NBefore    int               `json:"n_before"`      // windows, or runs
	NAfter     int               `json:"n_after"`       // windows, or runs
	Method     string            `json:"method"`        // "runs", "windows" or "intervals"
	Answer     Answer            `json:"answer"`
	Note       string            `json:"note,omitempty"` // why it is unclear though the figures are apart
}

// Figure is a figure of one side. Lo and Hi are the center where there is no interval.
type Figure struct {
	Center     float64 `json:"center"`     // median, or ratio of sums
	Lo         float64 `json:"lo"`         // lower end
	Hi         float64 `json:"hi"`         // upper end
	Confidence float64 `json:"confidence"` // of the interval; 0 where there is none
	Basis      Basis   `json:"basis"`
}

// SettingChange is a setting of the loader that was changed. Only settings known on both sides are listed.
type SettingChange struct {
	Setting     string `json:"setting"`               // as of a recommendation
	Before      string `json:"before"`                // its value
	After       string `json:"after"`                 // its value
	Recommended string `json:"recommended,omitempty"` // what BEFORE recommended for it
}

// RuleChanges says which findings went, came and stayed.
type RuleChanges struct {
	Resolved  []RuleChange `json:"resolved"`
	New       []RuleChange `json:"new"`
	Remaining []RuleChange `json:"remaining"`
	Unjudged  []RuleChange `json:"unjudged"` // found before, and not judged after: its signals were missing
}

// RuleChange is one rule's finding on both sides.
type RuleChange struct {
	Rule   string   `json:"rule"`          // its ID
	Before *float64 `json:"score_before"`  // null: not found
	After  *float64 `json:"score_after"`   // null: not found
	Why    string   `json:"why,omitempty"` // unjudged: the reason
}

// Outcome is what became of a prediction.
type Outcome string

// The closed list of outcomes.
const (
	Inside    Outcome = "inside" // the figure observed lies in the interval that was predicted
	Above     Outcome = "above"
	Below     Outcome = "below"
	Uncertain Outcome = "cannot-tell" // it lies outside, but its own interval reaches in
	Unjudged  Outcome = "not-judged"  // why says what is in the way
)

// Prediction is an effect that a report before the change reported, and what was seen after it.
type Prediction struct {
	Changes  []Recommended `json:"changes"` // more than one: their effect together
	Metric   string        `json:"metric"`  // what was predicted
	Unit     string        `json:"unit"`    // of it
	Lo       float64       `json:"lo"`      // lower end of what was predicted
	Hi       float64       `json:"hi"`      // upper end
	Basis    Basis         `json:"basis"`
	Observed *Figure       `json:"observed"` // null where the figure was not measured after
	Outcome  Outcome       `json:"outcome"`
	Why      string        `json:"why,omitempty"` // what is in the way, or how near it was
}

// Recommended is a change that a report recommended.
type Recommended struct {
	Setting string `json:"setting"`        // as of a recommendation
	From    string `json:"from,omitempty"` // its value before
	To      string `json:"to"`             // the value recommended
	Rule    string `json:"rule,omitempty"` // whose finding recommended it; "" for a plan
}

// Tally counts what became of the predictions. Since version 1.1.0 it counts those that were not held or missed, too.
type Tally struct {
	Held      int `json:"held"`        // observed inside of what was predicted
	Judged    int `json:"judged"`      // held, or missed
	Uncertain int `json:"cannot_tell"` // the data cannot tell
	Unjudged  int `json:"not_judged"`  // the change was not made, or something is in the way
}

// Gate is a limit that a change was held to.
type Gate struct {
	Metric string     `json:"metric"` // that was held to it
	Limit  float64    `json:"limit"`  // largest loss that passes: a ratio, of ratios in points/100
	Answer GateAnswer `json:"answer"`
	Why    string     `json:"why"` // in words
}

// Threshold is a limit that a figure of one report was held to.
type Threshold struct {
	Text   string     `json:"text"`   // as it was given: gpu_busy_ratio>=0.8
	Metric string     `json:"metric"` // that was held to it
	Limit  float64    `json:"limit"`  // in the base unit of the metric
	Value  *Figure    `json:"value"`  // null: not measured
	Answer GateAnswer `json:"answer"`
	Why    string     `json:"why"` // in words
}

// GateAnswer is what a gate says; it judges the interval, never the point.
type GateAnswer string

// The closed list of answers.
const (
	GatePassed  GateAnswer = "passed"      // the whole interval lies within the limit
	GateFailed  GateAnswer = "failed"      // the whole interval lies beyond it
	GateUnclear GateAnswer = "cannot-tell" // the interval reaches over the limit, or there is none
)
