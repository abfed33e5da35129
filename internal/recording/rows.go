package recording

import "fmt"

// Process is the row of EventProcess. What a later one leaves out stays. Empty and 0 are unknown.
type Process struct {
	Role        string  `json:"role"` // trainer, worker, feeder, launcher, server, other
	PID         int     `json:"pid"`
	Parent      int     `json:"ppid"`
	Start       float64 `json:"start_s" digits:"2"` // since boot; the kernel's clock ticks are hundredths of a second
	Comm        string  `json:"comm"`
	Trainer     string  `json:"trainer,omitempty"` // entity of its trainer, for workers and feeders
	Rank        string  `json:"rank,omitempty"`
	Method      string  `json:"start_method,omitempty"` // fork, spawn, forkserver; of workers and feeders
	Affinity    int     `json:"affinity,omitempty"`     // cores it may run on
	Accelerator string  `json:"accelerator,omitempty"`  // driver mapped, or device file open: cuda, rocm, dxg
}

// Dataset is the row of EventDataset. Nil and empty are unknown.
type Dataset struct {
	Path       string `json:"path"`   // redacted
	How        string `json:"how"`    // it was found: fd or map
	Kind       string `json:"kind"`   // hdf5, image, npy, tar, other
	Folder     bool   `json:"folder"` // else one file
	Bytes      *int64 `json:"bytes,omitempty"`
	Files      *int64 `json:"files,omitempty"`
	FileBytes  *int64 `json:"file_bytes,omitempty"` // of the median file
	Extension  string `json:"extension"`            // most common suffix, with the dot
	FSType     string `json:"fstype,omitempty"`
	Tmpfs      *bool  `json:"tmpfs,omitempty"`
	Network    *bool  `json:"network,omitempty"` // a network or FUSE file system, or one shared with a host
	Rotational *bool  `json:"rotational,omitempty"`
	Device     string `json:"device,omitempty"` // names with a comma between them
	Items      string `json:"items,omitempty"`  // of a folder: number, hash of the names, and hashes of some files
}

// Layout is the row of EventLayout. Nil and empty are unknown.
type Layout struct {
	File          string   `json:"file"` // redacted
	Name          string   `json:"name"`
	Shape         string   `json:"shape"`
	Chunk         string   `json:"chunk,omitempty"`
	Dtype         string   `json:"dtype"`
	Layout        string   `json:"layout"` // chunked, contiguous, compact, virtual
	Filters       string   `json:"filters,omitempty"`
	FilterCount   *int     `json:"filters_n,omitempty"`
	Library       string   `json:"library,omitempty"` // version the job uses
	ChunkBytes    *int64   `json:"chunk_bytes,omitempty"`
	StoredBytes   *int64   `json:"stored_bytes,omitempty"`
	ItemBytes     *int64   `json:"item_bytes,omitempty"` // an item is what an index of the first axis delivers
	ItemsPerChunk *int64   `json:"items_per_chunk,omitempty"`
	ChunksPerItem *int64   `json:"chunks_per_item,omitempty"`
	Amplification *float64 `json:"amplification,omitempty"` // bytes of chunks touched over bytes of the item
	Items         string   `json:"items,omitempty"`         // shape, type and hashes of some items, whatever the layout
	CacheBytes    *int64   `json:"cache_bytes,omitempty"`   // chunk cache of a dataset that nobody configured
}

// JobEnd is the row of EventJobEnded. A job that pipetune started and that failed has a second one, with its status.
type JobEnd struct {
	Reason  string  `json:"reason,omitempty"`
	Status  int     `json:"status,omitempty"`              // as a shell would give it: 128 and the number of a signal
	Signal  string  `json:"signal,omitempty"`              // name of the one that ended it; "" where none did
	LastedS float64 `json:"lasted_s,omitempty" digits:"3"` // from its start, with Status
}

// String says how a job failed: "ended with status 1 after 5.2 s".
func (e JobEnd) String() string {
	how := fmt.Sprintf("ended with status %d", e.Status)
	if e.Signal != "" {
		how = "was ended by " + e.Signal
	}
	return fmt.Sprintf("%s after %.1f s", how, e.LastedS)
}

// The rows of what a launched job's hook reports. In all of them an empty text and a nil pointer are unknown.

// Hook is the row of EventHook.
type Hook struct {
	// State is loaded, worker or off in a process in which the hook spoke up, makes batches for a loop, or switched
	// itself off; absent or silent of the trainer where the hook did not load, or reported nothing; refused, without an
	// entity, where messages came from elsewhere.
	State      string `json:"state"`
	Python     string `json:"python,omitempty"`      // version; this and the next three with loaded
	Torch      string `json:"torch,omitempty"`       // version
	SyncPoints *bool  `json:"sync_points,omitempty"` // the methods of Tensor that wait for the GPU are timed
	Rank       *int   `json:"rank,omitempty"`
	Reason     string `json:"reason,omitempty"`    // with off, absent and silent
	NoLoader   bool   `json:"no_loader,omitempty"` // with silent: no DataLoader of PyTorch's was made
	Loop       string `json:"loop,omitempty"`      // entity of the loop, with worker
	Messages   int64  `json:"messages,omitempty"`  // how many, with refused
}

