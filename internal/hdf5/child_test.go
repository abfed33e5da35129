package hdf5

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// job is what a child process of a test does: libhdf5 may die on what it is given.
type job struct {
	Path      string
	Datasets  []string // to read
	Most      int      // items of each
	Rewrite   string   // where to copy the first dataset
	FileBytes uint64   // no file may grow beyond
	Only      bool     // read items, and nothing else of a dataset
	Mapped    int64    // address space beyond what it has at its start; 0 without a limit
}

// outcome is what a child process tells before it ends, one for each dataset.
type outcome struct {
	Items, Bytes int64
	Error        string
}

const childVariable = "PIPETUNE_HDF5_TEST_JOB"

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := json.NewEncoder(os.Stdout).Encode(j.do()); err != nil {
			os.Exit(1)
		}
		// As a Go program ends, without C's atexit: with the race detector, os.Exit runs those, and libhdf5 crashes in
		// its own when a file could not be closed on a full disk.
		syscall.Exit(0)
	}
	os.Exit(m.Run())
}

func (j job) do() (out []outcome) {
	if j.FileBytes > 0 {
		signal.Ignore(unix.SIGXFSZ) // writing beyond gives EFBIG then
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: j.FileBytes, Max: j.FileBytes}); err != nil {
			return []outcome{{Error: err.Error()}}
		}
	}
	if j.Mapped > 0 {
		if err := limitMapped(j.Mapped); err != nil {
			return []outcome{{Error: err.Error()}}
		}
	}
	if j.Rewrite != "" {
		_, n, err := Rewrite(j.Path, ReaderOptions{Dataset: j.Datasets[0]}, j.Rewrite, Relayout{Unfiltered: true})
		return []outcome{{Bytes: n, Error: fmt.Sprint(err)}}
	}
	for _, name := range j.Datasets {
		out = append(out, j.read(name))
	}
	return out
}

// limitMapped gives this process so much address space more, as pipetune's own children are given.
func limitMapped(more int64) error {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(statm), &pages); err != nil {
		return err
	}
	most := pages*uint64(os.Getpagesize()) + uint64(more)
	debug.SetMemoryLimit(more / 2)
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: most, Max: most})
}

// read does with a dataset all that a Reader can.
func (j job) read(name string) (out outcome) {
	r, err := OpenReader(j.Path, ReaderOptions{Dataset: name})
	if err != nil {
		return outcome{Error: err.Error()}
	}
	defer r.Close()
	var buf []byte
	shape := r.Shape()
	if len(shape) == 0 {
		return outcome{Error: "a scalar"}
	}
	for i := range min(shape[0], int64(j.Most)) {
		got, err := r.Item(i, buf)
		if err != nil {
			out.Error = err.Error()
			continue
		}
		buf = got
		out.Items++
		out.Bytes += int64(len(got))
	}
	if j.Only {
		return out
	}
	for _, err := range []error{r.all(shape), r.raw(shape)} {
		if err != nil {
			out.Error = err.Error()
		}
	}
	return out
}

func (r *Reader) all(shape []int64) error {
	_, err := r.Block(make([]int64, len(shape)), shape, nil)
	return err
}

func (r *Reader) raw(shape []int64) error {
	coord := make([]int64, len(shape))
	_, _, err := r.ChunkPlace(coord)
	if err == nil {
		_, _, _, err = r.RawBlock(coord, shape, nil)
	}
	return err
}

// child runs a job in a process of its own. ok says that the process lived; memory is the most it had at once, in
// bytes.
func child(t *testing.T, j job) (out []outcome, ok bool, memory int64) {
	t.Helper()
	text := must.Get(json.Marshal(j))(t)
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.WaitDelay = time.Second
	command.Env = []string{childVariable + "=" + string(text), "GOMEMLIMIT=512MiB", "GOTRACEBACK=none", "GOMAXPROCS=1",
		"GOGC=50", "MALLOC_ARENA_MAX=1"}
	raw, err := command.Output()
	if use, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		memory = use.Maxrss << 10
	}
	if err != nil {
		return nil, false, memory
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("a child answered %.200q: %v", raw, err)
	}
	return out, true, memory
}
