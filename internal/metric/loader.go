package metric

// One trainer and its loader, seen together. Entity "loader/<trainer pid>.<start>", and ".1" and so on behind that of
// its other loaders, where it has several. The joint counters count samples in
// which all of its threads were sampled within the same few hundred microseconds. Those of a trainer without workers
// and all that may feed it are under "feeders/<trainer pid>.<start>": who waits for work, to hand over, or for a lock
// is idle there, and the trainer waits for a batch where its main thread does the same while another is at work.
var (
	LoaderWorkers = Loader.gauge("loader_workers", Count, "loader workers alive")
	LoaderSamples = Loader.counter("loader_looks", Count, "paired samples taken with at least one worker alive")
	LoaderWaiting = Loader.counter("loader_looks_waiting", Count, "paired samples in which the trainer waited for a "+
		"batch, of whatever loader")
	LoaderWaitsHere = Loader.counter("loader_looks_waiting_here", Count, "of these, those in which it was seen to "+
		"wait for the results of this one of several loaders")
	LoaderIdleSum = Loader.counter("loader_looks_idle_sum", Count, "workers found waiting for work, summed over "+
		"paired samples")
	LoaderAliveSum = Loader.counter("loader_looks_alive_sum", Count, "workers alive, summed over paired samples")
	LoaderWaitIdle = Loader.counter("loader_looks_waiting_idle_sum", Count, "workers found waiting for work, summed "+
		"over paired samples in which the trainer waited")
	LoaderWaitAlive = Loader.counter("loader_looks_waiting_alive_sum", Count, "workers alive, summed over paired "+
		"samples in which the trainer waited")
	LoaderBlocked = Loader.counter("loader_looks_head_of_line", Count, "paired samples in which the trainer waited "+
		"while some workers were idle and others busy: finished batches wait behind a slow one")
	LoaderAhead = Loader.counter("loader_looks_ahead", Count, "paired samples in which the trainer did not wait and "+
		"all workers were idle: the loader is ahead")
	LoaderNoWorkers = Loader.counter("loader_looks_restarting", Count, "samples in which a trainer that has had "+
		"workers had none: between the old workers and the new")
	LoaderTensors = Loader.counter("loader_tensors", Count, "tensors handed over by workers through shared memory, "+
		"from the running number in the names of their shared-memory files")
	LoaderQueued = Loader.gauge("loader_queued_tensors", Count, "shared-memory tensors held by workers now: finished "+
		"or being finished, not yet received")
	LoaderBatches = Loader.counter("loader_batches", Count, "batches handed over by workers: tensors over tensors "+
		"per batch, or, where batches are pickled through a pipe, from the writes each one takes; absent until the "+
		"tensors per batch are known")
	LoaderTensorsPer = Loader.gauge("loader_tensors_per_batch", Count, "tensors per batch, from the repeating "+
		"pattern of sizes")
	LoaderNamed = Loader.gauge("loader_tensors_named", Count, "1 where shared-memory tensors keep their names, as "+
		"with the sharing strategy file_system; 0 where only descriptors hold them, as with file_descriptor")
	LoaderBirths = Loader.counter("loader_worker_births", Count, "workers that were there or were born since the "+
		"watch began; goes on where events of processes stop at their bound")
	LoaderBatchBytes = Loader.gauge("loader_batch_bytes", Bytes, "bytes per batch, median of the batches seen")
)

// Dataset files the job has open. Entity "dataset/<n>" is a folder or file named by recording.EventDataset.
var (
	DatasetOpens   = Files.counter("dataset_opens", Count, "opens of files in the dataset (inotify), by any process")
	DatasetFiles   = Files.gauge("dataset_open_files", Count, "distinct dataset files open in the job now")
	DatasetPresent = Files.counter("dataset_handle_looks_present", Count, "listings of a worker's descriptors that "+
		"found a dataset file open")
	DatasetListings = Files.counter("dataset_handle_looks", Count, "listings of a worker's descriptors")
	DatasetDistinct = Files.counter("dataset_distinct_files", Count, "distinct files opened since the start (bounded "+
		"set; stops growing at its bound)")
)
