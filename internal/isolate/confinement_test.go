package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// self is what a child sees of its own confinement.
type self struct {
	Environment               []string
	NoNewPrivs                int
	Core, FileSize, OpenFiles uint64
	AddressSpaceAdded         int64
	OOMScoreAdj               string
	ProcessGroup, PID         int
	WriteError                string
	StdinIsNull               bool
}

func describeSelf(context.Context, json.RawMessage) (any, error) {
	var s self
	s.Environment = os.Environ()
	// no_new_privs is a property of each thread, so ask for all of them.
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil {
		return nil, err
	}
	for _, task := range tasks {
		status, _ := os.ReadFile(task)
		if strings.Contains(string(status), "NoNewPrivs:\t1") {
			s.NoNewPrivs++
		} else {
			s.NoNewPrivs -= 1000
		}
	}
	limit := func(resource int) uint64 {
		var l unix.Rlimit
		_ = unix.Getrlimit(resource, &l)
		return l.Max
	}
	s.Core, s.FileSize, s.OpenFiles = limit(unix.RLIMIT_CORE), limit(unix.RLIMIT_FSIZE), limit(unix.RLIMIT_NOFILE)
	mapped, _ := mappedBytes()
	s.AddressSpaceAdded = int64(limit(unix.RLIMIT_AS)) - mapped
	score, _ := os.ReadFile("/proc/self/oom_score_adj")
	s.OOMScoreAdj = strings.TrimSpace(string(score))
	s.ProcessGroup, s.PID = unix.Getpgrp(), os.Getpid()
	signal.Ignore(syscall.SIGXFSZ)
	if err := os.WriteFile(filepath.Join(os.TempDir(), "isolate-must-not-be-written"), []byte("x"), 0o600); err != nil {
		s.WriteError = err.Error()
	}
	os.Remove(filepath.Join(os.TempDir(), "isolate-must-not-be-written"))
	var in, null unix.Stat_t
	s.StdinIsNull = unix.Fstat(0, &in) == nil && unix.Stat("/dev/null", &null) == nil && in.Rdev == null.Rdev
	return s, nil
}

func TestChildIsConfined(t *testing.T) {
	r := newRunner(t, func(c *Config) {
		c.Environ = []string{"LD_LIBRARY_PATH=/lib-of-caller", "LD_PRELOAD=/x.so", "HDF5_PLUGIN_PATH=/evil",
			"PATH=.:/evil", "SECRET=1", "PYTHONPATH=/evil"}
		c.Extra = []string{"EXTRA=1"}
	})
	got := must.Get(Call[struct{}, self](t.Context(), r, Spec{Task: "self", Limits: Limits{MemoryBytes: 700 * mib,
		OpenFiles: 33}}, struct{}{}))(t)
	want := append(append([]string{}, fixedEnvironment...), "LD_LIBRARY_PATH=/lib-of-caller", "EXTRA=1")
	if diff := cmp.Diff(want, got.Environment); diff != "" {
		t.Errorf("environment: %s", diff)
	}
	if got.NoNewPrivs < 1 {
		t.Errorf("no_new_privs is missing on some thread: %d", got.NoNewPrivs)
	}
	if got.Core != 1 || got.FileSize != 0 || got.OpenFiles != 33 {
		t.Errorf("core %d, file size %d, open files %d", got.Core, got.FileSize, got.OpenFiles)
	}
	if got.AddressSpaceAdded < 300*mib || got.AddressSpaceAdded > 700*mib {
		t.Errorf("%d MiB of address space left of 700", got.AddressSpaceAdded/mib)
	}
	if got.OOMScoreAdj != "1000" {
		t.Errorf("oom_score_adj %s", got.OOMScoreAdj)
	}
	if got.ProcessGroup != got.PID {
		t.Errorf("process group %d of process %d", got.ProcessGroup, got.PID)
	}
	if !strings.Contains(got.WriteError, "file too large") {
		t.Errorf("writing a file: %q", got.WriteError)
	}
	if !got.StdinIsNull {
		t.Error("standard input is not /dev/null")
	}
	if status, _ := os.ReadFile("/proc/self/status"); strings.Count(string(status), "NoNewPrivs:\t0") != 1 {
		t.Error("this process lost its right to gain privileges")
	}
}

func TestEnvironmentOfAnotherUser(t *testing.T) {
	caller := []string{"LD_LIBRARY_PATH=/x", "SUDO_UID=1000"}
	for _, tc := range []struct {
		name   string
		config Config
		secure bool
		passed bool
	}{
		{"own job", Config{Environ: caller}, false, true},
		{"job of another user", Config{Environ: caller, Foreign: true}, false, false},
		{"set-user-id or sudo", Config{Environ: caller}, true, false},
	} {
		got := strings.Contains(strings.Join(childEnvironment(tc.config, tc.secure), " "), "LD_LIBRARY_PATH")
		if got != tc.passed {
			t.Errorf("%s: passed on: %v", tc.name, got)
		}
	}
	if !privileged(caller) || privileged(caller[:1]) {
		t.Error("sudo is not recognised by SUDO_UID")
	}
}

func TestLimitsEnd(t *testing.T) {
	r := newRunner(t)
	_, err := Call[string, int](t.Context(), r, Spec{Task: "die", Timeout: 4 * time.Minute,
		Limits: Limits{CPUSeconds: 1}}, "cpu")
	death := new(DeathError)
	if !errors.As(err, &death) || death.Signal != syscall.SIGXCPU && death.Signal != syscall.SIGKILL {
		t.Errorf("a busy loop: %v", err)
	}
	_, err = Call[string, int](t.Context(), r, Spec{Task: "die", Timeout: 4 * time.Minute,
		Limits: Limits{MemoryBytes: 256 * mib}}, "memory")
	if !errors.As(err, &death) || !strings.Contains(death.Line, "memory") &&
		!strings.Contains(death.Line, "address space") {
		t.Errorf("growing without end: %v", err)
	}
}

// toWrite asks a child for a file of that many bytes.
type toWrite struct {
	Path  string
	Bytes int
}

func TestFileBytes(t *testing.T) {
	r := newRunner(t)
	path := filepath.Join(t.TempDir(), "written")
	c := r.Child(Spec{Task: "write", Timeout: 20 * time.Second, Limits: Limits{FileBytes: mib}})
	defer c.Close()
	if _, err := Ask[toWrite, int](t.Context(), c, toWrite{path, mib}); err != nil {
		t.Errorf("a file as large as allowed: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != mib {
		t.Errorf("it was not written whole: %v, %v", info, err)
	}
	if _, err := Ask[toWrite, int](t.Context(), c, toWrite{path, mib + 1}); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a file one byte larger than allowed: %v", err)
	}
	if c.Starts() != 1 {
		t.Errorf("a file too large cost %d starts", c.Starts())
	}
	none := path + "-none"
	if _, err := Call[toWrite, int](t.Context(), r, Spec{Task: "write"}, toWrite{none, 1}); !errors.Is(err,
		syscall.EFBIG) {
		t.Errorf("a child that may write nothing: %v", err)
	}
	if info, err := os.Stat(none); err != nil || info.Size() != 0 {
		t.Errorf("it wrote all the same: %v, %v", info, err)
	}
}
