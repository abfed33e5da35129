package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
)

// Task is the name of the worker processes' task in the table of children.
const Task = "probe"

// request asks a worker process for one piece of work. The sample comes with the first.
type request struct {
	Sample *dataset.Sample `json:",omitempty"`
	Work   string          // a row of works
	Body   json.RawMessage
}

// state is what a worker process keeps between two pieces of work.
type state struct {
	sample  dataset.Sample
	handles map[int]dataset.Handle // open files, by their place in the sample
	buf     []byte
	lock    *os.File // of the scratch folder this process keeps
	open    func(dataset.Source, dataset.File) (dataset.Handle, error)
	decoder dataset.Decoder
	pile    pile // of pictures that are decoded together
}

// work is done in the worker process.
type work func(ctx context.Context, w *state, body json.RawMessage) (any, error)

// works is the table of what worker processes do.
var works = map[string]work{
	workLoad:          loadItems,
	workCache:         lookAtCache,
	workDirect:        readDirect,
	workMakeScratch:   makeScratch,
	workRewrite:       rewriteSample,
	workRemoveScratch: removeScratch,
	workOpen:          openFiles,
	workGather:        gatherBatches,
	workDecode:        decodePictures,
	workCrowd:         joinCrowd,
}

// Handler returns the handler of one worker process.
func Handler() isolate.Handler { return handler(dataset.Source.Open) }

// handler is Handler with another way to open files, which tests use to have files that misbehave.
func handler(open func(dataset.Source, dataset.File) (dataset.Handle, error)) isolate.Handler {
	w := &state{handles: map[int]dataset.Handle{}, open: open}
	return func(ctx context.Context, body json.RawMessage) (any, error) {
		var r request
		if err := json.Unmarshal(body, &r); err != nil {
			return nil, fmt.Errorf("decoding a request: %w", err)
		}
		if r.Sample != nil {
			w.forget()
			w.sample = *r.Sample
		}
		do := works[r.Work]
		if do == nil {
			return nil, fmt.Errorf("no such work: %q", r.Work)
		}
		return do(ctx, w, r.Body)
	}
}

// forget closes all files.
func (w *state) forget() {
	for i, h := range w.handles {
		_ = h.Close() // read-only: nothing is lost
		delete(w.handles, i)
	}
}

// process is a worker process with the sample in it.
type process struct {
	child *isolate.Child
	knows bool
	given *dataset.Sample
}

// WorkerMemory is the address space of a worker process: the largest picture that is decoded has 178,956,970 pixels of three bytes, half a
// gigabyte, beside its file and its chunk.
const WorkerMemory = 3 << 30

// MemoryFor is the address space of a worker process that reads items of a kind and writes nothing.
func MemoryFor(kind dataset.Kind) int64 {
	if kind == dataset.HDF5 {
		return dataset.ReaderMemory
	}
	return WorkerMemory
}

// slowest is how long one piece of work may last beyond the time it is asked to take: one item from a slow network disk.
const slowest = 20 * time.Second

// process begins a worker process for a sample; the session's own where nil. It is started by the first piece of work.
func (s *session) process(given *dataset.Sample, takes time.Duration) *process {
	if given == nil {
		given = &s.sample
	}
	spec := isolate.Spec{Task: Task, Key: s.options.Key, Timeout: takes + slowest, Only: s.readable(given),
		Limits: isolate.Limits{MemoryBytes: MemoryFor(given.Kind), OpenFiles: 1024}}
	return &process{child: s.runner.Child(spec), given: given}
}

// readable is what a worker process may read: the sample's one file, or the folder that all lie in; nil, everything, where the files may name
// others. A sample that was written anew is rewritten in its folder.
func (s *session) readable(sample *dataset.Sample) []string {
	switch {
	case sample.Follow:
		return nil
	case len(sample.Files) == 1 && sample == &s.sample:
		return []string{string(sample.Files[0].Path)}
	}
	if common := folder(*sample); filepath.IsAbs(common) {
		return []string{common}
	}
	return nil
}

func (p *process) close() { p.child.Close() }

// ask has a worker process do one piece of work.
func ask[In, Out any](ctx context.Context, p *process, name string, in In) (Out, error) {
	var out Out
	body, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("encoding %s: %w", name, err)
	}
	r := request{Work: name, Body: body}
	if !p.knows {
		r.Sample = p.given
	}
	out, err = isolate.Ask[request, Out](ctx, p.child, r)
	p.knows = err == nil // a process that died is started again without the sample
	return out, err
}
