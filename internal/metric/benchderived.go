package metric

// Derived signals of bench-io: what package evidence computes from the measurements of a report, and what the measured
// half of a rule reads. Times are of one worker process. An item's time includes opening where a file is one item, and
// decoding where items are encoded.
var (
	BenchItem        = Desc{"bench_item_s", Seconds, Gauge, "time per item, warm, in random order"}
	BenchColdItem    = Desc{"bench_cold_item_s", Seconds, Gauge, "time per item, cold, in random order"}
	BenchColdOrdered = Desc{"bench_cold_ordered_item_s", Seconds, Gauge, "time per item, cold, in sequence"}
	BenchRead        = Desc{"bench_read_s", Seconds, Gauge, "time per item without decoding, warm, in random order"}
	BenchOpen        = Desc{"bench_open_s", Seconds, Gauge, "time to open and close one file, warm"}
	BenchColdOpen    = Desc{"bench_cold_open_s", Seconds, Gauge, "time to open and close one file, cold"}
	BenchReopened    = Desc{"bench_reopened_item_s", Seconds, Gauge,
		"time per item when its file is reopened for each, warm, in random order"}
	BenchLock   = Desc{"bench_lock_s", Seconds, Gauge, "what HDF5's file lock adds to opening a file"}
	BenchDecode = Desc{"bench_decode_s", Seconds, Gauge, "time to decode one item that is in memory, by " +
		"pipetune's decoder"}
	BenchPython = Desc{"bench_python_item_s", Seconds, Gauge, "time per item in the user's own Python"}
	BenchFilter = Desc{"bench_filter_s", Seconds, Gauge, "time per warm item in HDF5 filters, in random order: " +
		"their share of its CPU time, of its time"}
	BenchFilterRatio = Desc{"bench_filter_ratio", Ratio, Gauge, "share of a warm item's time in HDF5 filters"}
	BenchOpenRatio   = Desc{"bench_open_ratio", Ratio, Gauge, "share of a warm item's time in opening and closing " +
		"its file, where a file is one item"}
	BenchDecodeRatio = Desc{"bench_decode_ratio", Ratio, Gauge, "share of a warm item's time in decoding"}
	BenchStorage     = Desc{"bench_storage_ratio", Ratio, Gauge,
		"share of a cold item's time that a warm one does not take"}
)

// What is read for an item, and of which dataset.
var (
	BenchItemBytes = Desc{"bench_item_bytes", Bytes, Gauge, "bytes delivered per item"}
	BenchAmplify   = Desc{"bench_storage_amplification", Count, Gauge,
		"bytes fetched from storage per byte delivered, cold, in random order"}
	BenchPerFile = Desc{"bench_items_per_file", Count, Gauge, "items in a file, on average"}
	BenchFolder  = Desc{"bench_largest_folder_files", Count, Gauge, "files of the fullest folder"}
	BenchMemory  = Desc{"bench_memory_ratio", Count, Gauge, "dataset over the memory it could have: the smaller of " +
		"available memory and the cgroup's limit; above 1 it does not fit"}
)

// A sweep of HDF5 chunk-cache sizes, each against the library's default.
var (
	BenchCacheSize = Desc{"bench_chunk_cache_bytes", Bytes, Gauge,
		"smallest chunk cache that is within a tenth of the best, in random order"}
	BenchCacheGain = Desc{"bench_chunk_cache_gain_ratio", Ratio, Gauge,
		"share of an item's time that this chunk cache saves, in random order; below 0 where it costs"}
	BenchCacheOrdered = Desc{"bench_chunk_cache_ordered_bytes", Bytes, Gauge,
		"smallest chunk cache that is within a tenth of the best, in sequence"}
	BenchCacheOrderedGain = Desc{"bench_chunk_cache_ordered_gain_ratio", Ratio, Gauge,
		"share of an item's time that this chunk cache saves, in sequence; below 0 where it costs"}
)

// Several worker processes, the device, and what else was tried.
var (
	BenchWorkers = Desc{"bench_scaling_workers", Count, Gauge, "worker processes that the efficiency is of: the " +
		"most that were measured within the usable CPUs"}
	BenchEfficiency = Desc{"bench_efficiency_ratio", Ratio, Gauge,
		"items per second of those workers over as many times one worker's; may exceed 1"}
	BenchSerialReads = Desc{"bench_device_serial_reads_per_s", PerSecond, Gauge,
		"direct random reads of an item's size per second, one after another"}
	BenchDeviceReads = Desc{"bench_device_reads_per_s", PerSecond, Gauge,
		"direct random reads of an item's size per second, at the best queue depth"}
	BenchDeviceBytes = Desc{"bench_device_bytes_per_s", BytesPerS, Gauge,
		"bytes per second by direct reads, the best that was measured"}
	BenchLatency = Desc{"bench_device_latency_s", Seconds, Gauge,
		"time of a direct random read of an item's size with no other in flight"}
	BenchDeviceRatio = Desc{"bench_device_ratio", Ratio, Gauge, "share of the device's best rate that cold reads of " +
		"one worker reach; may exceed 1 where the kernel reads ahead"}
	BenchTryGain = Desc{"bench_candidate_gain_ratio", Ratio, Gauge,
		"share of an item's time that the best candidate of --try saves, warm, in random order; below 0 where all cost"}
	BenchTierGain = Desc{"bench_other_tier_gain_ratio", Ratio, Gauge,
		"share of an item's time that the other storage saves, cold unless it is memory; below 0 where it costs"}
)

// BenchDerived lists the derived signals of bench-io.
var BenchDerived = []Desc{
	BenchItem, BenchColdItem, BenchColdOrdered, BenchRead, BenchOpen, BenchColdOpen, BenchReopened, BenchLock,
	BenchDecode, BenchPython, BenchFilter, BenchFilterRatio, BenchOpenRatio, BenchDecodeRatio, BenchStorage,
	BenchItemBytes, BenchAmplify, BenchPerFile, BenchFolder, BenchMemory,
	BenchCacheSize, BenchCacheGain, BenchCacheOrdered, BenchCacheOrderedGain,
	BenchWorkers, BenchEfficiency, BenchSerialReads, BenchDeviceReads, BenchDeviceBytes, BenchLatency, BenchDeviceRatio,
	BenchTryGain, BenchTierGain,
}
