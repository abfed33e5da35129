// Package evidence turns a recording into typed evidence: the derived signals over the steady window, each with its
// interval and its basis, and the facts a rule may name.
//
// It promises that a signal it could not derive is absent, never zero, and that the reason is kept. It judges nothing:
// no threshold of a finding lives here.
package evidence

import (
	"github.com/pipetune/pipetune/internal/evidence/hooked"
	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// Value is one derived signal.
type Value struct {
	stat.Summary
	Basis metric.Basis // "" of a figure in the making is measured
}

// Evidence is what a watch amounts to. Build it with FromRecording or package bench, or with New in tests of rules.
type Evidence struct {
	Header recording.Header
	Window watched.Window
	Facts  Facts
	// every trainer; Ranks[0] is the one whose device starves most, and the one the step signals are of
	Ranks    []Rank
	Unseen   []recording.Unseen // what the watch could not read
	Warnings []string           // about the watch, for the person: gaps, thin data, a job that ended
	Bench    *Bench             // of a benchmark: what it measured beyond single figures; nil for a watch

	signals map[string]*signal
}

// signal is a derived signal and what it is made from.
type signal struct {
	figure
	spread []stat.Class
	from   []metric.Desc // raw signals
}

// New returns evidence that holds just these values and facts.
func New(values map[string]Value, facts Facts) *Evidence {
	e := &Evidence{Facts: facts}
	for name, v := range values {
		e.Set(metric.Desc{Name: name}, v)
	}
	return e
}

// row returns a signal to write to.
func (e *Evidence) row(d metric.Desc) *signal {
	if e.signals == nil {
		e.signals = map[string]*signal{}
	}
	if e.signals[d.Name] == nil {
		e.signals[d.Name] = &signal{}
	}
	return e.signals[d.Name]
}

// read returns a signal; the zero signal, which is absent without a reason, where nothing is known of it.
func (e *Evidence) read(d metric.Desc) signal {
	if s := e.signals[d.Name]; s != nil {
		return *s
	}
	return signal{}
}

// Set sets a signal.
func (e *Evidence) Set(d metric.Desc, v Value) { e.row(d).Value = v }

// Miss notes why a signal is absent, where nothing else says so. The first reason stands.
func (e *Evidence) Miss(d metric.Desc, why Reason) {
	if s := e.row(d); s.N == 0 && s.why.Text == "" {
		s.why = why
	}
}

// Get returns a derived signal; false means it could not be derived.
func (e *Evidence) Get(d metric.Desc) (Value, bool) {
	v := e.read(d).Value
	return v, v.N > 0
}

// Steps is how many batches training was seen to take; false where they were not counted.
func (e *Evidence) Steps() (float64, bool) {
	if h := e.Facts.Hook; h != nil && h.Steps > 0 {
		return h.Steps, true
	}
	v := e.read(metric.BatchesPerS)
	if time, ok := e.Get(metric.WindowTime); len(v.num) == 0 {
		return v.Center * time.Center, ok && v.N > 0
	}
	return stat.Sum(v.num), v.N > 0
}

// Windows returns a signal's values window by window, in order of time, where they are known; nil else. A window that
// gave none is left out.
func (e *Evidence) Windows(d metric.Desc) (values []float64) {
	s := e.read(d)
	for i := range min(len(s.num), len(s.den)) {
		if x := stat.Divide(s.num[i], s.den[i]); stat.Finite(x) {
			values = append(values, x)
		}
	}
	return values
}

// The sharing strategies of torch.multiprocessing.
const (
	ByDescriptor = "file_descriptor" // its default on Linux
	ByName       = "file_system"
)

// Facts are things that are not numbers, and settings. Empty and nil mean unknown.
type Facts struct {
	Framework   string
	Tokenizers  bool   // as recording.Job has it
	StartMethod string // fork, spawn, forkserver
	Sharing     string // of tensors between processes: ByDescriptor, ByName
	Persistent  *bool  // persistent_workers: false once a whole set was replaced, true once an epoch passed without
	PinMemory   *bool  // a pinning thread was seen
	// prefetch_factor, where it could be observed: in-flight batches per worker when the loader is ahead
	Prefetch    *int
	BatchSize   *int   // given by the user or on the command line, never measured
	Dataset     string // path of what is read most, redacted
	DatasetKind string // hdf5, image, npy, tar, other
	Items       string // what its items are, wherever they lie, as package dataset digests them; "" unknown
	Extension   string // most common file suffix, lower case, with the dot
	FSType      string
	StorageKind string // disk, tmpfs, network, fuse
	Device      string
	HDF5        *HDF5
	GPUName     string // "" too where no process of the job is on a GPU
	GPUWhyNot   string // why no GPU figures are there; "" where they are
	Throttle    []string
	Hook        *hooked.Hook // what the hook reported on the training loop; nil without it
	Fed         *Fed         // who feeds the trainer where that is neither itself nor DataLoader workers; nil else
	// the other DataLoaders that the trainer goes over beside the one that the signals are of
	OtherLoaders OtherLoaders
	Remotes      []Remote // who loading waits for over TCP, the most first
	Code         []Code   // what a worker executes, the most first; nil where it is not known
	// why another thread than the main one takes the batches, or may do so, and how long a step waits is unknown; ""
	// where the main thread does
	OffMain  string
	NoLoader bool // the hook was there, and no DataLoader of PyTorch's was made
	// Another thread than the main one most likely takes the batches, and a step's wait is inferred from both.
	Taken bool
}

// OtherLoaders are what the others of a trainer's DataLoaders leave to the one that the signals are of.
type OtherLoaders struct {
	N         int     // those that were told apart; 0 also where it is not known that there are any
	LeastStep float64 // seconds of a step with them as they are, whatever that one is given; 0: not known
	CPUs      float64 // that their workers use
	// of one that hands over few batches beside the others, as an evaluation's; nil where none is seen from outside
	Evaluation *LoaderCall
}

// Reported is what the hook reported; its zero value where it reported nothing.
func (e *Evidence) Reported() hooked.Hook {
	if e.Facts.Hook == nil {
		return hooked.Hook{}
	}
	return *e.Facts.Hook
}

// HDF5 is the layout of the dataset most likely read.
type HDF5 struct {
	Name           string
	Members        bool // each item is a dataset of its own, or of one of several; Name has a * for what differs
	Rows           bool // the latter
	Shape, Chunk   string
	Item           string // shape of what one read delivers; "" is all of an index of the first axis
	Dtype, Filters string
}

// Rank is one trainer.
type Rank struct {
	Name      string // RANK, else the pid
	PID       int
	Step      *step.Step // where its time goes; nil where that is unknown
	InputWait *Value
	BatchRate *Value
}
