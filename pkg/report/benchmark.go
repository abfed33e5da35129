package report

import (
	"cmp"
	"maps"
	"slices"
)

// Benchmark is what bench-io measured, and on which part of the dataset.
type Benchmark struct {
	// the figure that counts, in a few words: "81 items/s in one worker, warm"
	Headline string `json:"headline,omitempty"`
	// one or two sentences: what an item's time goes to, and what is in the way
	Statement  string  `json:"statement,omitempty"`
	Path       string  `json:"path"`              // redacted
	Kind       string  `json:"kind"`              // "hdf5", "image", "npy", "tar" or "other"
	Format     string  `json:"format,omitempty"`  // more exactly: "jpeg", "png", …
	Dataset    string  `json:"dataset,omitempty"` // HDF5: its path in the file
	Layout     *Layout `json:"layout,omitempty"`  // HDF5
	Digest     string  `json:"digest,omitempty"`  // HDF5, one file: as Job.Items; since 1.5.0
	Files      int64   `json:"files"`             // files of the dataset
	FilesExact bool    `json:"files_exact"`       // false: a lower bound, the walk was cut off
	Bytes      int64   `json:"bytes"`             // their size on storage
	Items      *int64  `json:"items"`             // null: not counted
	ItemBytes  *int64  `json:"item_bytes"`        // one item as it is delivered; null: differs from item to item
	// what an item is where it is no sample: "row", "number", "block"; since 1.6.0
	ItemNoun    string   `json:"item_noun,omitempty"`
	ItemNote    string   `json:"item_note,omitempty"`  // why it is none; since 1.6.0
	LargestDir  int64    `json:"largest_folder_files"` // files of the fullest folder
	Sample      Sample   `json:"sample"`
	Storage     *Storage `json:"storage"` // where it lies; null: not known
	Cold        Cold     `json:"cold"`
	BudgetS     float64  `json:"budget_s"`              // that was given
	UsedS       float64  `json:"used_s"`                // of it
	Interrupted bool     `json:"interrupted,omitempty"` // by a signal: what was measured until then
	Unread      []Unread `json:"unread,omitempty"`      // files that could not be read, gathered by reason
	// files the dataset names outside of itself; not followed unless asked
	Outside     []string `json:"outside,omitempty"`
	Interpreter string   `json:"interpreter,omitempty"` // Python whose libraries were timed
	Libraries   []string `json:"libraries,omitempty"`   // of it, with their versions
}

// Noun is what an item is called: "item" where it is taken for a sample. What nothing here could read was read in
// blocks before 1.6.0 said so.
func (b *Benchmark) Noun() string {
	if b.Kind == "other" {
		return cmp.Or(b.ItemNoun, "block")
	}
	return cmp.Or(b.ItemNoun, "item")
}

// Layout is how an HDF5 dataset is stored.
type Layout struct {
	Storage       string   `json:"storage"`          // "contiguous", "chunked", "compact", "virtual" or "external"
	Shape         []int64  `json:"shape"`            // of the dataset
	Dtype         string   `json:"dtype"`            // of an element
	Chunk         []int64  `json:"chunk" null:"yes"` // null: not chunked
	ChunkBytes    *int64   `json:"chunk_bytes"`      // decoded; null: not chunked
	Filters       []string `json:"filters"`          // in the order they are applied when writing
	StoredBytes   *int64   `json:"stored_bytes"`     // in the file
	ItemsPerChunk *int64   `json:"items_per_chunk"`  // null: not chunked
	ChunksPerItem *int64   `json:"chunks_per_item"`  // null: not chunked
	ItemShape     []int64  `json:"item_shape"`       // what one read delivers
	// each item is a dataset of its own, or a row of one of several: the shape and the chunk are those of all as one,
	// with an axis in front for the former
	Members bool `json:"members,omitempty"`
	// an item is one index of the first axis of any of these datasets, since 1.7.0; false: each is an item
	Rows bool `json:"rows,omitempty"`
}

// Sample is the part of the dataset that was read.
type Sample struct {
	Files int   `json:"files"` // of the dataset
	Items int   `json:"items"` // of the dataset
	Bytes int64 `json:"bytes"` // of those files, on storage
	Seed  int64 `json:"seed"`  // of the draw
	// of the items, those found that cannot be read or decoded; every figure is of the others
	Unread int `json:"unread,omitempty"`
}

// Cold says whether cold reads could be measured, and how it is known that they were cold.
type Cold struct {
	Possible bool   `json:"possible"`      // cold reads were measured
	How      string `json:"how,omitempty"` // "cachestat" or "mincore": what verified it
	// share of the sampled files' pages that stayed in the page cache after they were dropped
	CachedRatio *float64 `json:"cached_ratio,omitempty" share:"yes"`
	Reason      string   `json:"reason,omitempty"` // why not possible
}

// Unread gathers files that could not be read for one reason.
type Unread struct {
	Reason  string `json:"reason"`          // why not
	Count   int64  `json:"count"`           // files
	Items   int64  `json:"items,omitempty"` // items of these files, where others of the same file can be read
	Example string `json:"example"`         // one of their paths, redacted
}

// The probes, by the names measurements carry.
const (
	ProbeOpen    = "open"
	ProbeRead    = "read"
	ProbeDecode  = "decode"
	ProbePython  = "python"
	ProbeScaling = "scaling"
	ProbeDevice  = "device"
	ProbeBatch   = "batch"
	ProbeHDF5    = "hdf5"
	ProbeTry     = "try"
	ProbeTier    = "tier"
)

// The labels of measurements. A label that does not concern a measurement is left out.
const (
	LabelCache   = "cache"       // "warm" or "cold"
	LabelOrder   = "order"       // "sequential" or "random"
	LabelHandle  = "handle"      // "kept" or "reopened" (for each item)
	LabelWorkers = "workers"     // processes reading at once
	LabelBound   = "bound"       // scaling: what bends it: "cpu", "lock", "device" or "none"
	LabelDecoder = "decoder"     // "libjpeg-turbo", "go/png", "pillow", "opencv", "torchvision", "h5py", …
	LabelFormat  = "format"      // of a picture: "jpeg", "png", …
	LabelVersion = "version"     // of the decoder's library
	LabelDepth   = "depth"       // requests in flight
	LabelBlock   = "block_bytes" // of one request
	// device: "direct", "buffered" (the page cache was emptied of it first, verified) or "page-cache"; hdf5: "locked"
	// or "unlocked"
	LabelMode       = "mode"
	LabelBatchSize  = "batch_size"
	LabelGather     = "gather"            // batch: "items" (one read each) or "selection" (one call for all)
	LabelChunkCache = "chunk_cache_bytes" // HDF5 chunk cache of the handle
	LabelCandidate  = "candidate"         // try: "as-is", "contiguous", "chunk-item", …
	LabelCommand    = "command"           // try: what makes this candidate of the whole dataset
	LabelTier       = "tier"              // tier: "here" or "other"
)

// TorchReading is the value of LabelDecoder of items that a DataLoader with one worker reads and hands over in batches.
const TorchReading = "torch reading"

// TorchInProcess is that of items that a DataLoader without workers reads, and makes batches of.
const TorchInProcess = "torch in process"

// RowLabels are the names of the labels that make another row, in order. Versions, commands and what bounds a row only
// say something of it: a newer decoder is a change to see, not another row.
func RowLabels(labels map[string]string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(labels)), func(name string) bool {
		return name == LabelVersion || name == LabelCommand || name == LabelBound
	})
}
