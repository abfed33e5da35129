package report

// Forecast is what a DataLoader over a benchmarked dataset is expected to give here, by number of workers. Since 1.2.0;
// bench-io only.
type Forecast struct {
	Statement      string `json:"statement"`        // in a sentence or two
	BatchSize      int    `json:"batch_size"`       // samples
	BatchSizeGiven bool   `json:"batch_size_given"` // false: the default was taken
	// null: not given; the trainer then takes batches as fast as they come
	StepTimeS *float64 `json:"step_time_s"`
	// CPU time per item that was given on top of what was measured
	TransformTimeS float64       `json:"transform_time_s"`
	ItemTimeS      float64       `json:"item_time_s"`            // of one worker, without that
	Item           string        `json:"item"`                   // what was measured: "warm, in Python (h5py)"
	PrefetchFactor int           `json:"prefetch_factor"`        // batches asked for ahead, of each worker
	Confidence     float64       `json:"confidence" share:"yes"` // of the intervals, 0..1
	Rows           []ForecastRow `json:"rows"`                   // by workers, rising
	// the fewest workers within 3 % of the best; null: none was looked for
	Needed *int `json:"needed"`
}

// ForecastRow is one number of workers.
type ForecastRow struct {
	NumWorkers     int      `json:"num_workers"`                  // of the DataLoader
	SamplesPerS    float64  `json:"samples_per_s"`                // likely
	Lo             float64  `json:"lo"`                           // lower end
	Hi             float64  `json:"hi" from:"Lo"`                 // upper end
	WaitS          *float64 `json:"wait_s"`                       // per step; null without a step time
	InputWaitRatio *float64 `json:"input_wait_ratio" share:"yes"` // of the time; null without a step time
	// finished batches in /dev/shm, at the most; null: an item's size is not known
	QueueBytes *int64 `json:"queue_bytes"`
	Limit      string `json:"limit,omitempty"` // what bounds it
}
