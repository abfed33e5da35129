// Package isolate runs pipetune's own risky calls in child processes. libhdf5, image decoders and NVML can crash, hang
// or grow without bound, and a system call on a hung mount makes a process unkillable until the mount answers; in a
// child all of that is an error value.
//
// It promises: a request ends within its time limit, whatever the child does; a child never outlives pipetune, not
// even when pipetune is killed; Ctrl-C on the terminal does not reach it; it cannot gain privileges, dump core or take
// more than its limits, nor write a file unless they say how large; it cannot run programs, reach other processes or
// machines, nor, where its Spec names files, read others; a child that cannot be killed is abandoned, at most
// one per key (a mount) and four in all. It refuses to wait for a child without a limit, to retry behind the caller's
// back, and to run anything but pipetune's own executable.
package isolate

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// Config says how children are started. The zero value of each field has the meaning given with it.
type Config struct {
	// Executable is what to run; "" is /proc/self/exe, which is this very program even after an upgrade on disk.
	Executable string
	// Args come before the task's name: {"__child"} runs `pipetune __child TASK`, whose handler must call Serve.
	Args []string
	// Environ is the caller's environment, os.Environ() of the program; of it only LD_LIBRARY_PATH is ever passed on.
	Environ []string
	// Foreign says that the watched job belongs to another user. Then nothing of Environ reaches a child.
	Foreign bool
	// Extra is added to the child's environment as it is; for tests.
	Extra []string
	// Cooldown is how long a key is refused after a time-out although its child could be killed; 0 is 30 s, so that a
	// folder of thousands of files on a slow mount costs one time-out, not thousands.
	Cooldown time.Duration
	// Now is the clock; nil is time.Now, of which only the monotonic part is used.
	Now func() time.Time
}

// Bounds of the whole Runner.
const (
	// MaxStuck is how many children may be abandoned and unreaped at a time. node_exporter uses four workers for
	// statfs for the same reason: each one stuck is a process the person sees in state D.
	MaxStuck = 4
	// MaxRestarts is how often one long-lived child is started again after it died.
	MaxRestarts = 3

	// for the kernel, the program and its greeting each; 15 ms in all on an idle machine, seconds on one that swaps
	startLimit   = 10 * time.Second
	defaultLimit = time.Second            // for one request when the Spec names none
	defaultGrace = 300 * time.Millisecond // between SIGTERM and SIGKILL
	reapLimit    = 500 * time.Millisecond // between the end of the pipe or SIGKILL and the exit status
)

// Runner starts children and keeps the account of those that are stuck. One serves a whole program. Its methods may
// be called from several goroutines.
type Runner struct {
	config Config
	fork   *launcher

	mu      sync.Mutex
	keys    map[string]*keyState
	stuck   int           // abandoned and not reaped
	leaving int           // told to end without being late; they have their grace
	asking  int           // requests under way that may get stuck
	changed chan struct{} // closed, and replaced, whenever one of the above falls or stuck grows
	alive   map[*process]struct{}
	closed  bool
}

type keyState struct {
	asking    bool      // a request is under way
	abandoned int       // children on this key that were given up and have not been reaped
	until     time.Time // refused until then after a time-out
}

// New returns a Runner. It starts nothing until the first request. Close ends it.
func New(config Config) *Runner {
	config.Executable = cmp.Or(config.Executable, "/proc/self/exe")
	config.Cooldown = cmp.Or(config.Cooldown, 30*time.Second)
	if config.Now == nil {
		config.Now = time.Now
	}
	return &Runner{config: config, fork: newLauncher(startLimit), keys: map[string]*keyState{},
		changed: make(chan struct{}), alive: map[*process]struct{}{}}
}

// Close ends every child and returns within the longest grace and half a second, also when some cannot be killed.
// Later requests fail.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	r.wake()
	children := slices.Collect(maps.Keys(r.alive))
	r.mu.Unlock()
	wait := defaultGrace
	for _, p := range children {
		p.end()
		wait = max(wait, p.spec.grace())
	}
	deadline := time.Now().Add(wait + reapLimit)
	for _, p := range children {
		select {
		case <-p.done:
		case <-time.After(time.Until(deadline)):
			p.kill()
		}
	}
	r.fork.close()
}

// Children returns the process ids of the living children, the abandoned among them, so that the caller can count
// their memory and CPU time as its own.
func (r *Runner) Children() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pids []int
	for p := range r.alive {
		pids = append(pids, p.pid)
	}
	return pids
}

// enter waits for the leave to make a request, and counts it. Requests on one key go one after the other, so that a
// mount can hold one child at most; and no more are under way or stuck than MaxStuck in all, so that they cannot all
// get stuck together; a child that was told to end takes such a place for its grace. A request to a child that runs
// already and serves one purpose (running) does not wait for the latter: what hangs elsewhere does not take its child
// away. A *StuckError refuses at once.
func (r *Runner) enter(ctx context.Context, key string, running bool) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		state := r.key(key)
		switch {
		case r.closed:
			return nil, errClosed
		case key != "" && (state.abandoned > 0 || r.config.Now().Before(state.until)):
			return nil, &StuckError{Key: key}
		case !running && r.stuck >= MaxStuck:
			return nil, &StuckError{}
		case (running || r.stuck+r.leaving+r.asking < MaxStuck) && !(key != "" && state.asking):
			state.asking = true
			if !running {
				r.asking++
			}
			return func() { r.leave(state, running) }, nil
		}
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		r.mu.Lock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

func (r *Runner) leave(state *keyState, running bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state.asking = false
	if !running {
		r.asking--
	}
	r.wake()
}

// wake lets everybody in enter look again. The lock must be held.
func (r *Runner) wake() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// key returns the state of a key. The lock must be held.
func (r *Runner) key(key string) *keyState {
	state := r.keys[key]
	if state == nil {
		state = &keyState{}
		r.keys[key] = state
	}
	return state
}

var errClosed = errors.New("starting a child: the runner is closed")

// admits says whether one more child may be started.
func (r *Runner) admits() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	if r.stuck >= MaxStuck {
		return &StuckError{}
	}
	return nil
}

// register takes a child that runs into the account; false when the runner was closed meanwhile.
func (r *Runner) register(p *process) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.alive[p] = struct{}{}
	return !r.closed
}

func (r *Runner) forget(p *process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.alive, p)
}

// part ends a child that nobody waits for any more, after Ctrl-C say. That is no sign that it hangs: it counts as stuck
// only when it has not gone after its grace.
func (r *Runner) part(p *process) {
	r.mu.Lock()
	r.leaving++
	r.mu.Unlock()
	p.end()
	go func() {
		stays := 0
		select {
		case <-p.done:
		case <-time.After(p.spec.grace() + reapLimit):
			stays = 1
		}
		r.account(-1, stays)
		if stays > 0 {
			<-p.done
			r.account(0, -stays)
		}
	}()
}

func (r *Runner) account(leaving, stuck int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leaving += leaving
	r.stuck += stuck
	r.wake()
}

// abandon gives up a child that did not answer in time. It returns at once; the child counts as stuck until it has
// been reaped, which may be never.
func (r *Runner) abandon(p *process, key string) {
	r.mu.Lock()
	state := r.key(key)
	state.abandoned++
	state.until = r.config.Now().Add(r.config.Cooldown)
	r.stuck++
	r.wake()
	r.mu.Unlock()
	p.end()
	go func() {
		<-p.done
		r.mu.Lock()
		defer r.mu.Unlock()
		state.abandoned--
		r.stuck--
		r.wake()
	}()
}
