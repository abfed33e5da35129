// Package benchmark holds what the probes of bench-io measured: a typed struct for each kind of result.
//
// It promises that a figure which was not measured is absent, a stat.Summary whose N is 0, and never zero, and that
// Rows.Measurements writes every figure that is there. It judges nothing and derives nothing.
package benchmark

import "github.com/pipetune/pipetune/internal/stat"

// Rows is everything that was measured, in the order probes run. The field's tag names the probe; the tags of a
// row's fields name the label or the metric of pkg/report that the field is written as; a figure bears the labels
// declared before it. An int64 label is always written, a string where it is not "", a pointer where it is not
// nil.
type Rows struct {
	Opens   []Open      `probe:"open"`    // of any file of the dataset, in the way its library opens it by default here
	Reads   []Read      `probe:"read"`    // one item at a time; a file of many items stays open
	Devices []Device    `probe:"device"`  // blocks of files, past the page cache where that is possible
	Filters []Filter    `probe:"hdf5"`    // at most one
	Handles []Read      `probe:"hdf5"`    // random reads with the file kept open, and opened for each item
	Locks   []Open      `probe:"hdf5"`    // warm, with the library's file lock and without
	Caches  []CacheSize `probe:"hdf5"`    // warm reads, each with a chunk cache of another size
	Decodes []Decode    `probe:"decode"`  // by pipetune's own decoders, one row a format, the most common first
	Scaling []Processes `probe:"scaling"` // one row for each number of processes
	Batches []Batch     `probe:"batch"`
	Python  []Library   `probe:"python"` // the person's own libraries
	Tried   []Candidate `probe:"try"`
	Tiers   []Tier      `probe:"tier"`
}

// Way says how items were read.
type Way struct {
	// Warm or Cold; "": neither was seen, such as of a sample that does not stay in memory
	Cache  string `label:"cache"`
	Order  string `label:"order"`  // Random or Sequential
	Handle string `label:"handle"` // Kept or Reopened; "" where a file is one item
}

// The values of Way.
const (
	Warm = "warm" // read just before, and no page came from storage since
	Cold = "cold" // dropped from the page cache, which was verified

	Random     = "random"     // shuffled
	Sequential = "sequential" // as the items lie in storage

	Kept     = "kept"     // the file stays open
	Reopened = "reopened" // it is opened for each item
)

// Open is what opening a file takes.
type Open struct {
	Cache string `label:"cache"` // Warm or Cold
	Mode  string `label:"mode"`  // Locked or Unlocked; "": not asked for either

	Time stat.Summary `metric:"open_time_s"`
}

// The values of Open.Mode.
const (
	Locked   = "locked" // with HDF5's file lock, as h5py opens by default
	Unlocked = "unlocked"
)

// Read is what reading items in one process gave.
type Read struct {
	Way
	Time          stat.Summary `metric:"item_time_s"`
	Rate          stat.Summary `metric:"items_per_s"`
	Slow          stat.Summary `metric:"item_p99_s"`
	CPU           stat.Summary `metric:"item_cpu_s"`
	Bytes         stat.Summary `metric:"item_bytes"`
	ByteRate      stat.Summary `metric:"bytes_per_s"`
	Stored        stat.Summary `metric:"item_storage_bytes"` // absent where the kernel did not count
	Amplification stat.Summary `metric:"read_amplification"` // likewise
	Cached        stat.Summary `metric:"cached_ratio"`       // before the reads; of a row without a Way, before any
}

// Device is what the storage gives to so many requests at once.
type Device struct {
	Depth int64  `label:"depth"`       // requests in flight
	Block int64  `label:"block_bytes"` // of one request
	Order string `label:"order"`       // Random or Sequential
	Mode  string `label:"mode"`        // Direct, Buffered or PageCache

	Reads stat.Summary `metric:"reads_per_s"`
	Bytes stat.Summary `metric:"bytes_per_s"`
	Time  stat.Summary `metric:"read_time_s"` // of one request
}

