package probe

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/rewrite"
)

// TestMain makes this program its own worker process, where files whose names say so misbehave.
func TestMain(m *testing.M) {
	addMadeUp()
	if len(os.Args) > 2 && os.Args[1] == "__child" {
		requests, answers := isolate.Pipes()
		os.Exit(isolate.Serve(isolate.Table{Task: handler(openForTests), rewrite.Task: rewrite.Handler()}, os.Args[2],
			requests, answers))
	}
	os.Exit(m.Run())
}

// openForTests ends the process, as libhdf5 may, at files called "crash…" and at item 13 of "unlucky…".
func openForTests(s dataset.Source, f dataset.File) (dataset.Handle, error) {
	name := filepath.Base(string(f.Path))
	if strings.HasPrefix(name, "crash") {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	}
	h, err := s.Open(f)
	if err == nil && strings.HasPrefix(name, "unlucky") {
		return unlucky{h}, nil
	}
	return h, err
}

type unlucky struct{ dataset.Handle }

func (u unlucky) Read(item dataset.Ref, buf []byte) ([]byte, error) {
	if item.Index == 13 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGABRT)
		select {}
	}
	return u.Handle.Read(item, buf)
}

func newRunner(t testing.TB) *isolate.Runner {
	t.Helper()
	r := isolate.New(isolate.Config{Args: []string{"__child"}})
	t.Cleanup(r.Close)
	return r
}
