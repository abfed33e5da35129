package metric

// What the probes of bench-io measure. A measurement carries labels beside its name (pkg/report): which cache state,
// order, decoder, …
var (
	ItemTime    = Bench.gauge("item_time_s", Seconds, "wall time per item, decoding included unless the probe is read")
	ItemSlow    = Bench.gauge("item_p99_s", Seconds, "wall time that 99 of 100 items stay below")
	ItemRate    = Bench.gauge("items_per_s", PerSecond, "items per second, all processes together")
	ItemCPU     = Bench.gauge("item_cpu_s", Seconds, "CPU time per item, user and system")
	ItemBytes   = Bench.gauge("item_bytes", Bytes, "bytes delivered per item")
	ItemStorage = Bench.gauge("item_storage_bytes", Bytes, "bytes fetched from storage per item (/proc/self/io "+
		"read_bytes)")
	ByteRate      = Bench.gauge("bytes_per_s", BytesPerS, "bytes delivered per second")
	Amplification = Bench.gauge("read_amplification", Count, "bytes read per byte delivered, compression included: "+
		"below 1 where stored data is compressed; through system calls warm, from storage cold")
	OpenTime = Bench.gauge("open_time_s", Seconds, "open, read the metadata, close: per file, in a process that "+
		"holds no handle of it")
	DecodeTime = Bench.gauge("decode_time_s", Seconds, "wall time of decoding one item that is in memory already")
	FilterTime = Bench.gauge("filter_time_s", Seconds, "CPU time per item in HDF5 filters: reading it less reading "+
		"the same chunks raw")
	Efficiency = Bench.gauge("efficiency_ratio", Ratio, "items per second over those of one process times the "+
		"processes; may exceed 1")
	CPUCores  = Bench.gauge("cpu_cores", Cores, "cores' worth of CPU time the reading processes used")
	ReadRate  = Bench.gauge("reads_per_s", PerSecond, "completed read requests per second")
	ReadTime  = Bench.gauge("read_time_s", Seconds, "wall time of one read request")
	BatchTime = Bench.gauge("batch_time_s", Seconds, "wall time to gather one batch in one process, decoding "+
		"included")
	CachedRatio = Bench.gauge("cached_ratio", Ratio, "share of the sampled files' pages found in the page cache "+
		"before the reads began")
	StoredRatio = Bench.gauge("stored_ratio", Count, "bytes the candidate occupies over the bytes the original "+
		"sample occupies")
)
