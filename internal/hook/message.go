package hook

import (
	"reflect"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

// The messages of the hook: one JSON object a datagram, at most MaxMessage bytes. All totals are running totals of the
// sending process since the hook was loaded in it, so that a lost message costs resolution and no amount; the newest
// "seq" of a process stands. Times are whole nanoseconds, moments are of CLOCK_MONOTONIC. Process numbers are those
// the sender knows, of its own pid namespace. A field that a version of PyTorch lacks is left out, never guessed.

// Version is the version of this protocol; a message of another one is refused.
const Version = 1

// MaxMessage bounds a datagram in bytes. The hook splits what would be longer, and cuts strings to MaxString
// characters.
const (
	MaxMessage = 16 << 10
	MaxString  = 512
)

// The environment through which the hook learns where to send.
const (
	EnvSocket = "PIPETUNE_HOOK_SOCKET" // path of the receiver's socket
	// repeated in each message, so that a stray sender of the same user is distinguished from the job
	EnvToken = "PIPETUNE_HOOK_TOKEN"
)

// EnvSyncPoints is "1" where the hook is to time the methods of Tensor that wait for the GPU too.
const EnvSyncPoints = "PIPETUNE_HOOK_SYNC_POINTS"

// The kinds of messages.
const (
	kindHello  = "hello" // torch.utils.data was imported, or a worker began
	kindLoader = "loader"
	kindEpoch  = "epoch" // sent when it begins, and again when it ends
	kindSteps  = "steps" // of a trainer
	kindWork   = "work"  // of whoever makes batches: a worker, or a trainer without any
	kindOff    = "off"   // the hook switched itself off
)

// message is any datagram; kind says which fields count.
type message struct {
	V     int           `json:"v"`
	Token string        `json:"token"`
	Kind  string        `json:"kind"`
	PID   int           `json:"pid"`
	Seq   int64         `json:"seq"`  // of this process, from 1
	At    time.Duration `json:"at"`   // when it was sent
	Lost  int64         `json:"lost"` // messages this process could not send so far
	// Untold is how often this process went over a loader for which it had no number: of these nothing is reported.
	Untold int64 `json:"untold"`

	// Parent is the process that multiprocessing says began this one, else the parent; workers say it in "work" too.
	Parent int `json:"parent"`
	hello
	Reason string `json:"reason"` // why it switched itself off

	// Loader is the number of the DataLoader in its trainer, from 0. Of many loaders the later ones share a number
	// with those that were made alike.
	Loader *int              `json:"loader"`
	Made   *recording.Loader `json:"made"`
	Epoch  *epochMessage     `json:"epoch"`
	Steps  *stepTotals       `json:"steps"` // left out where it only tells sites
	Work   *workTotals       `json:"work"`  // the same
	Sites  []siteTotal       `json:"sites"` // with steps and work: those that changed
}

// hello is what a process says of itself.
type hello struct {
	Python     string `json:"python"`
	Torch      string `json:"torch"`
	Executable string `json:"executable"`
	Folder     string `json:"cwd"`
	Rank       *int   `json:"rank"`
}

// epochMessage is one time over a loader. What is not known yet is left out.
type epochMessage struct {
	Number    int            `json:"number"` // from 0, of this loader
	Begun     time.Duration  `json:"begun"`  // moment iter() was entered
	Create    time.Duration  `json:"create"` // time in iter()
	Draw      *time.Duration `json:"draw"`   // of it, in which the sampler began and the first indices were sent
	Redraw    *time.Duration `json:"redraw"` // of it, in which the sampler began for nothing
	FirstWait *time.Duration `json:"first_wait"`
	Drain     *time.Duration `json:"drain"` // time in the __next__ that ended it
	Steps     int            `json:"steps"`
	Wait      time.Duration  `json:"wait"`
	Wall      time.Duration  `json:"wall"`    // from Begun until it ended, or was last heard of
	Workers   []int          `json:"workers"` // their process numbers
	Born      int            `json:"born"`    // how many of them were begun for this epoch
	Grad      bool           `json:"grad"`    // gradients were enabled at its last __next__
	Ended     bool           `json:"ended"`   // it ran to its end

	seq int64 // of the message
}

// stepTotals are a trainer's totals for one of its loaders. Each with a signal is recorded as that one of package
// metric, which says what it means; with omitempty, 0 says that it was not counted, and is not recorded.
type stepTotals struct {
	Clock         time.Duration `json:"clock"` // moment up to which the totals of all loaders of this process are told
	Steps         int64         `json:"steps" signal:"hook_steps"`
	GradSteps     int64         `json:"grad_steps" signal:"hook_grad_steps"`
	OffMainSteps  int64         `json:"aside_steps,omitempty" signal:"hook_aside_steps"`
	Samples       int64         `json:"samples,omitempty" signal:"hook_samples"`
	Wait          time.Duration `json:"wait" signal:"hook_wait_s"`
	FirstWait     time.Duration `json:"first_wait" signal:"hook_first_wait_s"`
	Create        time.Duration `json:"create" signal:"hook_create_s"`
	Drain         time.Duration `json:"drain" signal:"hook_drain_s"`
	StepTime      time.Duration `json:"step_time" signal:"hook_step_time_s"`
	Nested        time.Duration `json:"nested" signal:"hook_nested_s"`
	Loaders       int64         `json:"loaders,omitempty" signal:"hook_loaders"`
	Begun         int64         `json:"begun" signal:"hook_epochs_begun"`
	Epochs        int64         `json:"epochs" signal:"hook_epochs"`
	BatchBytes    int64         `json:"batch_bytes,omitempty" signal:"hook_batch_bytes"`
	AllTensors    int64         `json:"batch_all_tensors,omitempty" signal:"hook_batch_all_tensors"`
	BatchTensors  int64         `json:"batch_tensors" signal:"hook_batch_tensors"`
	BatchFloat32  int64         `json:"batch_float32" signal:"hook_batch_float32_bytes"`
	BatchFloat64  int64         `json:"batch_float64" signal:"hook_batch_float64_bytes"`
	Syncs         int64         `json:"syncs,omitempty" signal:"hook_syncs"`
	SyncTime      time.Duration `json:"sync_time,omitempty" signal:"hook_sync_s"`
	Taken         int64         `json:"taken,omitempty" signal:"hook_taken"`
	TakenCPU      time.Duration `json:"taken_cpu,omitempty" signal:"hook_taken_cpu_s"`
	Drawn         int64         `json:"drawn,omitempty" signal:"hook_drawn"`
	DrawTime      time.Duration `json:"draw_time,omitempty" signal:"hook_draw_s"`
	DeviceSteps   int64         `json:"device_steps,omitempty" signal:"hook_device_steps"`
	DeviceTime    time.Duration `json:"device_time,omitempty" signal:"hook_device_s"`
	DeviceStarved time.Duration `json:"device_starved,omitempty" signal:"hook_device_starved_s"`
	DeviceWaited  time.Duration `json:"device_waited,omitempty" signal:"hook_device_waited_s"`
	// Waits are those of steps since the last message that chance chose, in microseconds, none the first of an epoch.
	Waits []int64 `json:"waits"`
}

// workTotals are what one process did to make batches of one loader. Of batches shorter than a millisecond one in 64,
// or in 100 ms, is timed in full; how its time divides into items, collate and CPU stands for those after it. A batch
// that an iterable dataset makes itself counts as the items along the first axis of its first tensor.
type workTotals struct {
	Fetches    int64         `json:"fetches" signal:"hook_fetches"`
	Items      int64         `json:"items" signal:"hook_items"`
	FetchTime  time.Duration `json:"fetch_time" signal:"hook_fetch_s"`
	FetchCPU   time.Duration `json:"fetch_cpu" signal:"hook_fetch_cpu_s"`
	ItemTime   time.Duration `json:"item_time" signal:"hook_item_s"`
	Collate    time.Duration `json:"collate" signal:"hook_collate_s"`
	Opens      int64         `json:"opens" signal:"hook_opens"`
	OpenTime   time.Duration `json:"open_time" signal:"hook_open_s"`
	Reads      int64         `json:"reads" signal:"hook_reads"`
	ReadTime   time.Duration `json:"read_time" signal:"hook_read_s"`
	Decodes    int64         `json:"decodes" signal:"hook_decodes"`
	DecodeTime time.Duration `json:"decode_time" signal:"hook_decode_s"`
	Values     int64         `json:"decoded_values,omitempty" signal:"hook_decoded_values"`
	Rows       int64         `json:"rows" signal:"hook_rows"`
	RowTime    time.Duration `json:"row_time" signal:"hook_row_s"`
	Archive    time.Duration `json:"archive_time,omitempty" signal:"hook_archive_s"`
	Resize     time.Duration `json:"resize_time,omitempty" signal:"hook_resize_s"`
	Times      []int64       `json:"times"` // microseconds that the batches since the last message took
	// Slow holds the slowest items of this process so far, slowest first, at most 8: index as the sampler gave it,
	// mean in microseconds, times measured. Indices that are no whole numbers are left out.
	Slow [][3]int64 `json:"slow"`
}

// siteKinds are what a line is reported for: opens of HDF5 files, waits for the GPU, and what Archive counts.
var siteKinds = []string{"open", "sync", "archive"}

// siteTotal is a line of the person's source, the nearest frame outside of the hook, of installed packages and of the
// standard library, with the calls that were made from it.
type siteTotal struct {
	recording.Site
	siteCalls
}

// siteCalls are calls made from a line.
type siteCalls struct {
	Calls int64         `json:"calls"`
	Time  time.Duration `json:"time"`
}

const (
	maxPID = 1 << 22 // the kernel's limit of process numbers (PID_MAX_LIMIT, linux/threads.h)
	// maxCount bounds every count, maxTime every time (31 years): beyond them no hook has counted. Moments are bounded
	// by maxTime too, which is a machine's uptime.
	maxCount = 1e15
	maxTime  = time.Duration(1e18)
)

// sound says whether a message is one that a hook can have sent.
func (m *message) sound() bool {
	if m.V != Version || m.PID == 0 || max(m.PID, m.Parent) > maxPID || m.Seq == 0 ||
		m.Loader != nil && *m.Loader >= maxNumber || !bounded(reflect.ValueOf(m).Elem()) {
		return false
	}
	for _, s := range m.Sites {
		if !slices.Contains(siteKinds, s.Kind) {
			return false
		}
	}
	switch m.Kind {
	case kindHello, kindOff:
		return true
	case kindLoader:
		return m.Loader != nil && m.Made != nil
	case kindEpoch:
		return m.Loader != nil && m.Epoch != nil
	case kindSteps:
		return m.Loader != nil && (m.Steps != nil || len(m.Sites) > 0)
	case kindWork:
		return m.Work != nil || len(m.Sites) > 0
	}
	return false
}

// bounded says whether every number in v lies between 0 and its bound. In an array, a slow item, the first may be
// negative: a sampler may give such an index.
func bounded(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.IsNil() || bounded(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !bounded(field) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if x := v.Index(i); !bounded(x) && !(v.Kind() == reflect.Array && i == 0 && x.Int() < 0 &&
				x.Int() > -maxCount) {
				return false
			}
		}
	case reflect.Int, reflect.Int64:
		most := int64(maxCount)
		if v.Type() == reflect.TypeFor[time.Duration]() {
			most = int64(maxTime)
		}
		return v.Int() >= 0 && v.Int() <= most
	case reflect.Float64:
		return v.Float() >= 0 && v.Float() < maxCount
	}
	return true
}
