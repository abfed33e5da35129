package report

// Class is what bounds the job.
type Class string

// The closed list of classes.
const (
	InputBound    Class = "input-bound"
	GPUBound      Class = "gpu-bound"
	HostBound     Class = "host-bound"
	TransferBound Class = "transfer-bound"
	Balanced      Class = "balanced"
	Inconclusive  Class = "inconclusive"
)

// Resource is what an input-bound job is short of; "" for other classes.
type Resource string

// The closed list of resources.
const (
	NoResource  Resource = ""
	OnStorage   Resource = "storage"
	HDF5        Resource = "hdf5"
	CPU         Resource = "cpu"
	Workers     Resource = "workers"
	Startup     Resource = "startup"
	Memory      Resource = "memory"
	Lock        Resource = "lock"
	MainProcess Resource = "main-process"
)

// Confidence is how sure a verdict is.
type Confidence string

// The closed list of confidences.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Basis says where a number comes from.
type Basis string

// The closed list of bases. Inferred is measured beside the thing itself, with the inference documented.
const (
	Measured Basis = "measured"
	Inferred Basis = "inferred"
	Modelled Basis = "modelled"
	Assumed  Basis = "assumed"
)

// Verdict is the one answer.
type Verdict struct {
	Class      Class      `json:"class"`
	Resource   Resource   `json:"resource,omitempty"`
	Rule       string     `json:"rule,omitempty"` // first finding
	Confidence Confidence `json:"confidence"`
	Statement  string     `json:"statement"`        // one or two sentences: why
	Doubts     []string   `json:"doubts,omitempty"` // what lowered the confidence
	Step       Step       `json:"step"`
}

// Step is where the time of a step goes; null is unknown. Data stall, host and device are shares of the device's time
// and leave the rest of it; the input wait is the trainer's, and may lie behind work that is queued on the device.
type Step struct {
	TimeS          *float64 `json:"time_s"`                       // wall time of a step
	InputWaitRatio *float64 `json:"input_wait_ratio" share:"yes"` // share of time the trainer waits for a batch
	// DataStall is the share of time in which the device has nothing to do because the batch is not there, since 1.4.0.
	// Where the trainer has no device open it is the input wait.
	DataStall *Interval `json:"data_stall_ratio,omitempty"`
	// Headroom is the rate with free data over the present rate, since 1.4.0.
	Headroom *Interval `json:"headroom,omitempty"`
	// HeadroomMeasured is the same by intervention: the rate of the loop that was handed its last batches again in
	// place of the loader's, over the present rate. Of a watch with --headroom only; since 1.7.0.
	HeadroomMeasured *Interval `json:"headroom_measured,omitempty"`
	// share of time the device idles while the trainer computes
	HostRatio   *float64 `json:"host_ratio" share:"yes"`
	H2DRatio    *float64 `json:"h2d_ratio" share:"yes"`    // share of time the device does nothing but copy
	DeviceRatio *float64 `json:"device_ratio" share:"yes"` // share of time the device works
	// EpochGapRatio is the time between one set of workers and the first batch of the next, since 1.3.0, and, of a
	// launched job, that in which the sampler draws an epoch's first indices. What of it the trainer waits for is a
	// part of InputWaitRatio as well; what it takes to end and start workers is a part of no other.
	EpochGapRatio *float64 `json:"epoch_gap_ratio,omitempty" share:"yes"`
}

// Interval is what is known of a figure: it lies between Lo and Hi, most likely at Center.
type Interval struct {
	Center float64 `json:"center"` // most likely
	Lo     float64 `json:"lo"`     // lower end
	Hi     float64 `json:"hi"`     // upper end
}

// Metric is one figure with its interval.
type Metric struct {
	Center     float64 `json:"center"`     // median, or ratio of sums
	Lo         float64 `json:"lo"`         // lower end of the interval; the center where there is none
	Hi         float64 `json:"hi"`         // upper end
	Confidence float64 `json:"confidence"` // of the interval; 0 where there is none
	N          int     `json:"n"`          // independent windows behind it
	Unit       string  `json:"unit"`       // base unit: "s", "bytes", "bytes/s", "1/s", "ratio", "1", "cores", …
	Basis      Basis   `json:"basis"`
	// Windows are the figure's values in the windows of a run, in order of time and at most MaxWindows, for the few
	// metrics that runs are compared by; since 1.2.0. Windows that gave no value are left out.
	Windows []float64 `json:"windows,omitempty"`
}

// MaxWindows bounds Metric.Windows.
const MaxWindows = 150

// Phase is a part of a worker's time.
type Phase struct {
	Name   string  `json:"name"`                  // "computing", "computing: libjpeg", "idle, ahead", …
	Ratio  float64 `json:"ratio"`                 // share of the time, 0..1
	BatchS float64 `json:"per_batch_s,omitempty"` // per batch, where batches are counted
	ItemS  float64 `json:"per_item_s,omitempty"`  // per item, of a benchmark; since 1.1.0
	Basis  Basis   `json:"basis"`
}

// Rank is one trainer of several, on this machine or, since 1.7.0, on all that the job runs on.
type Rank struct {
	Rank           string   `json:"rank"`             // as the launcher numbers it, else the pid
	PID            int      `json:"pid"`              // of the trainer
	InputWaitRatio *float64 `json:"input_wait_ratio"` // share of its time it waits for a batch
	BatchesPerS    *float64 `json:"batches_per_s"`    // that it gets
	// its device starves most, or it waits most: the figures are of it
	Worst bool `json:"worst,omitempty"`
}
