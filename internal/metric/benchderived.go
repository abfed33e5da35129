package metric

// Derived signals of bench-io: what package evidence computes from the measurements of a report, and what the measured
// half of a rule reads. Times are of one worker process. An item's time includes opening where a file is one item, and
// decoding where items are encoded.
var (
	BenchItem        = BenchDerived.gauge("bench_item_s", Seconds, "time per item, warm, in random order")
	BenchColdItem    = BenchDerived.gauge("bench_cold_item_s", Seconds, "time per item, cold, in random order")
	BenchColdOrdered = BenchDerived.gauge("bench_cold_ordered_item_s", Seconds, "time per item, cold, in sequence")
	BenchRead        = BenchDerived.gauge("bench_read_s", Seconds, "time per item without decoding, warm, in random "+
		"order")
	BenchOpen     = BenchDerived.gauge("bench_open_s", Seconds, "time to open and close one file, warm")
	BenchColdOpen = BenchDerived.gauge("bench_cold_open_s", Seconds, "time to open and close one file, cold")
	BenchReopened = BenchDerived.gauge("bench_reopened_item_s", Seconds, "time per item when its file is reopened "+
		"for each, warm, in random order")
	BenchLock   = BenchDerived.gauge("bench_lock_s", Seconds, "what HDF5's file lock adds to opening a file")
	BenchDecode = BenchDerived.gauge("bench_decode_s", Seconds, "time to decode one item that is in memory, by "+
		"pipetune's decoder")
	BenchPython = BenchDerived.gauge("bench_python_item_s", Seconds, "time per item in the user's own Python")
	BenchFilter = BenchDerived.gauge("bench_filter_s", Seconds, "time per warm item in HDF5 filters, in random "+
		"order: their share of its CPU time, of its time")
	BenchFilterRatio = BenchDerived.gauge("bench_filter_ratio", Ratio, "share of a warm item's time in HDF5 filters")
	BenchOpenRatio   = BenchDerived.gauge("bench_open_ratio", Ratio, "share of a warm item's time in opening and "+
		"closing its file, where a file is one item")
	BenchDecodeRatio = BenchDerived.gauge("bench_decode_ratio", Ratio, "share of a warm item's time in decoding")
	BenchStorage     = BenchDerived.gauge("bench_storage_ratio", Ratio, "share of a cold item's time that a warm one "+
		"does not take")
)

// What is read for an item, and of which dataset.
var (
	BenchItemBytes = BenchDerived.gauge("bench_item_bytes", Bytes, "bytes delivered per item")
	BenchAmplify   = BenchDerived.gauge("bench_storage_amplification", Count, "bytes fetched from storage per byte "+
		"delivered, cold, in random order")
	BenchPerFile = BenchDerived.gauge("bench_items_per_file", Count, "items in a file, on average")
	BenchFolder  = BenchDerived.gauge("bench_largest_folder_files", Count, "files of the fullest folder")
	BenchMemory  = BenchDerived.gauge("bench_memory_ratio", Count, "dataset over the memory it could have: the "+
		"smaller of available memory and the cgroup's limit; above 1 it does not fit")
)

// A sweep of HDF5 chunk-cache sizes, each against the library's default.
var (
	BenchCacheSize = BenchDerived.gauge("bench_chunk_cache_bytes", Bytes, "smallest chunk cache that is within a "+
		"tenth of the best, in random order")
	BenchCacheGain = BenchDerived.gauge("bench_chunk_cache_gain_ratio", Ratio, "share of an item's time that this "+
		"chunk cache saves, in random order; below 0 where it costs")
	BenchCacheOrdered = BenchDerived.gauge("bench_chunk_cache_ordered_bytes", Bytes, "smallest chunk cache that is "+
		"within a tenth of the best, in sequence")
	BenchCacheOrderedGain = BenchDerived.gauge("bench_chunk_cache_ordered_gain_ratio", Ratio, "share of an item's "+
		"time that this chunk cache saves, in sequence; below 0 where it costs")
)

// Several worker processes, the device, and what else was tried.
var (
	BenchWorkers = BenchDerived.gauge("bench_scaling_workers", Count, "worker processes that the efficiency is of: "+
		"the most that were measured within the usable CPUs")
	BenchEfficiency = BenchDerived.gauge("bench_efficiency_ratio", Ratio, "items per second of those workers over as "+
		"many times one worker's; may exceed 1")
	BenchSerialReads = BenchDerived.gauge("bench_device_serial_reads_per_s", PerSecond, "direct random reads of an "+
		"item's size per second, one after another")
	BenchDeviceReads = BenchDerived.gauge("bench_device_reads_per_s", PerSecond, "direct random reads of an item's "+
		"size per second, at the best queue depth")
	BenchDeviceBytes = BenchDerived.gauge("bench_device_bytes_per_s", BytesPerS, "bytes per second by direct reads, "+
		"the best that was measured")
	BenchLatency = BenchDerived.gauge("bench_device_latency_s", Seconds, "time of a direct random read of an item's "+
		"size with no other in flight")
	BenchDeviceRatio = BenchDerived.gauge("bench_device_ratio", Ratio, "share of the device's best rate that cold "+
		"reads of one worker reach; may exceed 1 where the kernel reads ahead")
	BenchTryGain = BenchDerived.gauge("bench_candidate_gain_ratio", Ratio, "share of an item's time that the best "+
		"candidate of --try saves, warm, in random order; below 0 where all cost")
	BenchTierGain = BenchDerived.gauge("bench_other_tier_gain_ratio", Ratio, "share of an item's time that the other "+
		"storage saves, cold unless it is memory; below 0 where it costs")
)
