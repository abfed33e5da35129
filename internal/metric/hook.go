package metric

// What the hook reports from inside a launched job. Entity "loop/<trainer pid>.<start>.<n>" is the n-th DataLoader its
// trainer iterates over, together with that loader's workers; n counts from 0 in the order of construction, and in a
// job that makes hundreds later ones share a number. The counters are running totals since the job began, as the hook's
// clock (CLOCK_MONOTONIC) reported them: a lost message costs resolution in time, never an amount.
var (
	HookClock = Hook.counter("hook_clock_s", Seconds, "moment of CLOCK_MONOTONIC up to which the totals of a "+
		"trainer's loops are reported; entity process/… of the trainer")
	HookLost = Hook.counter("hook_lost_messages", Count, "messages the hook could not send because nobody took them "+
		"in time; entity process/… of the trainer, its workers included")

	HookSteps     = Hook.counter("hook_steps", Count, "batches the trainer took")
	HookGradSteps = Hook.counter("hook_grad_steps", Count, "of these, batches asked for while gradients were "+
		"enabled: training, not evaluation")
	HookOffMain = Hook.counter("hook_aside_steps", Count, "of these, batches taken by another thread than the main "+
		"one: a prefetcher's wait is not the step's")
	HookSamples = Hook.counter("hook_samples", Count, "samples in these batches, from the size of the first axis; of "+
		"steps below 100 ms only some are inspected")
	HookWait = Hook.counter("hook_wait_s", Seconds, "time in __next__ of the steps, the first of each epoch "+
		"included, the one that ends it not")
	HookFirstWait = Hook.counter("hook_first_wait_s", Seconds, "of this, the first of each epoch")
	HookCreate    = Hook.counter("hook_create_s", Seconds, "time in iter(): making an epoch's iterator, which starts "+
		"workers")
	HookDrain = Hook.counter("hook_drain_s", Seconds, "time in the __next__ that ends an epoch, which ends workers "+
		"that do not persist")
	HookTaken = Hook.counter("hook_taken", Count, "steps of this loop, chosen by chance, of which the CPU time in "+
		"__next__ is told; none is an epoch's first")
	HookTakenCPU = Hook.counter("hook_taken_cpu_s", Seconds, "CPU time of the thread that takes batches, in these")
	HookDrawn    = Hook.counter("hook_drawn", Count, "of these, steps whose sampler was timed")
	HookDraw     = Hook.counter("hook_draw_s", Seconds, "time that it took for the indices of a batch, in these")
	HookStepTime = Hook.counter("hook_step_time_s", Seconds, "time from one __next__ to the next of the same epoch, "+
		"its wait included, epochs of other loaders within a step left out")
	HookNested = Hook.counter("hook_nested_s", Seconds, "epochs of other loaders within the steps of this one: an "+
		"evaluation in the middle of an epoch")
	HookLoaders = Hook.counter("hook_loaders", Count, "DataLoaders that the loop stands for: in a job that makes "+
		"hundreds, later ones made at one line and with the same settings are one loop")
	HookBegun      = Hook.counter("hook_epochs_begun", Count, "iterators made")
	HookEpochs     = Hook.counter("hook_epochs", Count, "epochs run to their end")
	HookBatchSize  = Hook.gauge("hook_batch_bytes", Bytes, "bytes of the tensors of a batch, the last one measured")
	HookAllTensors = Hook.gauge("hook_batch_all_tensors", Count, "tensors of this batch, of the first 512 objects in "+
		"it")
	HookTensors = Hook.gauge("hook_batch_tensors", Count, "tensors of this batch in lists of one entry a sample, of "+
		"the first 512 objects in it")
	HookFloat32 = Hook.gauge("hook_batch_float32_bytes", Bytes, "bytes of its tensors of float32 with three axes or "+
		"more, as pictures have")
	HookFloat64 = Hook.gauge("hook_batch_float64_bytes", Bytes, "bytes of its tensors of float64")

	HookSyncs = Hook.counter("hook_syncs", Count, "calls of the trainer that wait for the GPU: synchronize of "+
		"torch.cuda, of a stream or an event; with --sync-points item, cpu and the like of a CUDA tensor")
	HookSyncTime    = Hook.counter("hook_sync_s", Seconds, "time in these calls")
	HookDeviceSteps = Hook.counter("hook_device_steps", Count, "steps timed with CUDA events")
	HookDeviceTime  = Hook.counter("hook_device_s", Seconds, "time of these steps on the device's own clock, from the "+
		"batch's arrival to the last work queued")
	HookDeviceStarved = Hook.counter("hook_device_starved_s", Seconds, "time of the device's own clock between the "+
		"end of these steps and the arrival of the next batch")
	HookDeviceWaited = Hook.counter("hook_device_waited_s", Seconds, "time in which the trainer waited for that "+
		"batch, behind work that the device still had to do as well")

	HookFetches   = Hook.counter("hook_fetches", Count, "batches made, by the workers or, without any, by the trainer")
	HookItems     = Hook.counter("hook_items", Count, "items read for them")
	HookFetchTime = Hook.counter("hook_fetch_s", Seconds, "time to make these batches: items and collate")
	HookFetchCPU  = Hook.counter("hook_fetch_cpu_s", Seconds, "CPU time of the thread that made them")
	HookItemTime  = Hook.counter("hook_item_s", Seconds, "of this, time in the dataset's __getitem__, __getitems__ or "+
		"iterator")
	HookCollate  = Hook.counter("hook_collate_s", Seconds, "of this, time in collate_fn")
	HookOpens    = Hook.counter("hook_opens", Count, "h5py.File opened while items were made")
	HookOpenTime = Hook.counter("hook_open_s", Seconds, "time in these opens, in what is resolved by name after "+
		"them, and in their closes")
	HookReads    = Hook.counter("hook_reads", Count, "reads of h5py datasets while items were made")
	HookReadTime = Hook.counter("hook_read_s", Seconds, "time in these reads, decompression included")
	HookDecodes  = Hook.counter("hook_decodes", Count, "pictures decoded by Pillow or OpenCV while items were "+
		"made")
	HookDecodeTime    = Hook.counter("hook_decode_s", Seconds, "time in them, reading the file and converting included")
	HookDecodedValues = Hook.counter("hook_decoded_values", Count, "values of these pictures as they were decoded: "+
		"width times height times bands")
	HookResize = Hook.counter("hook_resize_s", Seconds, "time to resize pictures with Pillow, those of at least "+
		"half of the pixels that were decoded last, while items were made")
	HookRows = Hook.counter("hook_rows", Count, "rows of Hugging Face's datasets read one by one while items were "+
		"made")
	HookRowTime = Hook.counter("hook_row_s", Seconds, "time in these reads, without the pictures decoded in them")
	HookArchive = Hook.counter("hook_archive_s", Seconds, "time to open tar and zip archives and list what they hold, "+
		"and to read NumPy's, PyTorch's and Parquet files and Zarr arrays, while items were made")

	// Entity "spread/<trainer pid>.<start>.<n>/<k>": k-th class of durations, from 10^(k/20) to 10^((k+1)/20)
	// microseconds, about 12 % wide.
	HookFetchSpread = Hook.counter("hook_fetch_spread", Count, "batches whose making took a time of this class")
	HookWaitSpread  = Hook.counter("hook_wait_spread", Count, "steps, of those that chance chose, whose wait was of "+
		"this class, the first of each epoch left out")

	// Entity "site/<trainer pid>.<start>.<n>/<k>": a line of the person's source, named by recording.EventSite.
	HookSiteCalls = Hook.counter("hook_site_calls", Count, "calls made from this line")
	HookSiteTime  = Hook.counter("hook_site_s", Seconds, "time in these calls")
)
