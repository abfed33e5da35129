// Package rewrite writes a part of a sample anew, in other layouts or at another place, and has it measured there: what
// --try and --compare-path of bench-io do.
//
// It promises that nothing is written beside a scratch folder of its own, which it removes on every way out, that no
// folder of the dataset is chosen for that, and that files are read and written in a child process only (package
// isolate), which may write there and nowhere else. How a sample is measured is its caller's to know (Bench).
package rewrite

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
)

// Bench is the run that a rewritten sample is measured in.
type Bench interface {
	// Left is what remains of the time there is, never less than nothing.
	Left() time.Duration
	// Sound lists the sample's items that could be read so far, in storage order.
	Sound() []int
	// Note takes into account what could not be read of the sample.
	Note(failures []dataset.Failure)
	// CanBeCold reports whether reads of the sample can be cold.
	CanBeCold(ctx context.Context) (bool, error)
	// Read measures a sample within a limit.
	Read(ctx context.Context, c Copy, limit time.Duration) error
	// Spare is how much memory may be taken now, in bytes.
	Spare() int64
	Warn(text string)
	Abstain(reason, cure string)
}

// Copy is a sample held against another: read at random, decoded as a job does, warm and, where possible, cold.
type Copy struct {
	What   string // for people
	Keep   func(benchmark.Read)
	Sample *dataset.Sample
	Key    string // what reading it may get stuck on
	Cold   bool
}

// Job is a sample that is to be rewritten.
type Job struct {
	Bench
	Runner  *isolate.Runner
	Sample  *dataset.Sample
	Layout  *dataset.Access // HDF5: the dataset that is read; nil for other kinds
	Rows    *benchmark.Rows // what is measured goes there
	Key     string          // what children may get stuck on: the mount of the dataset
	Seed    uint64          // of what is drawn
	Scratch string          // folder for candidates; "" is os.TempDir()
	Other   string          // path of another tier
}

// leastCompare is what reading a sample may take however little of the time is left.
const leastCompare = 300 * time.Millisecond

var errNoneReadable = errors.New("none of the sampled items could be read")

// noRoom reports whether an error is that of a disk or a quota without room, or of a file beyond what is allowed.
func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}

// Task is the name of the task that makes scratch folders and writes into them.
const Task = "rewrite"

// request asks a child for one of three things.
type request struct {
	Make   *scratchAsk
	Remove *scratchGone
	Write  *plan
	Sample *dataset.Sample // to Write of
}

// Handler returns the handler of one child.
func Handler() isolate.Handler { return isolate.Decoded(new(child).serve) }

type child struct {
	lock *os.File // of the scratch folder that this process keeps
}

func (c *child) serve(ctx context.Context, r request) (any, error) {
	switch {
	case r.Make != nil:
		return c.makeScratch(*r.Make)
	case r.Remove != nil:
		return struct{}{}, removeScratch(ctx, *r.Remove)
	case r.Write != nil && r.Sample != nil:
		w := newWriter(ctx, *r.Sample, *r.Write)
		defer w.Forget()
		return w.write()
	}
	return nil, errors.New("nothing was asked for")
}

// memory and openFiles bound a child: the largest picture that is decoded has half a gigabyte, beside its file.
const (
	memory    = dataset.PictureMemory
	openFiles = 1024
	slowest   = 20 * time.Second // beyond what it is to take: one item from a slow network disk
)

// write has a child, which may get stuck on the dataset, write the sample anew in files of at most fileBytes.
func (j *Job) write(ctx context.Context, q plan, fileBytes int64) (rewritten, error) {
	only := j.Sample.Within(true)
	if only == nil {
		only = []string{"/"}
	}
	return isolate.Call[request, rewritten](ctx, j.Runner, isolate.Spec{Task: Task, Key: j.Key,
		Timeout: writeTakes + slowest, Only: only, Write: []string{string(q.Into)},
		Limits: isolate.Limits{MemoryBytes: memory, OpenFiles: openFiles, FileBytes: fileBytes,
			CPUSeconds: int64((writeTakes + slowest).Seconds())}}, request{Write: &q, Sample: j.Sample})
}
