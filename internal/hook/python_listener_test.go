package hook_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/hook/trackernoise"
	"github.com/pipetune/pipetune/internal/must"
)

// python is the interpreter that the hook is tested in: the one that $PYTHON names, or Debian's.
var python = must.Interpreter()

// lacking is which of some modules the interpreter does not have, in words; "" where it has all. None is imported.
func lacking(modules string) string {
	out, err := exec.Command(python, "-c", "import importlib.util as u, sys; [u.find_spec(m) or exit(m + ' is "+
		"missing') for m in sys.argv[1].split()]", modules).CombinedOutput()
	if err != nil {
		return fmt.Sprintf("%s: %s (%v)", python, bytes.TrimSpace(out), err)
	}
	return ""
}

var lackingTorch = sync.OnceValue(func() string { return lacking("torch h5py PIL") })

// needTorch fails where the interpreter has no PyTorch, with what to do about it: the hook is about nothing else.
func needTorch(t *testing.T) {
	t.Helper()
	if why := lackingTorch(); why != "" {
		t.Fatalf("%s\napt-get install -y python3-torch python3-h5py python3-pil, or name another interpreter with "+
			"PYTHON", why)
	}
}

// datagram is a message as the hook's tests look at it.
type datagram struct {
	V      int
	Token  string
	Kind   string
	PID    int
	Seq    int64
	At     int64
	Lost   int64
	Untold int64
	Parent int
	Python string
	Rank   *int
	Reason string
	Loader *int
	Made   map[string]any
	Epoch  *struct {
		Number, Steps, Wait, Wall, Create int64
		FirstWait                         *int64 `json:"first_wait"`
		Drain, Draw, Redraw               *int64
		Workers                           []int
		Born                              int
		Grad, Ended                       bool
	}
	Steps map[string]any
	Work  map[string]any
	Sites []siteSeen
	bytes int
}

type siteSeen struct {
	Kind, What, File, Function string
	Line                       int
	Calls, Time                int64
}

// listener is a socket that the hook speaks to, opened by the test itself.
type listener struct {
	t         *testing.T
	fd        int
	path      string
	folder    string // PYTHONPATH's
	paused    atomic.Bool
	datagrams chan []byte
	received  []datagram
}

// listen opens the socket, and lays out the hook in a folder as for a job, for a test that may run beside others.
func listen(t *testing.T) *listener {
	t.Helper()
	t.Parallel()
	return listenAlone(t)
}

// listenAlone does so for a test that others must leave alone.
func listenAlone(t *testing.T) *listener {
	t.Helper()
	needTorch(t)
	dir := t.TempDir()
	e := &listener{t: t, path: filepath.Join(dir, "socket"), folder: filepath.Join(dir, "importlib._bootstrap"),
		datagrams: make(chan []byte, maxPending)}
	must.Do(t, os.CopyFS(e.folder, os.DirFS("python")))
	fd := must.Get(unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0))(t)
	must.Do(t, unix.Bind(fd, &unix.SockaddrUnix{Name: e.path}))
	must.Do(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50000}))
	e.fd = fd
	ended, over := make(chan struct{}), make(chan struct{})
	go e.drain(ended, over)
	t.Cleanup(func() {
		close(ended)
		<-over
		unix.Close(fd)
	})
	return e
}

// maxPending is how many messages a test may leave untaken; the jobs here send some hundreds.
const maxPending = 1 << 16

// drain empties the socket, which holds some ten messages, and does nothing else: what ends waits 3 ms for its last
// message to be taken. Its thread comes before the jobs' where the system lets it, as root: tests run beside others.
func (e *listener) drain(ended <-chan struct{}, over chan<- struct{}) {
	defer close(over)
	runtime.LockOSThread() // never unlocked: the thread ends with its priority
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
	buf := make([]byte, 64<<10)
	for {
		select {
		case <-ended:
			return
		default:
		}
		if e.paused.Load() {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		n, _, err := unix.Recvfrom(e.fd, buf, 0)
		switch {
		case err == nil:
			e.datagrams <- bytes.Clone(buf[:n])
		case !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR):
			e.t.Error(err)
			return
		}
	}
}

// outcome is how a job ended.
type outcome struct {
	stdout, stderr string
	status         int
}

// run runs a job with the hook and takes in what it tells until the job is over and nothing more comes.
func (e *listener) run(env []string, args ...string) outcome {
	e.t.Helper()
	ended := make(chan outcome, 1)
	go func() { ended <- run(e.t, append(e.environ(), env...), args...) }()
	e.t.Cleanup(func() { e.paused.Store(false) })
	for {
		select {
		case o := <-ended:
			for e.take() {
			}
			return o
		case data := <-e.datagrams:
			e.read(data)
		}
	}
}

// ran runs a job with the hook that has to end well, without a word on stderr, and returns what it printed.
func (e *listener) ran(env []string, args ...string) string {
	e.t.Helper()
	o := e.run(env, args...)
	if o.status != 0 || o.stderr != "" {
		e.t.Fatalf("job ended with %+v", o)
	}
	return o.stdout
}

// prints does so with a job of which it is known what it prints.
func (e *listener) prints(want string, env []string, args ...string) {
	e.t.Helper()
	if got := e.ran(env, args...); got != want {
		e.t.Fatalf("the job printed %q, want %q", got, want)
	}
}

// figures does so with a job of testdata that prints figures, and reads them.
func (e *listener) figures(job string, into ...any) {
	e.t.Helper()
	printed := e.ran(nil, script(e.t, job))
	must.Get(fmt.Sscan(printed, into...))(e.t)
}

