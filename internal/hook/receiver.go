package hook

import (
	"context"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Config says on whose behalf messages are taken.
type Config struct {
	// Dir is the folder the private folder is made in; "" is XDG_RUNTIME_DIR, else TMPDIR, else /tmp.
	Dir string
	// Identify names a process by its entity, "process/<pid>.<start>", and says whether it belongs to the job. pid is as this process sees it.
	Identify func(pid int) (entity string, ok bool)
	// Redaction is applied to every name before it is recorded.
	Redaction untrusted.Redaction
	// Folder is the one the job was started in: files below it are named relative to it.
	Folder string
}

// Receiver takes what the hook tells. It is a sampler; State may be asked from any goroutine.
type Receiver struct{}

// State is what was told so far.
type State struct {
	Loaded   int       // processes that said hello
	Refused  int64     // messages from other users, strangers, or without the token
	Trainers []Trainer // those that made an iterator, by process number
}

// Trainer is a process that goes over a DataLoader.
type Trainer struct {
	PID        int    // as this process sees it
	Steps      int64  // batches taken, all loaders
	Off        string // why the hook switched itself off there; "" where it did not
	Executable string
	Call       Call
}

// Call is where the training loop's DataLoader was constructed, as the job named it: for making a patch, never for a recording.
type Call struct {
	File   string // absolute
	Line   int
	Folder string // the folder the job worked in then
}

// New makes the private folder with the hook in it, binds the socket and begins to listen. Close undoes it.
func New(c Config) (*Receiver, error) { panic("receiver helper") }

// Environ returns env with what the job needs to load the hook: PYTHONPATH with the folder first, the socket and the token.
func (r *Receiver) Environ(env []string) []string { panic("receiver helper") }

// Align tells the moment of CLOCK_MONOTONIC at which the recording began.
func (r *Receiver) Align(start time.Duration) { panic("receiver helper") }

// State returns what was told so far.
func (r *Receiver) State() State { panic("receiver helper") }

// Name implements sampler.Sampler.
func (r *Receiver) Name() string { return "hook" }

// Every implements sampler.Sampler.
func (r *Receiver) Every() time.Duration { return 100 * time.Millisecond }

// Start implements sampler.Sampler.
func (r *Receiver) Start(ctx context.Context, sink recording.Sink) error { panic("receiver helper") }

// Sample implements sampler.Sampler.
func (r *Receiver) Sample(ctx context.Context, sink recording.Sink) { panic("receiver helper") }

// Close ends listening and removes the folder. It may be called more than once.
func (r *Receiver) Close() { panic("receiver helper") }
