package report

// Tuning is what settings of the loader gave when they were measured in the job itself. Since 1.7.0; of `tune` only.
type Tuning struct {
	Statement string      `json:"statement"`       // in a sentence or two
	Outcome   string      `json:"outcome"`         // one of TuningOutcomes
	Rows      []TuningRow `json:"rows"`            // in the order they were tried, the present setting first
	Chosen    *int        `json:"chosen"`          // index of the row to take; null: nothing was measured, or unclear
	Gain      *Interval   `json:"gain,omitempty"`  // its rate in the loop over the present one
	BudgetS   float64     `json:"budget_s"`        // that was given
	SpentS    float64     `json:"spent_s"`         // from the end of the watch on
	Ended     string      `json:"ended,omitempty"` // why not all was tried
}

// What measuring settings comes to.
const (
	TuningChange  = "change"     // a setting brings 3 % or more
	TuningNothing = "nothing"    // none does
	TuningUnclear = "unclear"    // rates vary too much to tell
	TuningNone    = "unmeasured" // none could be measured
)

// TuningOutcomes lists these words.
var TuningOutcomes = []string{TuningChange, TuningNothing, TuningUnclear, TuningNone}

// TuningRow is one setting that was tried. Rates are in batches per second.
type TuningRow struct {
	NumWorkers        int  `json:"num_workers"`          // of the DataLoader
	PrefetchFactor    int  `json:"prefetch_factor"`      // 0: without workers it means nothing
	PersistentWorkers bool `json:"persistent_workers"`   // workers live on from epoch to epoch
	PinMemory         bool `json:"pin_memory"`           // batches are copied to page-locked memory
	BatchSize         *int `json:"batch_size,omitempty"` // null: as it is
	Present           bool `json:"present,omitempty"`    // the setting as it is
	// the loader, its batches taken by nobody; null: not measured
	Alone  *Interval `json:"alone"`
	InLoop *Interval `json:"in_loop"` // the training loop with it; null: not measured
	// of the model, in the loop, before anything was measured; null: none
	Forecast *Interval `json:"forecast"`
	// how the forecast did where the loop was measured: "inside", "above" or "below"
	Score       string `json:"score,omitempty"`
	MemoryBytes *int64 `json:"memory_bytes"`  // that the machine had less of, at most; null: not known
	ShmBytes    *int64 `json:"shm_bytes"`     // the same of /dev/shm
	Why         string `json:"why,omitempty"` // it was not measured, or ended early
}
