// Package recording is the first waist: what was seen of a job, and nothing concluded from it.
//
// A recording is a header, series of raw readings, events, and the list of what could not be seen. Samplers fill one
// through a Recorder; package evidence reads it. Its file form (JSON lines, see codec.go) is also the replay format, so
// every verdict can be reached again from a file. Times are monotonic, measured from the recording's start; the wall
// clock appears once, as a label.
package recording

import "time"

// Schema and SchemaVersion name the file format. A reader refuses a newer major version.
const (
	Schema        = "pipetune.recording"
	SchemaVersion = "1.3.0" // 1.1: thinned lines, full; 1.2: id, name of the host, place of the job; 1.3: changeover
)

// Recording is everything seen of one job in one watch.
type Recording struct {
	Header Header
	Series []Series
	Events []Event
	Unseen []Unseen
	End    *End // nil where the recording was cut off
	// OneOf says that of so many readings of a series one was kept; 0 where all were (see room.go). Series of few
	// readings are whole.
	OneOf int
}

// Series is one signal of one entity over time, in order of time.
type Series struct {
	Metric string // a name of package metric
	// "host", "cpu/3", "gpu/<uuid>", "disk/nvme0n1", "process/4711.88123", "loader/4700.88000", "dataset/0", …
	Entity string
	Points []Point
}

// Point is one reading.
type Point struct {
	At    time.Duration // since the recording's start, monotonic
	Value float64
}

// Event is something that happened or was found at a moment.
type Event struct {
	At     time.Duration     `json:"-"`    // in a file its line says it, in seconds
	Kind   string            `json:"kind"` // one of the Event… constants
	Entity string            `json:"entity,omitempty"`
	Attrs  map[string]string `json:"attrs,omitempty"`
}

// The kinds of events, with the attributes they carry: listed here, or the fields of a row (rows.go).
const (
	// EventProcess: a process of the job was first seen, or its role changed, or its accelerator became known. Entity
	// process/…; row Process.
	EventProcess = "process"
	// EventThread: a thread of a trainer may feed it. Entity thread/…; attrs: trainer (entity), tid, comm.
	EventThread = "thread"
	// EventRemote: the trainer, or who loads for it, waited on a TCP connection to a peer. Entity remote/…; attrs:
	// trainer (entity), address (number and port, or "others").
	EventRemote = "remote"
	// EventExit: a process of the job is gone. Entity process/….
	EventExit = "exit"
	// EventPin: a trainer's pinning thread was found. Entity pin/….
	EventPin = "pin-thread"
	// EventWorkerOf: a worker is of another DataLoader of its trainer than the first. Entity process/…; attrs: loader
	// (its number, which its entity loader/… ends with).
	EventWorkerOf = "worker-of"
	// EventChangeover: the whole set of a trainer's workers gave way to a new one. Entity loader/…; row Changeover.
	EventChangeover = "changeover"
	// EventDataset: a folder or file of data the job reads was found. Entity dataset/<n>; row Dataset.
	EventDataset = "dataset"
	// EventLayout: the layout of the HDF5 dataset most likely read. Entity dataset/<n>; row Layout.
	EventLayout = "hdf5-layout"
	// EventGap: pipetune itself was not running (stopped, suspended) for longer than three intervals. Attrs: lasted_s.
	EventGap = "gap"
	// EventJobEnded: the watched job ended while it was watched; row JobEnd.
	EventJobEnded = "job-ended"
	// EventFull: from now on only the processes known so far are recorded; others are counted. Attrs: kept (how many
	// they are).
	EventFull = "full"
	// EventGPU: a GPU was found, or was lost. Entity gpu/…; attrs: state (found, lost), name.
	EventGPU = "gpu"
	// EventGPUProcess: a process of the job was seen in the list of processes of a GPU. Entity process/…; attrs: gpu
	// (UUID). Once for each pair.
	EventGPUProcess = "gpu-process"
	// EventHook: the hook spoke up in a process of a launched job, or fell silent. Entity process/…; row Hook.
	EventHook = "hook"
	// EventLoader: a DataLoader was made in a launched job. Entity loop/…; row Loader.
	EventLoader = "loader"
	// EventEpoch: a loop went over its loader once, or gave up. Entity loop/…; row Epoch. Of more than 200 epochs of a
	// loop, each 10th has an event, of more than 2,000 each 100th, and so on.
	EventEpoch = "epoch"
	// EventSite: a line of the person's source that the hook counts calls of. Entity site/…; row Site.
	EventSite = "site"
	// EventSlowItem: an item was among the slowest yet. Entity loop/…; row SlowItem. The last of an index stands.
	EventSlowItem = "slow-item"
	// EventReplay: steps of a trainer whose loader was taken out: the last batches were handed out again, as was asked
	// for. Entity process/…, "" where none did so; row Replay. It lies at the end of the watch, of which it is no part.
	EventReplay = "replay"
)

// Unseen says that a signal could not be read.
type Unseen struct {
	Signal string `json:"signal"`           // a metric name, or a prefix with a star ("gpu_*")
	Entity string `json:"entity,omitempty"` // "" for all
	Reason string `json:"reason"`           // why not
	Cure   string `json:"cure,omitempty"`   // what would change that, a command where there is one; "" where nothing would
}

// The reasons a watch ends.
const (
	EndDuration    = "duration"
	EndInterrupted = "interrupted"
	EndJobEnded    = "job-ended"
	EndClear       = "clear" // what was seen leaves no doubt about the verdict
	EndSteps       = "steps" // as many batches were taken as were asked for
)

// End closes a recording.
type End struct {
	At       time.Duration `json:"-"`        // as of an event
	Reason   string        `json:"reason"`   // one of the constants above
	Overhead Overhead      `json:"overhead"` // what the watch itself cost
}

// Overhead is what pipetune and its children used during the watch.
type Overhead struct {
	CPUSeconds float64 `json:"cpu_s"`
	CPURatio   float64 `json:"cpu_ratio"`     // of one CPU
	MaxRSS     int64   `json:"max_rss_bytes"` // parent and children, peaks added
}
