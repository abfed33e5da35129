package metric

// Derived from what the hook reports; absent where a job is watched from outside. They are of the training loop: the
// loader with the most time among those that are asked while gradients are enabled.
var (
	MadeItem = HookDerived.gauge("made_item_s", Seconds, "a worker's time to make an item, its share of collate "+
		"included")
	MadeOpen = HookDerived.gauge("made_item_open_s", Seconds, "of this: opening HDF5 files, finding datasets in them "+
		"by name, and closing them")
	MadeRead = HookDerived.gauge("made_item_read_s", Seconds, "of this: reading HDF5 datasets, decompression "+
		"included")
	MadeReads  = HookDerived.gauge("made_item_reads", Count, "reads of HDF5 datasets for an item")
	MadeDecode = HookDerived.gauge("made_item_decode_s", Seconds, "of this: Pillow and OpenCV, reading the picture's "+
		"file included")
	MadeResize = HookDerived.gauge("made_item_resize_s", Seconds, "of this: resizing pictures with Pillow from "+
		"about the size that they were decoded at")
	MadeArchive = HookDerived.gauge("made_item_archive_s", Seconds, "of this: opening tar and zip archives, listing "+
		"what they hold, and reading NumPy's, PyTorch's and Parquet files")
	DecodedTimes = HookDerived.gauge("decoded_over_taken", Count, "values of pictures decoded for an item, over "+
		"those of the item in its batch; at least, where the batch's type is not known")
	MadeOther = HookDerived.gauge("made_item_other_s", Seconds, "of this: the rest of the dataset's own code, by "+
		"difference: transforms, and reading by other libraries")
	MadeCollate = HookDerived.gauge("made_item_collate_s", Seconds, "of this: collate_fn, per item")
	MadePerS    = HookDerived.gauge("made_items_per_s", PerSecond, "items made per second, by all workers together")
	FetchTime   = HookDerived.gauge("batch_fetch_s", Seconds, "a worker's time to make a batch")
	FetchP99    = HookDerived.gauge("batch_fetch_p99_s", Seconds, "time within which 99 of 100 batches are made")
	FetchCPU    = HookDerived.gauge("batch_fetch_cpu_s", Seconds, "CPU time of the worker's main thread to make a "+
		"batch")
	CollateRatio = HookDerived.gauge("collate_ratio", Ratio, "share of making a batch that is collate_fn")
	BatchTensors = HookDerived.gauge("batch_tensors", Count, "tensors of one batch in lists of one entry a sample; "+
		"at most 512 objects of it are inspected")
	BatchFloat32 = HookDerived.gauge("batch_float32_bytes", Bytes, "bytes of one batch's tensors of float32 with "+
		"three axes or more, as pictures have")
	BatchFloat64 = HookDerived.gauge("batch_float64_bytes", Bytes, "bytes of one batch's tensors of float64")
	RowsPerBatch = HookDerived.gauge("rows_per_batch", Count, "rows of Hugging Face's datasets read one by one for a "+
		"batch")
	RowRatio = HookDerived.gauge("row_ratio", Ratio, "share of making a batch that is reading them")
	TakeCPU  = HookDerived.gauge("take_cpu_s", Seconds, "CPU time of the trainer in __next__ of a loader with "+
		"workers: receiving a batch and asking for the next")
	DrawTime = HookDerived.gauge("draw_s", Seconds, "time of the trainer in __next__ in which the sampler draws the "+
		"indices of a batch")
	Evaluation = HookDerived.gauge("evaluation_ratio", Ratio, "share of time the trainer goes over loaders without "+
		"gradients, or in order beside one that shuffles: evaluation, while training stands still")
	EvalWait = HookDerived.gauge("evaluation_wait_ratio", Ratio, "share of all time that is input wait of such "+
		"loaders")
	SyncRatio    = HookDerived.gauge("sync_ratio", Ratio, "share of time in calls that wait for the GPU")
	SyncsPerStep = HookDerived.gauge("syncs_per_step", Count, "such calls per step")
	Starved      = HookDerived.gauge("device_starved_ratio", Ratio, "share of the device's own time between the end "+
		"of a step's work and the arrival of the next batch")
	FreeRate = HookDerived.gauge("free_batches_per_s", PerSecond, "batches per second of one trainer that was handed "+
		"its last batches again in place of its loader's; of a watch with --headroom only")
	FreeTimes = HookDerived.gauge("headroom_measured_ratio", Count, "that rate over the present one: what data for "+
		"free brings, measured")
)