// The values of Device.Mode.
const (
	Direct    = "direct"
	Buffered  = "buffered"   // through the page cache, with the files' pages dropped first and that verified
	PageCache = "page-cache" // the storage cannot be distinguished from the page cache
)

// Filter is the CPU time that undoing HDF5 filters takes of an item.
type Filter struct {
	Order string `label:"order"` // Random

	Time stat.Summary `metric:"filter_time_s"`
}

// CacheSize is what reading takes with an HDF5 chunk cache of a size.
type CacheSize struct {
	Way
	Bytes int64 `label:"chunk_cache_bytes"` // of each open dataset; 0: no cache

	Time stat.Summary `metric:"item_time_s"`
}

// Decode is what decoding one picture that is in memory takes.
type Decode struct {
	Library string `label:"decoder"`
	Format  string `label:"format"` // "jpeg", "png", …

	Time stat.Summary `metric:"decode_time_s"`
}

// Processes is what so many processes that read, and decode, at the same time came to.
type Processes struct {
	Way
	Count int64 `label:"workers"`

	Efficiency stat.Summary `metric:"efficiency_ratio"` // Rate over that of one process times Count
	Cores      stat.Summary `metric:"cpu_cores"`

	Bound string       `label:"bound"`        // what bends the curve here: BoundNone and so on; "" unknown
	Rate  stat.Summary `metric:"items_per_s"` // of all together
}

// The values of Processes.Bound: what keeps more processes from reading more.
const (
	BoundNone   = "none"   // the step still pays
	BoundCPU    = "cpu"    // the processes ran, or were ready to run, nearly all the time
	BoundLock   = "lock"   // they waited for each other: in flock, or in the kernel with no storage being read
	BoundDevice = "device" // they waited for storage
)

// Batch is what gathering a whole batch in one process takes.
type Batch struct {
	Way
	Size   int64  `label:"batch_size"`
	Gather string `label:"gather"` // ByItem or BySelection

	Time stat.Summary `metric:"batch_time_s"`
	Item stat.Summary `metric:"item_time_s"` // Time over Size
}

// The values of Batch.Gather.
const (
	ByItem      = "items"     // one read for each item, as a Dataset's __getitem__ does
	BySelection = "selection" // one call for all items of a file, as a Dataset's __getitems__ can
)

// Library is what a library of the person's Python takes for an item: one of Item and Decode.
type Library struct {
	Name    string `label:"decoder"` // "pillow", "h5py", "torch collate", …; foreign text, sanitized
	Version string `label:"version"`
	Format  string `label:"format"` // of the pictures; "" for other items
	Way
	BatchSize *int64 `label:"batch_size"` // nil: no batches
	Workers   *int64 `label:"workers"`    // of a DataLoader; nil: there is none

	// reading and decoding it; what the library adds where it reads nothing
	Item   stat.Summary `metric:"item_time_s"`
	Decode stat.Summary `metric:"decode_time_s"` // decoding one that is in memory
}

// AsIs names the candidate written as the original is, which the others are held against: all on one medium.
const AsIs = "as-is"

// Candidate is another layout that a part of the sample was written in.
type Candidate struct {
	Name    string `label:"candidate"` // AsIs, "contiguous", "chunk-item", …
	Command string `label:"command"`   // makes it of the whole dataset; "" where no single one does

	Size stat.Summary `metric:"stored_ratio"` // bytes over those of the sample as it is
	Reads
}

// Reads are random reads of the same items, decoding included. Warm says of itself where it was not seen to be warm.
type Reads struct{ Warm, Cold Read }

// Take puts a reading in its place.
func (r *Reads) Take(x Read) {
	if x.Cache == Cold {
		r.Cold = x
		return
	}
	r.Warm = x
}

// Tier is the sample, or a copy of it, at one place, read as a Candidate is.
type Tier struct {
	Place string `label:"tier"` // Here or Elsewhere
	Reads
}

// The values of Tier.Place.
const (
	Here      = "here"
	Elsewhere = "other" // where --compare-path says
)
