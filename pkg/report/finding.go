package report

import (
	"strconv"
	"strings"
)

// Severity orders findings.
type Severity string

// The closed list of severities.
const (
	Error   Severity = "error"   // costs a large share of the step now
	Warning Severity = "warning" // costs a noticeable share, or will when something else is fixed
	Info    Severity = "info"    // worth knowing; costs nothing measurable now
)

// Finding is something about the user's job.
type Finding struct {
	Rule            string           `json:"rule"`  // "hdf5/reopened-per-item"
	Title           string           `json:"title"` // a few words
	Severity        Severity         `json:"severity"`
	Score           float64          `json:"score" share:"yes"` // share of the step's time at stake, 0..1
	Summary         string           `json:"summary"`           // one or two sentences with the figures
	Evidence        []Evidence       `json:"evidence"`
	Location        *Location        `json:"location,omitempty"`
	Recommendations []Recommendation `json:"recommendations"`
	WontHelp        []string         `json:"wont_help,omitempty"` // what would not help, and why, in words
	// the same as data, since 1.3.0: plans and patches keep to it
	Unhelpful []Unhelpful `json:"unhelpful,omitempty"`
}

// Effect is what a finding is expected to bring: what the change that it recommends first does, among others to the
// same end. It is nil where no change has an effect that can be predicted.
func (f *Finding) Effect() *Effect {
	for _, c := range f.Recommendations {
		if c.Effect != nil {
			return c.Effect
		}
	}
	return nil
}

// Direction is which way a setting is changed.
type Direction string

// The closed list of directions.
const (
	Up   Direction = "up"   // to a value above the present one
	Down Direction = "down" // to one below
	To   Direction = "to"   // to the value that is named
	Any  Direction = "any"  // to whatever value
)

// Unhelpful is a change of a setting that a finding says will not help. Since 1.3.0.
type Unhelpful struct {
	Setting   string    `json:"setting"` // by the name that recommendations use
	Direction Direction `json:"direction"`
	To        string    `json:"to,omitempty"` // the value, where the direction is to it
	// a part of the time, or the change without others; only "" rules the change out
	Within string `json:"within,omitempty"`
	Why    string `json:"why"` // in words
}

// Covers reports whether a change of a setting from one value to another is such a one. Where only the order of values
// would tell, and they have none or the present one is not known, it is not.
func (u Unhelpful) Covers(setting, from, to string) bool {
	if u.Setting != setting || strings.EqualFold(from, to) {
		return false
	}
	switch u.Direction {
	case Any:
		return true
	case To:
		return strings.EqualFold(u.To, to)
	}
	a, err := strconv.ParseFloat(from, 64)
	b, err2 := strconv.ParseFloat(to, 64)
	return err == nil && err2 == nil && (u.Direction == Up && b > a || u.Direction == Down && b < a)
}

// Evidence is one number a finding rests on.
type Evidence struct {
	Metric string  `json:"metric"` // a key of metrics
	Value  float64 `json:"value"`  // its center
	Unit   string  `json:"unit"`   // as of a metric
	Basis  Basis   `json:"basis"`
}

// Recommendation is one change to one setting.
type Recommendation struct {
	Setting string  `json:"setting"`        // "num_workers", "HDF5 chunk shape", …
	From    *string `json:"from"`           // null: not observed
	To      string  `json:"to"`             // the value it is to have
	With    []Value `json:"with,omitempty"` // settings that are to be changed along with it, since 1.3.0
	// Command is a shell command that makes the change, or measures what it would bring, ready to copy. Since 1.6.0.
	Command string  `json:"command,omitempty"`
	Why     string  `json:"why"`              // what that does
	Caveat  string  `json:"caveat,omitempty"` // what to mind
	Effect  *Effect `json:"effect"`           // null: cannot be predicted; the why says so
	Watch   string  `json:"watch,omitempty"`  // of a plan's change, since 1.2.0: what to look at afterwards
	Falls   string  `json:"falls,omitempty"`  // metric that is lower once it is made; "": the setting tells. Since 1.7.0
}

// Value is a setting with the value it is to have.
type Value struct {
	Setting string `json:"setting"` // as of a recommendation
	To      string `json:"to"`      // the value it is to have
}

// RelativeThroughput is the metric of effects where no rate could be counted: how many times as fast as before.
const RelativeThroughput = "relative_throughput"

// Effect is what a change is predicted to bring.
type Effect struct {
	Metric string  `json:"metric"`       // what changes: "batches_per_s", …
	Before float64 `json:"before"`       // now
	After  float64 `json:"after"`        // likely
	Lo     float64 `json:"lo"`           // lower end of what is predicted
	Hi     float64 `json:"hi" from:"Lo"` // upper end
	Unit   string  `json:"unit"`         // as of a metric
	Basis  Basis   `json:"basis"`
	Limit  string  `json:"limit,omitempty"` // what bounds it then
}

// Measurement is one figure of a benchmark.
type Measurement struct {
	Probe  string            `json:"probe"`
	Labels map[string]string `json:"labels,omitempty"` // under what it was measured: "cache", "order", "workers", …
	Metric string            `json:"metric"`           // "item_time_s", "items_per_s", …
	Value  Metric            `json:"value"`
}

// Abstained is a rule, or a signal, that could not be judged.
type Abstained struct {
	Rule    string   `json:"rule,omitempty"` // its ID, or "plans"
	Missing []string `json:"missing"`        // signals
	Reason  string   `json:"reason"`         // why they are
	Cure    string   `json:"cure,omitempty"` // what would change that
}
