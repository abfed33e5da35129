package hook

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Config says on whose behalf messages are taken.
type Config struct {
	// Identify names a process by its entity, "process/<pid>.<start>", and says whether it belongs to the job. pid is
	// as this process sees it. It is called from a goroutine of the receiver's own, one call at a time, and not again
	// for a process that it knows.
	Identify func(pid int) (entity string, ok bool)
	// Redaction is applied to every name before it is recorded.
	Redaction untrusted.Redaction
	// SyncPoints has the hook time the methods of Tensor that wait for the GPU, which it otherwise leaves alone.
	SyncPoints bool
	// Acts has the hook take orders, and puts the Python that follows them beside it: see Receiver.Controls.
	Acts bool
	// Folder is the one the job was started in: files below it are named relative to it.
	Folder string
}

// Receiver takes what the hook reports. State may be asked from any goroutine, also after Close.
type Receiver struct {
	folder *folder
	socket *socket
	orders *orders // nil: the hook takes none
	token  string
	closed chan struct{} // Close was called
	ended  chan struct{} // the goroutine that listens has ended
	once   sync.Once

	mu     sync.Mutex // guards what follows
	ledger *ledger
	err    error // why listening ended early
	left   error // why the folder could not be removed
}

// New makes the private folder with the hook in it, binds the socket and begins to listen. Close undoes it.
func New(c Config) (*Receiver, error) {
	files, err := sources(c.Acts)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("this pipetune was built without its hook: build it from a complete source tree")
	}
	secret := make([]byte, 16)
	if _, err := rand.Read(secret); err != nil {
		return nil, fmt.Errorf("making the hook's token: %w", err)
	}
	dir, err := makeFolder(parents(os.Getenv, os.Geteuid()), files)
	if err != nil {
		return nil, err
	}
	s, err := bind(dir.path)
	if err != nil {
		return nil, errors.Join(err, dir.remove())
	}
	r := &Receiver{folder: dir, socket: s, token: hex.EncodeToString(secret), closed: make(chan struct{}),
		ended: make(chan struct{})}
	r.ledger = newLedger(c, r.token, uint32(os.Geteuid()))
	if c.Acts {
		if r.orders, err = takeOrders(dir.path, r.token, r.admit); err != nil {
			return nil, errors.Join(err, s.conn.Close(), dir.remove())
		}
	}
	go r.listen()
	return r, nil
}

// listen drains the socket until it is closed.
func (r *Receiver) listen() {
	defer close(r.ended)
	slice, reads := procfs.Monotonic(), 0
	for {
		data, from, whole, err := r.socket.receive()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				r.mu.Lock()
				r.err = fmt.Errorf("listening to the hook ended: %w", err)
				r.mu.Unlock()
			}
			return
		}
		at := procfs.Monotonic()
		r.mu.Lock()
		r.ledger.take(from, data, whole, at)
		r.ledger.sweep(at)
		r.mu.Unlock()
		if at-slice >= readSlice {
			slice, reads = at, 0
		}
		if reads++; reads < readsPerSlice {
			continue
		}
		select {
		case <-r.closed:
			return
		case <-time.After(slice + readSlice - at):
		}
	}
}

// admit says whether a process may be given orders: one of this user's that belongs to the job.
func (r *Receiver) admit(peer sender) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if peer.uid != r.ledger.uid || peer.pid <= 0 {
		return "", false
	}
	return r.ledger.identify(peer.pid)
}

// Controls are the trainers that take orders now, in the order they first asked for a batch; none without Config.Acts.
func (r *Receiver) Controls() []*Control {
	if r.orders == nil {
		return nil
	}
	return r.orders.list()
}

// Environ returns env with what the job needs to load the hook: PYTHONPATH with the folder first, the socket and the
// token.
func (r *Receiver) Environ(env []string) []string {
	hook, before, seen := r.Python(), "", false
	list := make([]string, 0, len(env)+3)
	for _, e := range env {
		switch name, value, _ := strings.Cut(e, "="); name {
		case EnvSocket, EnvToken, EnvSyncPoints, EnvOrders:
		case "PYTHONPATH":
			if !seen { // of several, C programs see the first
				before, seen = value, true
			}
		default:
			list = append(list, e)
		}
	}
	if before != "" {
		hook += string(os.PathListSeparator) + before
	}
	if r.ledger.config.SyncPoints { // which never changes
		list = append(list, EnvSyncPoints+"=1")
	}
	if r.orders != nil {
		list = append(list, EnvOrders+"="+r.orders.path)
	}
	return append(list, "PYTHONPATH="+hook, EnvSocket+"="+r.Socket(), EnvToken+"="+r.token)
}

// Python is the folder that Environ puts first into PYTHONPATH.
func (r *Receiver) Python() string { return filepath.Join(r.folder.path, pythonFolder) }

// Socket is where the receiver listens.
func (r *Receiver) Socket() string { return filepath.Join(r.folder.path, socketName) }

// Align tells the moment of CLOCK_MONOTONIC at which the recording began.
func (r *Receiver) Align(start time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.start = start
}

// State returns what was reported so far.
func (r *Receiver) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.ledger.state()
	s.Err = errors.Join(r.err, r.left)
	return s
}

// Begin begins a recording. The receiver has listened since it was made: the first Sample records what began before. A
// second one has all of the first again but for the epochs.
func (r *Receiver) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.anew()
}

// Sample records what was reported until now.
func (r *Receiver) Sample(sink recording.Sink) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger.record(sink, procfs.Monotonic())
	if r.err != nil {
		sink.Unseen("hook_*", "", r.err.Error(), "")
	}
}

// Close ends listening and removes the folder. It may be called more than once. What was reported stays known.
func (r *Receiver) Close() {
	r.once.Do(func() {
		close(r.closed)
		failed := r.socket.conn.Close()
		<-r.ended
		if r.orders != nil {
			failed = errors.Join(failed, r.orders.close())
		}
		left := r.folder.remove()
		if left != nil {
			left = fmt.Errorf("removing the hook's private folder %s: %w", r.folder.path, left)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.left = errors.Join(failed, left)
	})
}

// Try makes the private folder and the socket as New does, and removes them. parent is the folder they were made in, or
// the one of the user's own below it; see shelter.
func Try() (parent string, err error) {
	r, err := New(Config{Identify: func(int) (string, bool) { return "", false }})
	if err != nil {
		return "", err
	}
	r.Close()
	parent = filepath.Dir(r.folder.path)
	if filepath.Base(parent) == fmt.Sprintf(shelterName, os.Geteuid()) {
		parent = filepath.Dir(parent)
	}
	return parent, r.State().Err
}
