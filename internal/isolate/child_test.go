package isolate

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/must"
)

func TestCall(t *testing.T) {
	r := newRunner(t)
	type thing struct {
		Name string
		Many []int
	}
	in := thing{Name: "a \"b\"\n", Many: []int{1, 2}}
	got, err := Call[thing, thing](t.Context(), r, Spec{Task: "echo"}, in)
	if err != nil || !cmp.Equal(got, in) {
		t.Fatalf("got %+v, %v", got, err)
	}
	if _, err := Call[thing, []int](t.Context(), r, Spec{Task: "echo"}, in); !errors.As(err, new(*GarbageError)) {
		t.Errorf("an answer of another type gives %v", err)
	}
	_, err = Call[int, int](t.Context(), r, Spec{Task: "nothing of this name"}, 1)
	if death := new(DeathError); !errors.As(err, &death) || death.ExitCode != 1 ||
		!strings.Contains(death.Line, "no such task") {
		t.Errorf("an unknown task gives %v", err)
	}
	broken := newRunner(t, func(c *Config) { c.Executable = "/nonexistent/program" })
	if _, err := Call[int, int](t.Context(), broken, Spec{Task: "echo"}, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing program gives %v", err)
	}
}

func TestChildKeepsState(t *testing.T) {
	c := newRunner(t).Child(Spec{Task: "count"})
	defer c.Close()
	for want := 1; want <= 5; want++ {
		got, err := Ask[struct{}, int](t.Context(), c, struct{}{})
		if err != nil || got != want {
			t.Fatalf("request %d: %d, %v", want, got, err)
		}
	}
	if c.Starts() != 1 {
		t.Errorf("%d starts", c.Starts())
	}
	// A child asked to end runs what was registered for its end.
	proc := c.proc
	c.Close()
	<-proc.done
	if line := proc.stderr.line(); line != "closed after 5" {
		t.Errorf("its last words: %q", line)
	}
	if _, err := Ask[struct{}, int](t.Context(), c, struct{}{}); err == nil {
		t.Error("a closed child answered")
	}
}

func TestHandlerErrors(t *testing.T) {
	c := newRunner(t).Child(Spec{Task: "die", Timeout: time.Minute})
	defer c.Close()
	_, err := Ask[string, int](t.Context(), c, "error")
	if remote := new(RemoteError); !errors.As(err, &remote) || !errors.Is(err, fs.ErrNotExist) ||
		remote.Error() != "opening x: no such file or directory" {
		t.Errorf("a handler's error: %v", err)
	}
	if _, err := Ask[string, int](t.Context(), c, "too much"); err == nil || !strings.Contains(err.Error(), "allowed") {
		t.Errorf("an answer of 5 MiB: %v", err)
	}
	if _, err := Ask[string, int](t.Context(), c, "channel"); err == nil || !strings.Contains(err.Error(),
		"unsupported type") {
		t.Errorf("an answer that cannot be encoded: %v", err)
	}
	if _, err := Ask[string, int](t.Context(), c, strings.Repeat("x", 5*mib)); err == nil ||
		!strings.Contains(err.Error(), "allowed") {
		t.Errorf("a request of 5 MiB: %v", err)
	}
	if c.Starts() != 1 {
		t.Errorf("errors of the handler cost %d starts", c.Starts())
	}
}

func TestRestarts(t *testing.T) {
	c := newRunner(t).Child(Spec{Task: "die"})
	defer c.Close()
	for i := range 1 + MaxRestarts {
		if _, err := Ask[string, int](t.Context(), c, "exit 7"); !errors.As(err, new(*DeathError)) ||
			errors.Is(err, ErrGaveUp) {
			t.Fatalf("death %d: %v", i+1, err)
		}
	}
	_, err := Ask[string, int](t.Context(), c, "exit 7")
	if !errors.Is(err, ErrGaveUp) || !errors.As(err, new(*DeathError)) || c.Starts() != 1+MaxRestarts {
		t.Errorf("after %d starts: %v", c.Starts(), err)
	}
}

func TestDeathBetweenRequests(t *testing.T) {
	c := newRunner(t).Child(Spec{Task: "count"})
	defer c.Close()
	must.Get(Ask[struct{}, int](t.Context(), c, struct{}{}))(t)
	_ = c.proc.child.Kill()
	<-c.proc.done
	if got, err := Ask[struct{}, int](t.Context(), c, struct{}{}); err != nil || got != 1 {
		t.Errorf("a new child starts from the beginning: %d, %v", got, err)
	}
}

func TestCancel(t *testing.T) {
	r := newRunner(t)
	ctx, cancel := context.WithCancel(t.Context())
	c := r.Child(Spec{Task: "die", Key: "/mnt/x", Timeout: time.Minute})
	time.AfterFunc(100*time.Millisecond, cancel)
	begin := time.Now()
	if _, err := Ask[string, int](ctx, c, "hang"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	if leave, err := r.enter(t.Context(), "/mnt/x", false); err != nil {
		t.Errorf("a cancelled request blames its key: %v", err)
	} else {
		leave()
	}
}
