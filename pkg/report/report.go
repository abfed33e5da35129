// Package report is the public schema of what pipetune concluded: the second waist, and the only package other programs
// may import.
//
// A Report says what was measured, modelled or assumed, what follows from it, and what could not be seen. Names carry
// base units (_s, _bytes, _ratio in 0..1, _per_s). Numbers are always finite; a missing value is null and has its
// reason in Abstained or Warnings. Additive change raises the minor version and readers ignore keys they do not know.
package report

import (
	"path"
	"strconv"
	"strings"
)

// Schema and SchemaVersion name the format; a reader refuses a newer major version.
const (
	Schema        = "pipetune.report"
	SchemaVersion = "1.7.0"
)

// Report is one diagnosis or one benchmark.
type Report struct {
	Schema        string            `json:"schema"`
	SchemaVersion string            `json:"schema_version"` // major.minor.patch of this format
	Kind          string            `json:"kind"`           // "diagnose" or "bench-io"
	Tool          Tool              `json:"tool"`
	Host          Host              `json:"host"`
	Job           *Job              `json:"job"` // null for bench-io
	Window        *Window           `json:"window"`
	Verdict       *Verdict          `json:"verdict"`
	Metrics       map[string]Metric `json:"metrics"`
	Phases        []Phase           `json:"phases"` // where a worker's time goes
	Ranks         []Rank            `json:"ranks,omitempty"`
	Findings      []Finding         `json:"findings"`
	Decisions     []Decision        `json:"decisions,omitempty"` // one for each setting that is spoken of, since 1.6.0
	// all recommendations together; single effects do not add up
	Joint *Effect `json:"joint,omitempty"`
	Plans []Plan  `json:"plans"`
	// what the plans come to, since 1.2.0; absent where nothing could be modelled
	Outlook      *Outlook      `json:"outlook,omitempty"`
	Forecast     *Forecast     `json:"forecast,omitempty"`  // bench-io only, since 1.2.0: what a DataLoader would give
	Benchmark    *Benchmark    `json:"benchmark,omitempty"` // bench-io only, since 1.1.0
	Measurements []Measurement `json:"measurements"`
	Abstained    []Abstained   `json:"abstained"`
	Warnings     []string      `json:"warnings"`             // about the watch or the measuring, for the person
	Thresholds   []Threshold   `json:"thresholds,omitempty"` // that --threshold asked for; since 1.7.0
	// launch mode, since 1.2.0: the recommended settings as a change of the source
	Patch  *Patch   `json:"patch,omitempty"`
	Tuning *Tuning  `json:"tuning,omitempty"` // of tune, since 1.7.0: settings that were measured in the job itself
	Next   []string `json:"next,omitempty"`   // commands worth running next, ready to copy
}

// Tool is the program that made the report, and what it cost.
type Tool struct {
	Name     string    `json:"name"`             // "pipetune"
	Version  string    `json:"version"`          // of the program
	Commit   string    `json:"commit,omitempty"` // that it was built from
	Overhead *Overhead `json:"overhead"`         // null where not measured
}

// Overhead is what pipetune and its children used while they watched.
type Overhead struct {
	CPURatio    float64 `json:"cpu_ratio"`     // of one CPU
	MaxRSSBytes int64   `json:"max_rss_bytes"` // parent and children, peaks added
}

// Host is the machine the job ran on.
type Host struct {
	// tells this machine from others, a hash; absent: not known; since 1.7.0
	ID               string    `json:"id,omitempty"`
	Name             string    `json:"name,omitempty"`     // only with --no-redact; since 1.7.0
	CPUsUsable       float64   `json:"cpus_usable"`        // min(affinity, cpuset, quota)
	CPUsPresent      int       `json:"cpus_present"`       // online
	MemoryBytes      int64     `json:"memory_bytes"`       // physical
	MemoryLimitBytes *int64    `json:"memory_limit_bytes"` // null: no limit
	Kernel           string    `json:"kernel"`             // release
	GPUs             []GPU     `json:"gpus"`
	Storage          []Storage `json:"storage"`
}

// GPU is one device.
type GPU struct {
	UUID        string `json:"uuid"`         // as the driver names it
	Name        string `json:"name"`         // model
	MemoryBytes int64  `json:"memory_bytes"` // of the device
	OfJob       bool   `json:"of_job"`       // a process of the job uses it
}

// Storage is a place the dataset lies on.
type Storage struct {
	Path    string   `json:"path"`              // redacted
	Kind    string   `json:"kind"`              // "disk", "tmpfs", "network", "fuse", "unknown"
	FSType  string   `json:"fstype"`            // as the mount table says
	Devices []string `json:"devices,omitempty"` // that hold it
}

// Job is the watched job.
type Job struct {
	PID       int      `json:"pid"`                 // of the process that was named or found
	Mode      string   `json:"mode"`                // "attach", "launch" or "replay"
	Framework string   `json:"framework,omitempty"` // "pytorch", …
	Command   []string `json:"command"`             // redacted
	Ranks     int      `json:"ranks"`               // trainers watched
	Dataset   string   `json:"dataset,omitempty"`   // the folder or file it reads most, redacted
	// Items says what an HDF5 dataset holds, whatever its chunks, filters and place: shape, type, and of up to four
	// items the index and a hash of the bytes; since 1.6.0 what a folder of files holds: number, hash of the names, and
	// of four files a hash. Empty: not known. Since 1.5.0.
	Items string `json:"items,omitempty"`
	// of the HDF5 dataset: "64x64x128"; empty: not chunked, or not known. Since 1.5.0
	Chunk  string  `json:"chunk,omitempty"`
	Loader *Loader `json:"loader"`
	Place  *Place  `json:"place,omitempty"` // among several nodes; since 1.7.0
}

