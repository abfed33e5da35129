package hook

// The messages of the hook: one JSON object a datagram, at most MaxMessage bytes. All totals are running totals of the sending process since the hook was
// loaded in it, so that a lost message costs resolution and no amount; the newest "seq" of a process stands. Times are whole nanoseconds, moments are of
// CLOCK_MONOTONIC. Process numbers are those the sender knows, of its own pid namespace. A field that a version of PyTorch lacks is left out, never guessed.

// Version is the version of this protocol; a message of another one is refused.
const Version = 1

// MaxMessage bounds a datagram in bytes. The hook splits what would be longer, and cuts strings to MaxString characters.
const (
	MaxMessage = 16 << 10
	MaxString  = 512
)

// The environment through which the hook learns where to send.
const (
	EnvSocket = "PIPETUNE_HOOK_SOCKET" // path of the receiver's socket
	EnvToken  = "PIPETUNE_HOOK_TOKEN"  // repeated in each message, so that a stray sender of the same user is told from the job
)

// EnvSyncPoints is "1" where the hook is to time the methods of Tensor that wait for the GPU too.
const EnvSyncPoints = "PIPETUNE_HOOK_SYNC_POINTS"

// message is any datagram; kind says which fields count.
type message struct {
	V     int    `json:"v"`
	Token string `json:"token"`
	Kind  string `json:"kind"` // "hello", "loader", "epoch", "steps", "work", "off"
	PID   int    `json:"pid"`
	Seq   int64  `json:"seq"`  // of this process, from 1
	At    int64  `json:"at"`   // when it was sent
	Lost  int64  `json:"lost"` // messages this process could not send so far
	// Untold is how often this process went over a loader for which it had no number: of these nothing is told.
	Untold int64 `json:"untold,omitempty"`

	// hello: torch.utils.data was imported, or a worker began. "off": the hook switched itself off.
	Parent     int    `json:"parent,omitempty"` // the process that multiprocessing says began this one, else the parent; workers say it in "work" too
	Python     string `json:"python,omitempty"`
	Torch      string `json:"torch,omitempty"`
	Executable string `json:"executable,omitempty"`
	Folder     string `json:"cwd,omitempty"`
	Rank       *int   `json:"rank,omitempty"`
	Reason     string `json:"reason,omitempty"`

	// Loader is the number of the DataLoader in its trainer, from 0. Of many loaders the later ones share a number with those that were made alike.
	Loader *int        `json:"loader,omitempty"`
	Made   *loaderMade `json:"made,omitempty"`  // kind "loader"
	Epoch  *epochTold  `json:"epoch,omitempty"` // kind "epoch": sent when it begins, and again when it ends
	Steps  *stepTotals `json:"steps,omitempty"` // kind "steps"; left out where it only tells sites
	Work   *workTotals `json:"work,omitempty"`  // kind "work", from whoever makes batches: a worker, or a trainer without any; the same
	Sites  []siteTotal `json:"sites,omitempty"` // kinds "steps" and "work": those that changed
}

// loaderMade is the construction of a DataLoader.
type loaderMade struct {
	Class       string   `json:"class"`
	NumWorkers  *int     `json:"num_workers,omitempty"`
	Prefetch    *int     `json:"prefetch_factor,omitempty"`
	Persistent  *bool    `json:"persistent_workers,omitempty"`
	PinMemory   *bool    `json:"pin_memory,omitempty"`
	BatchSize   *int     `json:"batch_size,omitempty"` // of its batch sampler where it has one
	DropLast    *bool    `json:"drop_last,omitempty"`
	InOrder     *bool    `json:"in_order,omitempty"`
	Timeout     *float64 `json:"timeout,omitempty"` // seconds
	StartMethod string   `json:"start_method,omitempty"`
	Dataset     string   `json:"dataset,omitempty"` // module and name of the class
	Sampler     string   `json:"sampler,omitempty"`
	Collate     string   `json:"collate,omitempty"`
	Iterable    bool     `json:"iterable,omitempty"`
	Items       *int64   `json:"items,omitempty"` // len(dataset)
	File        string   `json:"file,omitempty"`  // the call nearest to it outside of torch and of installed packages, else outside of torch
	Line        int      `json:"line,omitempty"`
	Function    string   `json:"function,omitempty"`
	Given       []string `json:"given,omitempty"` // parameters that the call named or passed by position
}

