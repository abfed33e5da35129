package metric

// What the hook reports from inside a launched job. Entity "loop/<trainer pid>.<start>.<n>" is the n-th DataLoader its
// trainer iterates over, together with that loader's workers; n counts from 0 in the order of construction, and in a
// job that makes hundreds later ones share a number. The counters are running totals since the job began, as the hook's
// clock (CLOCK_MONOTONIC) reported them: a lost message costs resolution in time, never an amount.
var (
	HookClock = Desc{"hook_clock_s", Seconds, Counter, "moment of CLOCK_MONOTONIC up to which the totals of a " +
		"trainer's loops are reported; entity process/… of the trainer"}
	HookLost = Desc{"hook_lost_messages", Count, Counter, "messages the hook could not send because nobody took them " +
		"in time; entity process/… of the trainer, its workers included"}

	HookSteps     = Desc{"hook_steps", Count, Counter, "batches the trainer took"}
	HookGradSteps = Desc{"hook_grad_steps", Count, Counter, "of these, batches asked for while gradients were " +
		"enabled: training, not evaluation"}
	HookOffMain = Desc{"hook_aside_steps", Count, Counter, "of these, batches taken by another thread than the " +
		"main one: a prefetcher's wait is not the step's"}
	HookSamples = Desc{"hook_samples", Count, Counter, "samples in these batches, from the size of the first axis; " +
		"of steps below 20 ms only some are inspected"}
	HookWait = Desc{"hook_wait_s", Seconds, Counter, "time in __next__ of the steps, the first of each epoch " +
		"included, the one that ends it not"}
	HookFirstWait = Desc{"hook_first_wait_s", Seconds, Counter, "of this, the first of each epoch"}
	HookCreate    = Desc{"hook_create_s", Seconds, Counter, "time in iter(): making an epoch's iterator, which " +
		"starts workers"}
	HookDrain = Desc{"hook_drain_s", Seconds, Counter, "time in the __next__ that ends an epoch, which ends " +
		"workers that do not persist"}
	HookTaken = Desc{"hook_taken", Count, Counter, "steps of this loop, chosen by chance, of which the CPU time in " +
		"__next__ is told; none is an epoch's first"}
	HookTakenCPU = Desc{"hook_taken_cpu_s", Seconds, Counter, "CPU time of the thread that takes batches, in these"}
	HookStepTime = Desc{"hook_step_time_s", Seconds, Counter, "time from one __next__ to the next of the same " +
		"epoch, its wait included, epochs of other loaders within a step left out"}
	HookNested = Desc{"hook_nested_s", Seconds, Counter, "epochs of other loaders within the steps of this one: " +
		"an evaluation in the middle of an epoch"}
	HookLoaders = Desc{"hook_loaders", Count, Counter, "DataLoaders that the loop stands for: in a job that makes " +
		"hundreds, later ones made at one line and with the same settings are one loop"}
	HookBegun      = Desc{"hook_epochs_begun", Count, Counter, "iterators made"}
	HookEpochs     = Desc{"hook_epochs", Count, Counter, "epochs run to their end"}
	HookBatchSize  = Desc{"hook_batch_bytes", Bytes, Gauge, "bytes of the tensors of a batch, the last one measured"}
	HookAllTensors = Desc{"hook_batch_all_tensors", Count, Gauge, "tensors of this batch, of the first 512 objects " +
		"in it"}
	HookTensors = Desc{"hook_batch_tensors", Count, Gauge, "tensors of this batch in lists of one entry a sample, " +
		"of the first 512 objects in it"}
	HookFloat32 = Desc{"hook_batch_float32_bytes", Bytes, Gauge, "bytes of its tensors of float32 with three axes or " +
		"more, as pictures have"}
	HookFloat64 = Desc{"hook_batch_float64_bytes", Bytes, Gauge, "bytes of its tensors of float64"}

	HookSyncs = Desc{"hook_syncs", Count, Counter, "calls of the trainer that wait for the GPU: synchronize " +
		"of torch.cuda, of a stream or an event; with --sync-points item, cpu and the like of a CUDA tensor"}
	HookSyncTime    = Desc{"hook_sync_s", Seconds, Counter, "time in these calls"}
	HookDeviceSteps = Desc{"hook_device_steps", Count, Counter, "steps timed with CUDA events"}
	HookDeviceTime  = Desc{"hook_device_s", Seconds, Counter, "time of these steps on the device's own clock, from " +
		"the batch's arrival to the last work queued"}
	HookDeviceStarved = Desc{"hook_device_starved_s", Seconds, Counter,
		"time of the device's own clock between the end of these steps and the arrival of the next batch"}
	HookDeviceWaited = Desc{"hook_device_waited_s", Seconds, Counter,
		"time in which the trainer waited for that batch, behind work that the device still had to do as well"}

	HookFetches   = Desc{"hook_fetches", Count, Counter, "batches made, by the workers or, without any, by the trainer"}
	HookItems     = Desc{"hook_items", Count, Counter, "items read for them"}
	HookFetchTime = Desc{"hook_fetch_s", Seconds, Counter, "time to make these batches: items and collate"}
	HookFetchCPU  = Desc{"hook_fetch_cpu_s", Seconds, Counter, "CPU time of the thread that made them"}
	HookItemTime  = Desc{"hook_item_s", Seconds, Counter, "of this, time in the dataset's __getitem__, " +
		"__getitems__ or iterator"}
	HookCollate  = Desc{"hook_collate_s", Seconds, Counter, "of this, time in collate_fn"}
	HookOpens    = Desc{"hook_opens", Count, Counter, "h5py.File opened while items were made"}
	HookOpenTime = Desc{"hook_open_s", Seconds, Counter, "time in these opens, in what is resolved by name " +
		"after them, and in their closes"}
	HookReads    = Desc{"hook_reads", Count, Counter, "reads of h5py datasets while items were made"}
	HookReadTime = Desc{"hook_read_s", Seconds, Counter, "time in these reads, decompression included"}
	HookDecodes  = Desc{"hook_decodes", Count, Counter,
		"pictures decoded by Pillow or OpenCV while items were made"}
	HookDecodeTime    = Desc{"hook_decode_s", Seconds, Counter, "time in them, reading the file included"}
	HookDecodedValues = Desc{"hook_decoded_values", Count, Counter,
		"values of these pictures as they were decoded: width times height times bands"}
	HookRows = Desc{"hook_rows", Count, Counter, "rows of Hugging Face's datasets read one by one while items " +
		"were made"}
	HookRowTime = Desc{"hook_row_s", Seconds, Counter, "time in these reads, without the pictures decoded in them"}

	// Entity "spread/<trainer pid>.<start>.<n>/<k>": k-th class of durations, from 10^(k/20) to 10^((k+1)/20)
	// microseconds, about 12 % wide.
	HookFetchSpread = Desc{"hook_fetch_spread", Count, Counter, "batches whose making took a time of this class"}
	HookWaitSpread  = Desc{"hook_wait_spread", Count, Counter, "steps whose wait was of this class, the first of " +
		"each epoch left out"}

	// Entity "site/<trainer pid>.<start>.<n>/<k>": a line of the person's source, named by recording.EventSite.
	HookSiteCalls = Desc{"hook_site_calls", Count, Counter, "calls made from this line"}
	HookSiteTime  = Desc{"hook_site_s", Seconds, Counter, "time in these calls"}
)

// Hook lists the signals of the hook.
var Hook = []Desc{HookClock, HookLost, HookSteps, HookGradSteps, HookOffMain, HookSamples, HookWait, HookFirstWait,
	HookCreate, HookDrain, HookTaken, HookTakenCPU, HookStepTime, HookNested, HookLoaders, HookBegun, HookEpochs,
	HookBatchSize, HookAllTensors, HookTensors, HookFloat32, HookFloat64, HookSyncs, HookSyncTime, HookDeviceSteps,
	HookDeviceTime, HookDeviceStarved,
	HookDeviceWaited, HookFetches, HookItems, HookFetchTime, HookFetchCPU, HookItemTime, HookCollate, HookOpens,
	HookOpenTime, HookReads, HookReadTime, HookDecodes, HookDecodeTime, HookDecodedValues, HookRows, HookRowTime,
	HookFetchSpread, HookWaitSpread, HookSiteCalls, HookSiteTime}