// Script is what a command line runs, in a word: its Python file or module, else the program; "" of an empty one.
func Script(command []string) string {
	for i, word := range command {
		switch {
		case strings.HasSuffix(word, ".py"):
			return path.Base(word)
		case word == "-m" && i+1 < len(command):
			return command[i+1]
		}
	}
	if len(command) == 0 {
		return ""
	}
	return path.Base(command[0])
}

// Place is where among the nodes of a job the watched trainers stand, as the job's own environment says.
type Place struct {
	JobID     string `json:"job_id,omitempty"` // of Slurm, or of torchrun's rendezvous
	Step      string `json:"step,omitempty"`   // of Slurm, in the job
	NodeRank  *int   `json:"node_rank"`        // from 0
	Nodes     *int   `json:"nodes"`            // that the job runs on
	WorldSize *int   `json:"world_size"`       // trainers on all nodes
}

// Loader is the DataLoader's settings as far as they are known; null is unknown.
type Loader struct {
	NumWorkers *int `json:"num_workers"` // of one trainer; 0: it loads by itself
	// who makes the batches where no DataLoader does: "3 processes of the job's own (python3)"; since 1.4.0
	FedBy             string    `json:"fed_by,omitempty"`
	StartMethod       string    `json:"start_method,omitempty"` // "fork", "spawn" or "forkserver"
	PrefetchFactor    *int      `json:"prefetch_factor"`        // batches asked for ahead, of each worker
	PersistentWorkers *bool     `json:"persistent_workers"`     // workers live on from epoch to epoch
	PinMemory         *bool     `json:"pin_memory"`             // batches are copied to page-locked memory
	BatchSize         *int      `json:"batch_size"`             // samples
	BatchBytes        *int64    `json:"batch_bytes"`            // of a batch's tensors
	Source            string    `json:"source"`                 // "observed" or "hook"
	Location          *Location `json:"location"`
	Dataset           string    `json:"dataset,omitempty"` // class; hook only, as are the next two
	Sampler           string    `json:"sampler,omitempty"` // class
	// the dataset is an IterableDataset, since 1.3.0; hook only
	Iterable bool `json:"iterable,omitempty"`
	// that it divides among the workers of one trainer, since 1.4.0; hook only
	Shards *int `json:"shards,omitempty"`
	// other DataLoaders that the job goes over beside this one, since 1.7.0; 0 also where none can be told apart
	Others    int        `json:"other_loaders,omitempty"`
	InOrder   *bool      `json:"in_order,omitempty"`   // null: not known, or this PyTorch lacks it
	SlowItems []SlowItem `json:"slow_items,omitempty"` // slowest first; hook only
}

// DataLoader is the loader of the job; an empty one where none is known.
func (r *Report) DataLoader() *Loader {
	if r.Job == nil || r.Job.Loader == nil {
		return &Loader{}
	}
	return r.Job.Loader
}

// LoaderArguments are the settings that are arguments of DataLoader, in the order people write them.
var LoaderArguments = []string{"batch_size", "num_workers", "prefetch_factor", "persistent_workers", "pin_memory",
	"in_order"}

// Argument is the value of one of LoaderArguments as people write it; "" where it is not known.
func (l *Loader) Argument(name string) string {
	if n := l.counts()[name]; n != nil {
		return strconv.Itoa(*n)
	}
	switch b := map[string]*bool{"persistent_workers": l.PersistentWorkers, "pin_memory": l.PinMemory,
		"in_order": l.InOrder}[name]; {
	case b == nil:
		return ""
	case *b:
		return "True"
	}
	return "False"
}

// counts are those of LoaderArguments that are numbers; nil is unknown.
func (l *Loader) counts() map[string]*int {
	return map[string]*int{"batch_size": l.BatchSize, "num_workers": l.NumWorkers, "prefetch_factor": l.PrefetchFactor}
}

// Location is a place in the user's source.
type Location struct {
	File string `json:"file"` // redacted
	Line int    `json:"line"` // from 1
}

// Window is the steady stretch the figures are from.
type Window struct {
	DurationS float64  `json:"duration_s"`           // without the warm-up
	WarmupS   float64  `json:"warmup_s"`             // dropped before it
	StartS    float64  `json:"start_s"`              // since the start of watching
	StartMono float64  `json:"start_monotonic_s"`    // when watching began, by CLOCK_MONOTONIC
	Steps     *float64 `json:"steps"`                // batches of the training loop in it
	Epochs    *int     `json:"epochs"`               // that ended in it
	StartedAt string   `json:"started_at,omitempty"` // when watching began, RFC 3339 in UTC; since 1.2.0
	// so many whole epochs, of a job whose workers restart with each: what else was watched is left out; 0: it is not
	// cut to epochs; since 1.7.0
	WholeEpochs int `json:"whole_epochs,omitempty"`
}

// Patch is what recommended settings amount to in the person's source.
type Patch struct {
	// relative to the folder the job runs in where it lies below it; redacted
	File string `json:"file"`
	// unified diff for patch -p1, redacted; "" where no setting stands in the call as a literal
	Diff     string           `json:"diff"`
	Settings []PatchedSetting `json:"settings"` // one for each setting that is recommended
}

// PatchedSetting says what becomes of one setting.
type PatchedSetting struct {
	Setting string  `json:"setting"`        // an argument of DataLoader
	From    *string `json:"from"`           // as it stands in the source; null: not written there
	To      string  `json:"to"`             // the value it gets
	Line    int     `json:"line,omitempty"` // where the value stands, 0: nowhere
	How     string  `json:"how"`            // one of PatchHows
	// Origin says where such a value comes from: "args.workers: --workers, default 1 (train.py:12)".
	Origin string `json:"origin,omitempty"`
}