func (e *listener) environ() []string {
	return append(os.Environ(), "PIPETUNE_HOOK_SOCKET="+e.path, "PIPETUNE_HOOK_TOKEN=secret", "PYTHONPATH="+e.folder,
		"PYTHONDONTWRITEBYTECODE=1")
}

// take takes in one message; false where none came for a while.
func (e *listener) take() bool {
	e.t.Helper()
	select {
	case data := <-e.datagrams:
		e.read(data)
		return true
	case <-time.After(100 * time.Millisecond):
		return false
	}
}

func (e *listener) read(data []byte) {
	e.t.Helper()
	d := datagram{bytes: len(data)}
	if err := json.Unmarshal(data, &d); err != nil {
		e.t.Errorf("datagram %q: %v", data, err)
	}
	if d.V != 1 || d.Token != "secret" || d.PID == 0 || d.Seq == 0 || len(data) > 16<<10 {
		e.t.Errorf("datagram of %d bytes: %+v", len(data), d)
	}
	e.received = append(e.received, d)
}

// run runs a job to its end.
func run(t *testing.T, env []string, args ...string) outcome {
	cmd := exec.Command(python, args...)
	cmd.Env = env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Error(err)
	}
	rest, warnings := trackernoise.Strip(stderr.String())
	if warnings > 0 {
		t.Logf("%d warnings of Python's resource tracker taken out of stderr: bare jobs write them too", warnings)
	}
	return outcome{stdout.String(), rest, cmd.ProcessState.ExitCode()}
}

// script names a job of testdata.
func script(t *testing.T, name string) string {
	t.Helper()
	return must.Get(filepath.Abs(filepath.Join("testdata", name)))(t)
}

// line finds where a text stands in a script.
func line(t *testing.T, name, text string) int {
	t.Helper()
	data := must.Get(os.ReadFile(name))(t)
	before, _, found := strings.Cut(string(data), text)
	if !found {
		t.Fatalf("%s has no %q", name, text)
	}
	return strings.Count(before, "\n") + 1
}

// last returns the newest message of a kind for which keep holds.
func (e *listener) last(kind string, keep func(datagram) bool) (datagram, bool) {
	var newest datagram
	for _, d := range e.received {
		if d.Kind == kind && d.Seq > newest.Seq && keep(d) {
			newest = d
		}
	}
	return newest, newest.Seq > 0
}

// staysOn fails where the hook has switched itself off in a process.
func (e *listener) staysOn() {
	e.t.Helper()
	if off, ok := e.last("off", func(datagram) bool { return true }); ok {
		e.t.Errorf("the hook went off: %s", off.Reason)
	}
}

// asWithout runs a job without the hook and with it. It fails where the job ends badly, or where the hook shows in what
// the job prints or ends with, or goes off. It returns what came of the job.
func (e *listener) asWithout(env []string, args ...string) outcome {
	e.t.Helper()
	want, got := run(e.t, append(without(), env...), args...), e.run(env, args...)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" || want.status != 0 {
		e.t.Errorf("status %d: %s\nwithout and with the hook (-without +with):\n%s", want.status, want.stderr, diff)
	}
	e.staysOn()
	return got
}

// trained returns, by process in the order they were first heard of, the newest totals of its first loader.
func (e *listener) trained() (totals []map[string]any) {
	at := map[int]int{} // by process number
	for _, d := range e.received {
		if d.Kind != "steps" || d.Steps == nil || *d.Loader != 0 {
			continue
		}
		if _, known := at[d.PID]; !known {
			at[d.PID] = len(totals)
			totals = append(totals, nil)
		}
		totals[at[d.PID]] = d.Steps
	}
	return totals
}

// made returns what was reported the loaders of a process, by number.
func (e *listener) made() []map[string]any {
	var made []map[string]any
	for n := 0; ; n++ {
		d, ok := e.last("loader", func(d datagram) bool { return *d.Loader == n && d.Made != nil })
		if !ok {
			return made
		}
		made = append(made, d.Made)
	}
}

// steps returns a loader's newest totals.
func (e *listener) steps(number int) map[string]any {
	d, _ := e.last("steps", func(d datagram) bool { return *d.Loader == number && d.Steps != nil })
	return d.Steps
}

// work adds up what all processes did for a loader: each one's newest totals.
func (e *listener) work(number int) (totals map[string]float64, processes int) {
	newest := map[int]datagram{}
	for _, d := range e.received {
		if d.Kind == "work" && d.Work != nil && *d.Loader == number && d.Seq > newest[d.PID].Seq {
			newest[d.PID] = d
		}
	}
	totals = map[string]float64{}
	for _, d := range newest {
		for key, value := range d.Work {
			if f, ok := value.(float64); ok {
				totals[key] += f
			}
		}
	}
	return totals, len(newest)
}

// sites returns the newest totals of all lines of one kind, those of several processes added up.
func (e *listener) sites(kind string) map[siteSeen]int64 {
	type key struct {
		pid, loader int
		site        siteSeen
	}
	newest := map[key]int64{}
	for _, d := range e.received {
		for _, s := range d.Sites {
			if s.Kind == kind {
				calls := s.Calls
				s.Calls, s.Time = 0, 0
				k := key{d.PID, *d.Loader, s}
				newest[k] = max(newest[k], calls)
			}
		}
	}
	sums := map[siteSeen]int64{}
	for k, calls := range newest {
		sums[k.site] += calls
	}
	return sums
}
