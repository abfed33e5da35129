package metric

// One trainer and its loader, seen together. Entity "loader/<trainer pid>.<start>". The joint counters count samples in
// which all of its threads were sampled within the same few hundred microseconds. Those of a trainer without workers
// and all that may feed it are under "feeders/<trainer pid>.<start>": who waits for work, to hand over, or for a lock
// is idle there, and the trainer waits for a batch where its main thread does the same while another is at work.
var (
	LoaderWorkers = Desc{"loader_workers", Count, Gauge, "loader workers alive, without those of a second loader " +
		"that were idle for 10 s while others handed over batches"}
	LoaderSamples = Desc{"loader_looks", Count, Counter, "paired samples taken with at least one worker alive"}
	LoaderWaiting = Desc{"loader_looks_waiting", Count, Counter,
		"paired samples in which the trainer waited for a batch"}
	LoaderIdleSum = Desc{"loader_looks_idle_sum", Count, Counter,
		"workers found waiting for work, summed over paired samples"}
	LoaderAliveSum = Desc{"loader_looks_alive_sum", Count, Counter, "workers alive, summed over paired samples"}
	LoaderWaitIdle = Desc{"loader_looks_waiting_idle_sum", Count, Counter,
		"workers found waiting for work, summed over paired samples in which the trainer waited"}
	LoaderWaitAlive = Desc{"loader_looks_waiting_alive_sum", Count, Counter,
		"workers alive, summed over paired samples in which the trainer waited"}
	LoaderBlocked = Desc{"loader_looks_head_of_line", Count, Counter,
		"paired samples in which the trainer waited while some workers were idle and others busy: finished batches " +
			"wait behind a slow one"}
	LoaderAhead = Desc{"loader_looks_ahead", Count, Counter, "paired samples in which the trainer did not wait and " +
		"all workers were idle: the loader is ahead"}
	LoaderNoWorkers = Desc{"loader_looks_restarting", Count, Counter,
		"samples in which a trainer that has had workers had none: between the old workers and the new"}
	LoaderTensors = Desc{"loader_tensors", Count, Counter, "tensors handed over by workers through shared memory, " +
		"from the running number in the names of their shared-memory files"}
	LoaderQueued = Desc{"loader_queued_tensors", Count, Gauge, "shared-memory tensors held by workers now: " +
		"finished or being finished, not yet received"}
	LoaderBatches = Desc{"loader_batches", Count, Counter, "batches handed over by workers: tensors over tensors " +
		"per batch, or, where batches are pickled through a pipe, from the writes each one takes; absent until the " +
		"tensors per batch are known"}
	LoaderTensorsPer = Desc{"loader_tensors_per_batch", Count, Gauge,
		"tensors per batch, from the repeating pattern of sizes"}
	LoaderNamed = Desc{"loader_tensors_named", Count, Gauge, "1 where shared-memory tensors keep their names, as " +
		"with the sharing strategy file_system; 0 where only descriptors hold them, as with file_descriptor"}
	LoaderBirths = Desc{"loader_worker_births", Count, Counter,
		"workers that were there or were born since the watch began; goes on where events of processes stop at their " +
			"bound"}
	LoaderBatchBytes = Desc{"loader_batch_bytes", Bytes, Gauge, "bytes per batch, median of the batches seen"}
)

// Loader lists the signals of the loader sampler.
var Loader = []Desc{LoaderWorkers, LoaderSamples, LoaderWaiting, LoaderIdleSum, LoaderAliveSum, LoaderWaitIdle,
	LoaderWaitAlive, LoaderBlocked, LoaderAhead, LoaderNoWorkers, LoaderTensors, LoaderBatches, LoaderQueued,
	LoaderTensorsPer, LoaderNamed, LoaderBatchBytes, LoaderBirths}

// Dataset files the job has open. Entity "dataset/<n>" is a folder or file named by recording.EventDataset.
var (
	DatasetOpens   = Desc{"dataset_opens", Count, Counter, "opens of files in the dataset (inotify), by any process"}
	DatasetFiles   = Desc{"dataset_open_files", Count, Gauge, "distinct dataset files open in the job now"}
	DatasetPresent = Desc{"dataset_handle_looks_present", Count, Counter,
		"listings of a worker's descriptors that found a dataset file open"}
	DatasetListings = Desc{"dataset_handle_looks", Count, Counter, "listings of a worker's descriptors"}
	DatasetDistinct = Desc{"dataset_distinct_files", Count, Counter,
		"distinct files opened since the start (bounded set; stops growing at its bound)"}
)

// Files lists the signals of the files sampler.
var Files = []Desc{DatasetOpens, DatasetFiles, DatasetPresent, DatasetListings, DatasetDistinct}
