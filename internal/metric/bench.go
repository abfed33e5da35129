package metric

// What the probes of bench-io measure. A measurement carries labels beside its name (pkg/report): which cache state,
// order, decoder, …
var (
	ItemTime = Desc{"item_time_s", Seconds, Gauge, "wall time per item, decoding included unless the probe is " +
		"read"}
	ItemSlow    = Desc{"item_p99_s", Seconds, Gauge, "wall time that 99 of 100 items stay below"}
	ItemRate    = Desc{"items_per_s", PerSecond, Gauge, "items per second, all processes together"}
	ItemCPU     = Desc{"item_cpu_s", Seconds, Gauge, "CPU time per item, user and system"}
	ItemBytes   = Desc{"item_bytes", Bytes, Gauge, "bytes delivered per item"}
	ItemStorage = Desc{"item_storage_bytes", Bytes, Gauge, "bytes fetched from storage per item (/proc/self/io " +
		"read_bytes)"}
	ByteRate      = Desc{"bytes_per_s", BytesPerS, Gauge, "bytes delivered per second"}
	Amplification = Desc{"read_amplification", Count, Gauge, "bytes read per byte delivered, compression included: " +
		"below 1 where stored data is compressed; through system calls warm, from storage cold"}
	OpenTime = Desc{"open_time_s", Seconds, Gauge, "open, read the metadata, close: per file, in a process that " +
		"holds no handle of it"}
	DecodeTime = Desc{"decode_time_s", Seconds, Gauge, "wall time of decoding one item that is in memory already"}
	FilterTime = Desc{"filter_time_s", Seconds, Gauge, "CPU time per item in HDF5 filters: reading it less reading " +
		"the same chunks raw"}
	Efficiency = Desc{"efficiency_ratio", Ratio, Gauge, "items per second over those of one process times the " +
		"processes; may exceed 1"}
	CPUCores  = Desc{"cpu_cores", Cores, Gauge, "cores' worth of CPU time the reading processes used"}
	ReadRate  = Desc{"reads_per_s", PerSecond, Gauge, "completed read requests per second"}
	ReadTime  = Desc{"read_time_s", Seconds, Gauge, "wall time of one read request"}
	BatchTime = Desc{"batch_time_s", Seconds, Gauge, "wall time to gather one batch in one process, decoding " +
		"included"}
	CachedRatio = Desc{"cached_ratio", Ratio, Gauge, "share of the sampled files' pages found in the page cache " +
		"before the reads began"}
	StoredRatio = Desc{"stored_ratio", Count, Gauge, "bytes the candidate occupies over the bytes the original " +
		"sample occupies"}
)

// Bench lists what probes measure.
var Bench = []Desc{ItemTime, ItemSlow, ItemRate, ItemCPU, ItemBytes, ItemStorage, ByteRate, Amplification, OpenTime,
	DecodeTime, FilterTime, Efficiency, CPUCores, ReadRate, ReadTime, BatchTime, CachedRatio, StoredRatio}
