package report

// Severity orders findings.
type Severity string

// The closed list of severities.
const (
	Error   Severity = "error"   // costs a large share of the step now
	Warning Severity = "warning" // costs a noticeable share, or will when something else is mended
	Info    Severity = "info"    // worth knowing; costs nothing measurable now
)

// Finding is something about the user's job.
type Finding struct {
	Rule            string           `json:"rule"` // "hdf5/reopened-per-item"
	Title           string           `json:"title"`
	Severity        Severity         `json:"severity"`
	Score           float64          `json:"score"` // share of the step's time at stake, 0..1
	Summary         string           `json:"summary"`
	Evidence        []Evidence       `json:"evidence"`
	Location        *Location        `json:"location,omitempty"`
	Recommendations []Recommendation `json:"recommendations"`
	WontHelp        []string         `json:"wont_help,omitempty"` // what would not help, and why
}

// Evidence is one number a finding rests on.
type Evidence struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Basis  Basis   `json:"basis"`
}

// Recommendation is one change to one setting.
type Recommendation struct {
	Setting string  `json:"setting"`
	From    *string `json:"from"` // null: not observed
	To      string  `json:"to"`
	Why     string  `json:"why"`
	Caveat  string  `json:"caveat,omitempty"`
	Effect  *Effect `json:"effect"`          // null: cannot be predicted; the why says so
	Watch   string  `json:"watch,omitempty"` // of a plan's change, since 1.2.0: what to look at afterwards
}

// Effect is what a change is predicted to bring.
type Effect struct {
	Metric string  `json:"metric"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	Lo     float64 `json:"lo"`
	Hi     float64 `json:"hi"`
	Unit   string  `json:"unit"`
	Basis  Basis   `json:"basis"`
	Limit  string  `json:"limit,omitempty"` // what bounds it then
}

// Measurement is one figure of a benchmark.
type Measurement struct {
	Probe  string            `json:"probe"`
	Labels map[string]string `json:"labels,omitempty"`
	Metric string            `json:"metric"`
	Value  Metric            `json:"value"`
}

// Abstained is a rule, or a signal, that could not be judged.
type Abstained struct {
	Rule    string   `json:"rule,omitempty"` // its ID, or "plans"
	Missing []string `json:"missing"`
	Reason  string   `json:"reason"`
	Cure    string   `json:"cure,omitempty"`
}
