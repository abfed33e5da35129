package hook

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/recording"
)

// EnvOrders names the socket through which a hook is told to act on the job. It is set, and the Python that acts is in
// the private folder, only where Config.Acts asks for it.
const EnvOrders = "PIPETUNE_HOOK_ORDERS"

const ordersName = "orders" // in the private folder

// The orders.
const (
	OrderCount  = "count"  // answer with RowCount
	OrderReplay = "replay" // from step From on hand out the last batches, Keep at most, in place of the loader's

	OrderDescribe = "describe" // answer with RowLoader
	// go over a loader with the settings of Candidate alone: RowMade, RowChunk …, RowDone or RowDied
	OrderCandidate = "candidate"
	OrderStop      = "stop" // end that
	// hand out the batches of a loader with the settings of Candidate in the loop, without one the loader's own:
	// RowChunk …
	OrderUse = "use"
)

// Order is one instruction to a trainer.
type Order struct {
	Order string `json:"order"` // one of those above
	From  int64  `json:"from"`  // step from which on, counted as RowCount does
	Keep  int    `json:"keep"`  // batches of each loop

	Candidate *Candidate `json:"candidate,omitempty"`
}

// Candidate is the settings of a loader that is tried over the job's own dataset, sampler, collate_fn and
// worker_init_fn.
type Candidate struct {
	NumWorkers        int     `json:"num_workers"`
	PrefetchFactor    int     `json:"prefetch_factor"`
	PersistentWorkers bool    `json:"persistent_workers"`
	PinMemory         bool    `json:"pin_memory"`
	BatchSize         int     `json:"batch_size"` // 0: as the loader has it
	Seconds           float64 `json:"seconds"`    // to go over it alone
	Patience          float64 `json:"patience"`   // seconds that its workers may take for a batch
}

// The rows that a trainer answers with.
const (
	rowHere   = "here"   // it goes over a loader: the first row of a line, with the token
	RowCount  = "count"  // Steps: batches that training has asked for so far, in Time
	RowReplay = "replay" // batches are handed out again: Kept, Copied
	RowChunk  = "chunk"  // Steps steps without a loader took Time
	RowFailed = "failed" // acting has ended here: Why
	RowLoader = "loader" // what the training loop's loader is: Made, Batches, and Why it cannot be made again
	RowMade   = "made"   // a candidate's first batch came after Time; its workers are PIDs
	RowDone   = "done"   // its time is over
	RowDied   = "died"   // it, or its workers, did: Why
)

// Row is one answer; its kind says which fields count.
type Row struct {
	Row    string        `json:"row"`
	Token  string        `json:"token"`
	Steps  int64         `json:"steps"`
	Time   time.Duration `json:"time"`
	Filled bool          `json:"filled"` // the workers had nothing left to make when the chunk began
	Void   bool          `json:"void"`   // something else was gone over meanwhile, as in an evaluation
	Kept   int           `json:"kept"`   // batches
	Copied bool          `json:"copied"` // the loop changes what it is handed, so it is handed copies
	Why    string        `json:"why"`

	Made    *recording.Loader `json:"made"`
	Batches int               `json:"batches"` // of an epoch; 0: not known
	PIDs    []int             `json:"pids"`    // as the trainer knows them
}

// sound says whether a row is one that the hook can have sent.
func (r Row) sound() bool {
	return r.Batches >= 0 && r.Steps >= 0 && r.Steps <= maxCount && r.Time >= 0 && r.Time <= maxTime && r.Kept >= 0 &&
		r.Kept <= maxCount && len(r.Why) <= 4*MaxString
}

// heldRows is how many rows of one trainer wait to be read; it sends one a second.
const heldRows = 256

// Control is the connection to a trainer that takes orders.
type Control struct {
	PID    int
	Entity string // "process/<pid>.<start>"
	conn   *net.UnixConn
	rows   chan Row
}

// Send gives an order.
func (a *Control) Send(o Order) error {
	data, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("writing an order: %w", err)
	}
	if err := a.conn.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	_, err = a.conn.Write(data)
	return err
}

// Rows are its answers; closed when it is gone.
func (a *Control) Rows() <-chan Row { return a.rows }

// orders takes the lines of trainers that act.
type orders struct {
	path     string
	listener *net.UnixListener
	done     sync.WaitGroup

	mu       sync.Mutex
	controls []*Control
	closed   bool
}

// takeOrders begins to listen. admit names the process of a peer, and says whether it is of the job.
func takeOrders(dir, token string, admit func(peer sender) (string, bool)) (*orders, error) {
	o := &orders{path: filepath.Join(dir, ordersName)}
	listener, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: o.path, Net: "unixpacket"})
	if err != nil {
		return nil, fmt.Errorf("listening for a hook that acts: %w", err)
	}
	o.listener = listener
	if err := os.Chmod(o.path, 0o600); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	o.done.Go(func() { o.accept(token, admit) })
	return o, nil
}

func (o *orders) accept(token string, admit func(sender) (string, bool)) {
	for {
		conn, err := o.listener.AcceptUnix()
		if err != nil {
			return // closed: nothing else ends a listener that was made
		}
		peer := peerOf(conn)
		entity, ok := admit(peer)
		a := &Control{PID: peer.pid, Entity: entity, conn: conn, rows: make(chan Row, heldRows)}
		o.mu.Lock()
		if ok = ok && !o.closed && len(o.controls) < maxTrainers; ok {
			o.done.Go(func() { o.listen(a, token) })
		}
		o.mu.Unlock()
		if !ok {
			conn.Close()
		}
	}
}

// listen reads one trainer's rows. It takes orders from the first one on, which has to hold the token.
func (o *orders) listen(a *Control, token string) {
	defer close(a.rows)
	defer a.conn.Close()
	buf, known := make([]byte, MaxMessage), false
	for {
		n, err := a.conn.Read(buf)
		if err != nil || n == 0 {
			break
		}
		var row Row
		if json.Unmarshal(buf[:n], &row) != nil || !row.sound() {
			break
		}
		if known {
			select {
			case a.rows <- row:
			default: // nobody reads: what is new counts for as little as what is held
			}
			continue
		}
		if row.Row != rowHere || subtle.ConstantTimeCompare([]byte(row.Token), []byte(token)) != 1 {
			break
		}
		known = true
		o.mu.Lock()
		o.controls = append(o.controls, a)
		o.mu.Unlock()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.controls = slices.DeleteFunc(o.controls, func(each *Control) bool { return each == a })
}

func (o *orders) list() []*Control {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.controls)
}

// close ends all lines; hooks then hand out their loaders' batches again.
func (o *orders) close() error {
	o.mu.Lock()
	o.closed = true
	controls := slices.Clone(o.controls)
	o.mu.Unlock()
	err := o.listener.Close()
	for _, a := range controls {
		a.conn.Close()
	}
	o.done.Wait()
	return err
}

// peerOf is who is at the other end.
func peerOf(conn *net.UnixConn) sender {
	peer := nobody
	if raw, err := conn.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // an error leaves nobody, who is refused
			if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				peer = sender{pid: int(cred.Pid), uid: cred.Uid}
			}
		})
	}
	return peer
}