// epochTold is one time over a loader. What is not known yet is left out.
type epochTold struct {
	Number    int    `json:"number"` // from 0, of this loader
	Begun     int64  `json:"begun"`  // moment iter() was entered
	Create    int64  `json:"create"` // time in iter()
	FirstWait *int64 `json:"first_wait,omitempty"`
	Drain     *int64 `json:"drain,omitempty"` // time in the __next__ that ended it
	Steps     int64  `json:"steps"`
	Wait      int64  `json:"wait"`
	Wall      int64  `json:"wall"`              // from Begun until it ended, or was last heard of
	Workers   []int  `json:"workers,omitempty"` // their process numbers
	Born      int    `json:"born"`              // how many of them were begun for this epoch
	Grad      bool   `json:"grad"`              // gradients were enabled at its last __next__
	Ended     bool   `json:"ended"`             // it ran to its end
}

// stepTotals are a trainer's totals for one of its loaders. Their meaning is that of the signals of the same name in package metric.
type stepTotals struct {
	Clock         int64   `json:"clock"` // moment up to which the totals of all loaders of this process are told
	Steps         int64   `json:"steps"`
	GradSteps     int64   `json:"grad_steps"`
	AsideSteps    int64   `json:"aside_steps,omitempty"`
	Samples       int64   `json:"samples"` // 0: the size of the first axis is not known
	Wait          int64   `json:"wait"`
	FirstWait     int64   `json:"first_wait"`
	Create        int64   `json:"create"`
	Drain         int64   `json:"drain"`
	StepTime      int64   `json:"step_time"`
	Nested        int64   `json:"nested"`
	Loaders       int64   `json:"loaders,omitempty"` // that had this number so far, one after the other
	Begun         int64   `json:"begun"`
	Epochs        int64   `json:"epochs"`
	BatchBytes    int64   `json:"batch_bytes,omitempty"` // 0: not measured
	Syncs         int64   `json:"syncs,omitempty"`
	SyncTime      int64   `json:"sync_time,omitempty"`
	DeviceSteps   int64   `json:"device_steps,omitempty"`
	DeviceTime    int64   `json:"device_time,omitempty"`
	DeviceStarved int64   `json:"device_starved,omitempty"`
	Waits         []int64 `json:"waits,omitempty"` // waits in microseconds of the steps since the last message, the first of an epoch left out
}

// workTotals are what one process did to make batches of one loader. Counts and fetch_time are of all batches. Of those
// shorter than a millisecond one in 10 ms at most is timed in full; how its time divides into items, collate and CPU
// stands for those before it.
type workTotals struct {
	Fetches    int64   `json:"fetches"`
	Items      int64   `json:"items"`
	FetchTime  int64   `json:"fetch_time"`
	FetchCPU   int64   `json:"fetch_cpu"`
	ItemTime   int64   `json:"item_time"`
	Collate    int64   `json:"collate"`
	Opens      int64   `json:"opens"`
	OpenTime   int64   `json:"open_time"` // closes included, and what is looked up by name in between
	Reads      int64   `json:"reads"`
	ReadTime   int64   `json:"read_time"`
	Decodes    int64   `json:"decodes"`
	DecodeTime int64   `json:"decode_time"`
	Times      []int64 `json:"times,omitempty"` // microseconds that the batches since the last message took
	// Slow holds the slowest items of this process so far, slowest first, at most 8: index as the sampler gave it, mean in microseconds, times measured.
	// Indices that are no whole numbers are left out.
	Slow [][3]int64 `json:"slow,omitempty"`
}

// siteTotal is a line of the person's source: the nearest frame outside of the hook, of installed packages and of the standard library.
type siteTotal struct {
	Kind     string `json:"kind"` // "open" (what: the file) or "sync" (what: the function)
	What     string `json:"what"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
	Calls    int64  `json:"calls"`
	Time     int64  `json:"time"`
}
