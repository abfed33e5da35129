package metric

// Derived from what the hook reports; absent where a job is watched from outside. They are of the training loop: the
// loader with the most time among those that are asked while gradients are enabled.
var (
	MadeItem = Desc{"made_item_s", Seconds, Gauge, "a worker's time to make an item, its share of collate included"}
	MadeOpen = Desc{"made_item_open_s", Seconds, Gauge, "of this: opening HDF5 files, finding datasets in them " +
		"by name, and closing them"}
	MadeRead   = Desc{"made_item_read_s", Seconds, Gauge, "of this: reading HDF5 datasets, decompression included"}
	MadeDecode = Desc{"made_item_decode_s", Seconds, Gauge, "of this: Pillow and OpenCV, reading the picture's " +
		"file included"}
	DecodedTimes = Desc{"decoded_over_taken", Count, Gauge, "values of pictures decoded for an item, over those of " +
		"the item in its batch; at least, where the batch's type is not known"}
	MadeOther = Desc{"made_item_other_s", Seconds, Gauge, "of this: the rest of the dataset's own code, by " +
		"difference: transforms, and reading by other libraries"}
	MadeCollate  = Desc{"made_item_collate_s", Seconds, Gauge, "of this: collate_fn, per item"}
	MadePerS     = Desc{"made_items_per_s", PerSecond, Gauge, "items made per second, by all workers together"}
	FetchTime    = Desc{"batch_fetch_s", Seconds, Gauge, "a worker's time to make a batch"}
	FetchP99     = Desc{"batch_fetch_p99_s", Seconds, Gauge, "time within which 99 of 100 batches are made"}
	FetchCPU     = Desc{"batch_fetch_cpu_s", Seconds, Gauge, "CPU time of the worker's main thread to make a batch"}
	CollateRatio = Desc{"collate_ratio", Ratio, Gauge, "share of making a batch that is collate_fn"}
	BatchTensors = Desc{"batch_tensors", Count, Gauge, "tensors of one batch in lists of one entry a sample; at most " +
		"512 objects of it are inspected"}
	BatchFloat32 = Desc{"batch_float32_bytes", Bytes, Gauge, "bytes of one batch's tensors of float32 with three " +
		"axes or more, as pictures have"}
	BatchFloat64 = Desc{"batch_float64_bytes", Bytes, Gauge, "bytes of one batch's tensors of float64"}
	RowsPerBatch = Desc{"rows_per_batch", Count, Gauge, "rows of Hugging Face's datasets read one by one for a batch"}
	RowRatio     = Desc{"row_ratio", Ratio, Gauge, "share of making a batch that is reading them"}
	Evaluation   = Desc{"evaluation_ratio", Ratio, Gauge, "share of time the trainer goes over loaders without " +
		"gradients, or in order beside one that shuffles: evaluation, while training stands still"}
	EvalWait = Desc{"evaluation_wait_ratio", Ratio, Gauge, "share of all time that is input wait of such loaders"}
	TakeCPU  = Desc{"take_cpu_s", Seconds, Gauge, "CPU time of the trainer in __next__ of a loader with workers: " +
		"receiving a batch and asking for the next"}
	SyncRatio    = Desc{"sync_ratio", Ratio, Gauge, "share of time in calls that wait for the GPU"}
	SyncsPerStep = Desc{"syncs_per_step", Count, Gauge, "such calls per step"}
	Starved      = Desc{"device_starved_ratio", Ratio, Gauge, "share of the device's own time between the end of a " +
		"step's work and the arrival of the next batch"}
	FreeRate = Desc{"free_batches_per_s", PerSecond, Gauge, "batches per second of one trainer that was handed its " +
		"last batches again in place of its loader's; of a watch with --headroom only"}
	FreeTimes = Desc{"headroom_measured_ratio", Count, Gauge, "that rate over the present one: what data for free " +
		"brings, measured"}
)

// HookDerived lists them.
var HookDerived = []Desc{MadeItem, MadeOpen, MadeRead, MadeDecode, DecodedTimes, MadeOther, MadeCollate, MadePerS,
	FetchTime, FetchP99, FetchCPU, CollateRatio, BatchTensors, BatchFloat32, BatchFloat64, RowsPerBatch, RowRatio,
	TakeCPU, Evaluation, EvalWait, SyncRatio, SyncsPerStep, Starved, FreeRate, FreeTimes}
