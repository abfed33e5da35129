package isolate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// pathsTask is the task every child knows.
const pathsTask = "paths"

// Paths asks the file system about paths that are not pipetune's own: datasets, mounts, output folders. Each call is
// made in a child, and ends with a *TimeoutError when the mount does not answer. The key is the mount point the path
// lies on (its longest prefix in /proc/self/mountinfo, which the caller knows without touching the path): after a
// time-out further calls with this key fail at once with ErrStuck. Names and paths are raw bytes here, because they
// must reach the kernel again as they are; pass them through the gate before they are shown or stored.
//
// Calls may come from several goroutines. One child serves them as long as they come one after the other; calls on
// other mounts meanwhile get children of their own, which are ended when they fall idle.
type Paths struct {
	runner *Runner
	spec   Spec
	rest   time.Duration

	mu     sync.Mutex
	idle   *Child
	ends   *time.Timer // rests the idle child
	deaths int
	closed bool
}

// restAfter is how long an idle child is kept. Starting one takes some 15 ms of CPU time, keeping one takes 3 MB of its
// own; a watch asks most of its questions in its first seconds.
const restAfter = 10 * time.Second

// pathLimit is how long one call may take. A disk that spins up or a loaded server answers a stat in some hundred
// milliseconds to a second; the person should hear of a mount that hangs within 5 s.
const pathLimit = 2 * time.Second

// Paths returns the service; its first process starts with the first call. Close ends it.
func (r *Runner) Paths() *Paths { return r.PathsWithin(pathLimit) }

// PathsWithin is Paths with another limit for one call.
func (r *Runner) PathsWithin(limit time.Duration) *Paths {
	// The child holds one folder's names at most.
	limits := Limits{MemoryBytes: 512 * mib, OpenFiles: 64}
	return &Paths{runner: r, spec: Spec{Task: pathsTask, Limits: limits, Timeout: limit}, rest: restAfter}
}

// Close ends the service's processes that are idle, and each other when its call is over.
func (p *Paths) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.endIdle()
}

// endIdle ends the idle child, if there is one. The lock must be held.
func (p *Paths) endIdle() {
	if p.idle != nil {
		p.ends.Stop()
		p.idle.Close()
		p.idle = nil
	}
}

// take returns a child that nobody else uses.
func (p *Paths) take() (*Child, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
		return nil, errors.New("asking about a path: the service is closed")
	case p.deaths > MaxRestarts:
		return nil, fmt.Errorf("the %s process %w, %d times", pathsTask, ErrGaveUp, p.deaths)
	}
	if p.idle == nil {
		return p.runner.Child(p.spec), nil
	}
	child := p.idle
	p.ends.Stop()
	p.idle = nil
	return child, nil
}

// giveBack keeps the child for the next call unless one is kept already.
func (p *Paths) giveBack(child *Child, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.As(err, new(*DeathError)) || errors.As(err, new(*GarbageError)) {
		p.deaths++
	}
	if p.idle != nil || p.closed {
		child.Close()
		return
	}
	p.idle = child
	p.ends = time.AfterFunc(p.rest, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.idle == child {
			p.endIdle()
		}
	})
}

// FileInfo is what stat(2) says. Mode holds the file type too, as the kernel gives it.
type FileInfo struct {
	Mode uint32 `json:"mode"`
}

// FileSystem is what statfs(2) says. Type is the magic number of linux/magic.h.
type FileSystem struct {
	Type       int64  `json:"type"`
	TotalBytes uint64 `json:"total_bytes"`
	FreeBytes  uint64 `json:"free_bytes"`
}

// Listing is a folder's first entries in the order the kernel gives them.
type Listing struct {
	Entries []Entry `json:"entries"`
	More    bool    `json:"more"` // there are more than were asked for
}

// Entry is one name in a folder. Type is DT_* of readdir(3): 4 folder, 8 regular file, 10 link, 0 not known.
type Entry struct {
	Name []byte `json:"name"`
	Type uint8  `json:"type"`
}

type pathRequest struct {
	Op    string `json:"op"`
	Path  []byte `json:"path"`
	Limit int    `json:"limit,omitempty"`
}

// Stat follows links. Errors beyond those of Ask satisfy errors.Is with fs.ErrNotExist and the like.
func (p *Paths) Stat(ctx context.Context, key, path string) (FileInfo, error) {
	return askPath[FileInfo](ctx, p, key, pathRequest{Op: "stat", Path: []byte(path)})
}

// Lstat does not follow a link at the end.
func (p *Paths) Lstat(ctx context.Context, key, path string) (FileInfo, error) {
	return askPath[FileInfo](ctx, p, key, pathRequest{Op: "lstat", Path: []byte(path)})
}

// Statfs describes the file system that path lies on.
func (p *Paths) Statfs(ctx context.Context, key, path string) (FileSystem, error) {
	return askPath[FileSystem](ctx, p, key, pathRequest{Op: "statfs", Path: []byte(path)})
}

// ReadDir lists at most limit entries; a limit outside 1..10,000 is an error.
func (p *Paths) ReadDir(ctx context.Context, key, path string, limit int) (Listing, error) {
	if limit < 1 || limit > maxEntries {
		return Listing{}, errors.New("listing a folder: the limit must lie between 1 and 10000")
	}
	return askPath[Listing](ctx, p, key, pathRequest{Op: "readdir", Path: []byte(path), Limit: limit})
}

// Head returns the first n bytes of a regular file, fewer when it is shorter; n at most 65,536. It refuses anything
// that is not a regular file: reading a FIFO or a device could take from somebody else.
func (p *Paths) Head(ctx context.Context, key, path string, n int) ([]byte, error) {
	if n < 1 || n > maxHead {
		return nil, errors.New("reading the start of a file: the length must lie between 1 and 65536")
	}
	return askPath[[]byte](ctx, p, key, pathRequest{Op: "head", Path: []byte(path), Limit: n})
}

func askPath[Out any](ctx context.Context, p *Paths, key string, in pathRequest) (Out, error) {
	child, err := p.take()
	if err != nil {
		var none Out
		return none, err
	}
	out, err := AskWithin[pathRequest, Out](ctx, child, key, child.spec.timeout(), in)
	p.giveBack(child, err)
	return out, err
}
