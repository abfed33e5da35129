package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/storage"
)

// Task is the name of the worker processes' task in the table of children.
const Task = "probe"

// request asks a worker process for one piece of work. The sample comes with the first.
type request struct {
	Sample *dataset.Sample `json:",omitempty"`
	Work   string          // the name of a row of works
	Body   json.RawMessage
}

// state is what a worker process keeps between two pieces of work.
type state struct {
	dataset.Opened
	decoder dataset.Decoder
	pile    pile // of pictures that are decoded together
}

func newState(sample dataset.Sample, open func(dataset.Source, dataset.File) (dataset.Handle, error)) *state {
	return &state{Opened: dataset.NewOpened(sample, open)}
}

// work is one thing that worker processes do: what it is called, and how it is done there.
type work[In, Out any] struct {
	name string
	do   func(ctx context.Context, w *state, in In) (Out, error)
}

func (k work[In, Out]) ask(ctx context.Context, p *process, in In) (out Out, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("encoding %s: %w", k.name, err)
	}
	r := request{Work: k.name, Body: body}
	if !p.knows {
		r.Sample = p.given
	}
	out, err = isolate.Ask[request, Out](ctx, p.child, r)
	p.knows = err == nil // a process that died is started again without the sample
	return out, err
}

func (k work[In, Out]) serve(ctx context.Context, w *state, body json.RawMessage) (any, error) {
	return isolate.Decoded(func(ctx context.Context, in In) (any, error) { return k.do(ctx, w, in) })(ctx, body)
}

// works is the table of what worker processes do.
var works = map[string]func(ctx context.Context, w *state, body json.RawMessage) (any, error){
	loadWork.name: loadWork.serve, cacheWork.name: cacheWork.serve, directWork.name: directWork.serve,
	gatherWork.name: gatherWork.serve, decodeWork.name: decodeWork.serve,
}

// Handler returns the handler of one worker process.
func Handler() isolate.Handler { return handler(dataset.Source.Open) }

// handler is Handler with another way to open files, which tests use to have files that misbehave.
func handler(open func(dataset.Source, dataset.File) (dataset.Handle, error)) isolate.Handler {
	w := newState(dataset.Sample{}, open)
	return isolate.Decoded(func(ctx context.Context, r request) (any, error) {
		if r.Sample != nil {
			w.Forget()
			w.Sample = *r.Sample
		}
		serve := works[r.Work]
		if serve == nil {
			return nil, fmt.Errorf("no such work: %q", r.Work)
		}
		return serve(ctx, w, r.Body)
	})
}

// process is a worker process with the sample in it.
type process struct {
	child  *isolate.Child
	runner *isolate.Runner
	spec   isolate.Spec
	given  *dataset.Sample
	knows  bool
	pid    int  // once it has begun
	remote bool // likewise: the files lie on another machine or behind another process
}

// slowest is how long one piece of work may last beyond the time it is asked to take: one read.
const slowest = storage.SlowestRead

// process begins a worker process for a sample. It is started by the first piece of work.
func (s *session) process(given *dataset.Sample, takes time.Duration) *process {
	return s.processOn(s.options.Key, given, takes)
}

// processOn is process with what it may get stuck on; "" for nothing that others wait for.
func (s *session) processOn(key string, given *dataset.Sample, takes time.Duration) *process {
	spec := isolate.Spec{Task: Task, Key: key, Timeout: takes + slowest, Only: given.Within(given == &s.sample),
		Limits: isolate.Limits{MemoryBytes: given.ReadMemory(), OpenFiles: 1024}}
	return &process{child: s.runner.Child(spec), runner: s.runner, spec: spec, given: given}
}

func (p *process) close() { p.child.Close() }

// renew puts a fresh process in the place of one that died.
func (p *process) renew() {
	p.close()
	p.child, p.knows = p.runner.Child(p.spec), false
}

// begin starts the process, and returns the time from then on: a small part of the budget is not spent on that, which
// takes 20 ms on an idle machine and many times that on a busy one.
func (p *process) begin(ctx context.Context, within span) (span, error) {
	takes := within.left()
	out, err := cacheWork.ask(ctx, p, cacheAsk{})
	p.pid, p.remote = out.PID, out.Elsewhere
	return begin(within.now, takes), err
}
