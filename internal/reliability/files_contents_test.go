//go:build reliability

package reliability

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/must"
)

// contentsTask is what this test's own program does as a child: it reads the item that bench-io's child reads, by the
// same packages, and says what it holds. bench-io's children tell nobody an item's bytes.
const contentsTask = "contents"

// TestMain lets the test's program be the child that reads contents.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "__child" {
		requests, answers := isolate.Pipes()
		os.Exit(isolate.Serve(isolate.Table{contentsTask: contents, dataset.SurveyTask: dataset.SurveyHandler},
			os.Args[2], requests, answers))
	}
	if signal.Ignored(syscall.SIGHUP) {
		// under nohup. What the trials start is to meet it as from a terminal, and what is caught here is not ignored
		// there
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	os.Exit(m.Run())
}

// Contents distinguishes items: what bytes one has, and of a picture its shape.
type Contents struct {
	SHA256                        string
	Bytes                         int64
	Width, Height, Channels, Bits int
}

func (c Contents) String() string {
	if c.Width == 0 {
		return fmt.Sprintf("%d bytes", c.Bytes)
	}
	return fmt.Sprintf("%d x %d x %d of %d bits", c.Width, c.Height, c.Channels, c.Bits)
}

// contents is the child's handler for the first item of a sample.
func contents(_ context.Context, body json.RawMessage) (any, error) {
	var sample dataset.Sample
	if err := json.Unmarshal(body, &sample); err != nil {
		return nil, err
	}
	h, err := sample.Open(sample.Files[0])
	if err != nil {
		return nil, err
	}
	item, err := h.Read(sample.Items[0], nil)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	var out Contents
	if sample.Kind == dataset.Image {
		var d dataset.Decoder
		p, _, err := d.Decode(item)
		if err != nil {
			return nil, errors.Join(err, h.Close())
		}
		out, item = Contents{Width: p.Width, Height: p.Height, Channels: p.Channels, Bits: p.Bits}, p.Bytes
	}
	out.Bytes, out.SHA256 = int64(len(item)), fmt.Sprintf("%x", sha256.Sum256(item))
	return out, h.Close()
}

// own reads items by this program's own children.
type own struct{ runner *isolate.Runner }

func newOwn(s *stand) *own {
	r := isolate.New(isolate.Config{Args: []string{"__child"}})
	s.Cleanup(r.Close)
	return &own{r}
}

// ownAnswer is the first item of a file, or why there is none.
type ownAnswer struct {
	Contents
	Kind    dataset.Kind // as what the file was read
	Dataset string       // of an HDF5 file
	Index   int64
	err     error
}

// read does what reader's read does, and learns what the item holds.
func (o *own) read(ctx context.Context, path string) (a ownAnswer) {
	r := &reader{runner: o.runner, limit: examineLimit}
	defer r.close()
	found, err := r.look(ctx, path, oneItem)
	sample := found.Sample
	if err == nil && len(sample.Items) == 0 {
		err = errors.New("there are no items")
	}
	if err != nil {
		return ownAnswer{err: err}
	}
	child := o.runner.Child(isolate.Spec{Task: contentsTask, Timeout: examineLimit,
		Limits: isolate.Limits{MemoryBytes: sample.ReadMemory(), OpenFiles: 1024}})
	defer child.Close()
	a.Kind, a.Dataset, a.Index = sample.Kind, sample.Dataset, sample.Items[0].Index
	a.Contents, a.err = isolate.Ask[dataset.Sample, Contents](ctx, child, sample)
	return a
}

// question asks another library for the item that pipetune has read; where it has read none, for what that library
// reads of the file.
type question struct {
	Path    string
	Part    string // hdf5 or pictures
	Dataset string // of an HDF5 file
	Index   int64
	Read    bool
}

// otherAnswer is an item, or why there is none.
type otherAnswer struct {
	Item  *Contents
	Why   string
	Notes string // what is peculiar about the picture
}

// other is an interpreter that answers questions with h5py and Pillow.
type other struct {
	ask   func(question) (otherAnswer, error)
	close func()
}

func newOther(s *stand) *other {
	s.Helper()
	script := s.testdata("reliability/contents.py")
	cmd := exec.Command(s.python, "-B", script)
	cmd.Stderr = os.Stderr
	in := must.Get(cmd.StdinPipe())(s)
	out := must.Get(cmd.StdoutPipe())(s)
	must.Do(s, cmd.Start())
	lines := bufio.NewReader(out)
	ask := func(q question) (a otherAnswer, err error) {
		line, err := json.Marshal(q)
		if err != nil {
			return a, err
		}
		if _, err := in.Write(append(line, '\n')); err != nil {
			return a, err
		}
		answer, err := lines.ReadBytes('\n')
		if err != nil {
			return a, fmt.Errorf("reading the answer: %w", err)
		}
		return a, json.Unmarshal(answer, &a)
	}
	end := func() {
		_ = in.Close() // its end is what tells
		if _, err := io.Copy(io.Discard, lines); err != nil {
			s.Error(err)
		}
		watch := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		defer watch.Stop()
		if err := cmd.Wait(); err != nil {
			s.Errorf("%s: %v", script, err)
		}
	}
	return &other{ask: ask, close: end}
}