// Loader is the construction of a DataLoader, as the hook reports it and as the row of EventLoader. What a version of
// PyTorch lacks, or what is None, is unknown. Names of classes and functions are with their module.
type Loader struct {
	Class       string   `json:"class,omitempty"`
	NumWorkers  *int     `json:"num_workers,omitempty"`
	Prefetch    *int     `json:"prefetch_factor,omitempty"`
	Persistent  *bool    `json:"persistent_workers,omitempty"`
	PinMemory   *bool    `json:"pin_memory,omitempty"`
	BatchSize   *int     `json:"batch_size,omitempty"` // of its batch sampler where it has one
	DropLast    *bool    `json:"drop_last,omitempty"`
	InOrder     *bool    `json:"in_order,omitempty"`
	Timeout     *float64 `json:"timeout,omitempty"` // seconds
	StartMethod string   `json:"start_method,omitempty"`
	Sharing     string   `json:"sharing,omitempty"`    // of tensors between processes: file_descriptor, file_system
	OpenFiles   *int     `json:"open_files,omitempty"` // soft limit of descriptors of a process (RLIMIT_NOFILE)
	Dataset     string   `json:"dataset,omitempty"`
	Sampler     string   `json:"sampler,omitempty"`
	NumSamples  *int     `json:"num_samples,omitempty"` // of a WeightedRandomSampler: indices that it draws for an epoch
	Collate     string   `json:"collate,omitempty"`
	Iterable    bool     `json:"iterable"`
	Items       *int     `json:"items,omitempty"`  // len(dataset)
	Shards      *int     `json:"shards,omitempty"` // that the dataset divides among the workers of this trainer
	// File is of the call nearest to it outside of torch and of installed packages, else outside of torch. It is
	// redacted in a recording.
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Function string `json:"function,omitempty"`
	// ItemFile is of the person's own method of the dataset's class that makes items, redacted as File; "" where it has
	// none.
	ItemFile string   `json:"item_file,omitempty"`
	ItemLine int      `json:"item_line,omitempty"`
	Given    []string `json:"given,omitempty"` // parameters that the call named or passed by position
}

// Epoch is the row of EventEpoch: one time over a loader. Times are in seconds.
type Epoch struct {
	Number int     `json:"epoch"`                           // from 0
	Begun  float64 `json:"begun_s" digits:"9" signed:"yes"` // since the recording's start, negative for before
	Create float64 `json:"create_s" digits:"9"`             // in iter()
	// of that, in which the sampler began and the first indices were sent; nil: not told
	Draw *float64 `json:"draw_s,omitempty" digits:"9"`
	// of that, in which the sampler began once more for nothing, as PyTorch has it do for new workers
	Redraw      *float64 `json:"redraw_s,omitempty" digits:"9"`
	FirstWait   *float64 `json:"first_wait_s,omitempty" digits:"9"` // for the first batch
	Drain       *float64 `json:"drain_s,omitempty" digits:"9"`      // in the __next__ that ended it; nil: none did
	Steps       int      `json:"steps"`                             // batches taken
	Wait        float64  `json:"wait_s" digits:"9"`                 // for all of them
	Wall        float64  `json:"wall_s" digits:"9"`                 // until it ended, or was last heard of
	WorkersBorn int      `json:"workers_born"`                      // 0: they persisted, or there are none
	Grad        bool     `json:"grad"`                              // gradients were enabled at its last __next__
	// of so many epochs this one has an event; 0: all have
	Each int `json:"each,omitempty"`
}

// Site is the row of EventSite: a line of the person's source.
type Site struct {
	Kind     string `json:"kind"` // open, sync, archive
	What     string `json:"what"` // the file opened, redacted in a recording; the function called
	File     string `json:"file"` // redacted in a recording
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// SlowItem is the row of EventSlowItem.
type SlowItem struct {
	Index   int64   `json:"index" signed:"yes"` // as the sampler gave it
	Seconds float64 `json:"seconds" digits:"6"` // mean
	Times   int     `json:"times"`              // measured
}

// Changeover is the row of EventChangeover: the time from the first end of a worker of the old set, or from the first
// birth of the new one where something was done between, to the first batch of the new, and the samples of the main
// thread in it.
type Changeover struct {
	Took    float64 `json:"took_s" digits:"3"`
	Ago     float64 `json:"ago_s" digits:"3"` // from the first batch to the event
	Samples int64   `json:"samples"`          // all of them
	Waiting int64   `json:"waiting"`          // of these, counted as waits for a batch while workers were known
	Running int64   `json:"running"`          // of these, on a CPU
	Asleep  int64   `json:"asleep"`           // of these, asleep or on a device
}

// Replay is the row of EventReplay: a chunk of steps, or why there is none.
type Replay struct {
	Steps   int64   `json:"steps,omitempty"`
	Seconds float64 `json:"seconds,omitempty" digits:"9"` // that they took
	Filled  bool    `json:"filled"`                       // the workers had nothing left to make when it began
	// something else was gone over meanwhile, as in an evaluation
	Void     bool   `json:"void"`
	Kept     int    `json:"kept,omitempty"`     // batches
	Copied   bool   `json:"copied"`             // the loop changes what it is handed, so it was handed copies
	Replayed int    `json:"replayed,omitempty"` // trainers that were handed batches again
	Trainers int    `json:"trainers,omitempty"` // of so many
	Why      string `json:"why,omitempty"`      // there are no steps, or no more
}
