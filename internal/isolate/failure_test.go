package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

func TestDeathsHaveCauses(t *testing.T) {
	r := newRunner(t)
	for _, tc := range []struct {
		how    string
		signal syscall.Signal
		code   int
		line   string
	}{
		{"exit 7", 0, 7, `the last \x1b[31mwords`},
		{"SIGKILL", syscall.SIGKILL, -1, ""},
		{"SIGABRT", syscall.SIGABRT, 2, "SIGABRT: abort"},
		{"SIGSEGV", syscall.SIGSEGV, 2, "SIGSEGV: segmentation violation"},
		{"nil pointer", 0, 2, "panic: runtime error: invalid memory address or nil pointer dereference"},
		{"wild pointer", 0, 2, ""},
		{"panic", 0, 2, "panic: cannot go on"},
		{"1 GB of stderr", 0, 5, "the end"},
	} {
		t.Run(tc.how, func(t *testing.T) {
			_, err := Call[string, int](t.Context(), r, Spec{Task: "die", Timeout: 4 * time.Minute}, tc.how)
			death := new(DeathError)
			if !errors.As(err, &death) {
				t.Fatalf("got %v", err)
			}
			if tc.how == "wild pointer" { // the runtime's wording depends on the address
				if death.Line == "" || death.ExitCode != 2 {
					t.Errorf("got %+v", death)
				}
				return
			}
			// A signal sent by kill(2) may be caught by the runtime (exit 2 and a line) or kill at once.
			if death.Signal != tc.signal || tc.line != "" && death.Line != tc.line && death.ExitCode != -1 ||
				tc.signal == 0 && death.ExitCode != tc.code {
				t.Errorf("got %+v", death)
			}
		})
	}
}

func TestNonsense(t *testing.T) {
	r := newRunner(t)
	for _, how := range []string{"garbage", "wrong number", "1 GB"} {
		begin := time.Now()
		_, err := Call[string, int](t.Context(), r, Spec{Task: "die", Timeout: 5 * time.Second}, how)
		garbage := new(GarbageError)
		if !errors.As(err, &garbage) {
			t.Errorf("%s: %v", how, err)
		}
		if strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("%s: raw text in %q", how, err)
		}
		if took := time.Since(begin); took > 4*time.Second {
			t.Errorf("%s: %v", how, took)
		}
	}
}

func TestTimeoutThenRefusal(t *testing.T) {
	now := time.Now()
	r := newRunner(t, func(c *Config) { c.Now = func() time.Time { return now }; c.Cooldown = time.Minute })
	spec := Spec{Task: "die", Key: "/mnt/slow", Timeout: 100 * time.Millisecond, Grace: 50 * time.Millisecond}
	_, err := Call[string, int](t.Context(), r, spec, "hang")
	late := new(TimeoutError)
	if !errors.As(err, &late) || late.Key != "/mnt/slow" {
		t.Fatalf("a hang: %v", err)
	}
	_, err = Call[string, int](t.Context(), r, spec, "hang")
	if stuck := new(StuckError); !errors.Is(err, ErrStuck) || !errors.As(err, &stuck) || stuck.Key != "/mnt/slow" {
		t.Errorf("the same key again: %v", err)
	}
	spec.Timeout = time.Minute // for what answers: it has all the time it wants
	other := spec
	other.Key = "/mnt/other"
	if _, err := Call[string, int](t.Context(), r, other, "error"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another key: %v", err)
	}
	waitFor(t, "the child to be reaped", func() bool { return r.Stuck() == 0 })
	now = now.Add(2 * time.Minute)
	if _, err := Call[string, int](t.Context(), r, spec, "error"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the cool-down: %v", err)
	}
}

func TestSIGTERMIgnored(t *testing.T) {
	r := newRunner(t)
	c := r.Child(Spec{Task: "die", Timeout: 200 * time.Millisecond, Grace: 100 * time.Millisecond})
	_, err := Ask[string, int](t.Context(), c, "ignore SIGTERM")
	if !errors.As(err, new(*TimeoutError)) {
		t.Fatalf("got %v", err)
	}
	waitFor(t, "SIGKILL to work", func() bool { return r.Stuck() == 0 && len(r.Children()) == 0 })
}

func TestAtMostFourStuck(t *testing.T) {
	r := newRunner(t)
	// The grace is long, so that these children stay abandoned and alive during the test as if they could not be
	// killed.
	for i := range MaxStuck {
		_, err := Call[string, int](t.Context(), r, Spec{Task: "die", Key: fmt.Sprint("/mnt/", i),
			Timeout: 50 * time.Millisecond, Grace: 10 * time.Minute}, "ignore SIGTERM")
		if !errors.As(err, new(*TimeoutError)) {
			t.Fatalf("child %d: %v", i, err)
		}
	}
	if r.Stuck() != MaxStuck {
		t.Fatalf("%d stuck", r.Stuck())
	}
	_, err := Call[string, int](t.Context(), r, Spec{Task: "echo", Key: "/mnt/new"}, "x")
	stuck := new(StuckError)
	if !errors.As(err, &stuck) || stuck.Key != "" {
		t.Errorf("one more child: %v", err)
	}
	r.mu.Lock()
	for p := range r.alive {
		p.kill()
	}
	r.mu.Unlock()
	waitFor(t, "the slots to be free again", func() bool { return r.Stuck() == 0 })
	if _, err := Call[string, string](t.Context(), r, Spec{Task: "echo", Key: "/mnt/new"}, "x"); err != nil {
		t.Errorf("after they ended: %v", err)
	}
}

// TestNonsenseRequests plays a parent that writes what no parent writes: the child answers or ends, and never hangs.
func TestNonsenseRequests(t *testing.T) {
	r := newRunner(t)
	c := r.Child(Spec{Task: "echo", Timeout: time.Minute})
	defer c.Close()
	must.Get(Ask[string, string](t.Context(), c, "x"))(t)
	must.Get(io.WriteString(c.proc.requests, "not json\n"))(t)
	line, err := readLine(c.proc.reader, maxLine)
	if err != nil || !strings.Contains(string(line), "decoding the request") {
		t.Errorf("got %q, %v", line, err)
	}
	var out bytes.Buffer
	for _, hello := range []string{"", "x\n", `{"limits":7}` + "\n"} {
		if code := Serve(testTable(), "echo", strings.NewReader(hello), &out); code != 1 || out.Len() > 0 {
			t.Errorf("greeting %q: exit code %d, answer %q", hello, code, out.String())
		}
	}
}
