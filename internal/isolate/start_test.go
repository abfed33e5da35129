package isolate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/must"
)

// TestHungProgram starts a child whose program lies on a mount that hangs, so that execve does not come back.
func TestHungProgram(t *testing.T) {
	if ownNamespace(t) {
		return
	}
	for _, op := range []hungmount.Op{hungmount.Open, hungmount.Read} {
		mount := t.TempDir()
		hung := must.Get(hungmount.Start(mount, op))(t)
		r := New(Config{Args: []string{"__child"}, Executable: filepath.Join(mount, hungmount.File)})
		stop := watchOwnThreads(t)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := Call[int, int](ctx, r, Spec{Task: "echo"}, 1)
			ended <- err
		}()
		waitFor(t, "the kernel to hold the child", func() bool { return hung.Hanging() > 0 })
		// A collection stops all of Go's processors. It would wait for one that is inside a fork.
		begin := time.Now()
		runtime.GC()
		collected := time.Since(begin)
		select {
		case err := <-ended:
			t.Fatalf("nothing can have come of the start: %v", err)
		default:
		}
		cancel()
		begin = time.Now()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("a start that was given up: %v", err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("giving up took %v", took)
		}
		var pids []int // whoever starts it learns of it after it has begun
		waitFor(t, "the child to be known", func() bool { pids = r.Children(); return len(pids) == 1 })
		waitFor(t, "the child to count as stuck", func() bool { return r.Stuck() == 1 })
		r.config.Executable = "/proc/self/exe" // the next start is as good as any
		if got, err := Call[int, int](t.Context(), r, Spec{Task: "echo"}, 1); got != 1 || err != nil {
			t.Errorf("the next start: %d, %v", got, err)
		}
		stop()
		must.Do(t, hung.Release())
		waitFor(t, "the account to be even", func() bool { return r.Stuck() == 0 && len(r.Children()) == 0 })
		for _, pid := range pids {
			if _, err := os.Stat(fmt.Sprint("/proc/", pid)); err == nil {
				t.Errorf("child %d was not reaped", pid)
			}
		}
		r.Close()
		t.Logf("a collection took %v while execve hung", collected.Round(time.Microsecond))
		if collected > 5*time.Second {
			t.Errorf("a collection took %v", collected)
		}
	}
}

// TestStartNobodyWaitsFor gives starts up at every moment. Each child is ended and reaped, and the next start succeeds.
func TestStartNobodyWaitsFor(t *testing.T) {
	r := newRunner(t)
	for i := range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*300*time.Microsecond)
		_, err := Call[int, int](ctx, r, Spec{Task: "echo"}, 1)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("start %d: %v", i, err)
		}
		if i%10 == 9 {
			if got, err := Call[int, int](t.Context(), r, Spec{Task: "echo", Timeout: time.Minute}, i); got != i ||
				err != nil {
				t.Fatalf("after start %d: %d, %v", i, got, err)
			}
		}
	}
	waitFor(t, "all children to be reaped", func() bool { return len(r.Children()) == 0 && r.Stuck() == 0 })
	if own := ownChildren(t); len(own) > 0 {
		t.Errorf("left behind: %q", own)
	}
}

// TestManyGivenUpAtOnce is Ctrl-C in the middle of a crowd: what is to be removed then is removed by a new child.
func TestManyGivenUpAtOnce(t *testing.T) {
	r := newRunner(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	var crowd []*Child
	for range 3 * MaxStuck {
		c := r.Child(Spec{Task: "die", Timeout: time.Minute, Grace: 100 * time.Millisecond})
		if _, err := Ask[string, int](t.Context(), c, "error"); !errors.As(err, new(*RemoteError)) {
			t.Fatal(err)
		}
		crowd = append(crowd, c)
	}
	for _, c := range crowd {
		go func() {
			_, err := Ask[string, int](ctx, c, "ignore SIGTERM")
			ended <- err
		}()
	}
	cancel()
	for range crowd {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if got, err := Call[int, int](t.Context(), r, Spec{Task: "echo", Timeout: time.Minute}, 1); got != 1 || err != nil {
		t.Errorf("the next start: %d, %v", got, err)
	}
}

// TestCancelledAsItAnswers ends the context of a request at about the moment of its answer. Whatever comes of that one,
// the next is not cut short.
func TestCancelledAsItAnswers(t *testing.T) {
	r := newRunner(t)
	c := r.Child(Spec{Task: "echo", Timeout: time.Minute})
	defer c.Close()
	usual := time.Millisecond
	answered, cancelled := 0, 0
	for i := range 3000 {
		ctx, cancel := context.WithCancel(t.Context())
		at := time.AfterFunc(usual*time.Duration(i%16)/8, cancel)
		begin := time.Now()
		_, err := Ask[int, int](ctx, c, i)
		switch {
		case err == nil:
			answered++
			usual = (7*usual + time.Since(begin)) / 8
		case errors.Is(err, context.Canceled):
			cancelled++
		default:
			t.Fatalf("request %d: %v", i, err)
		}
		at.Stop()
		cancel()
		if err == nil || i%20 == 0 { // a new child each time would take long
			if got, err := Ask[int, int](t.Context(), c, -i); got != -i || err != nil {
				t.Fatalf("after request %d: %d, %v", i, got, err)
			}
		}
		if cancelled > 150 {
			break
		}
	}
	if answered == 0 || cancelled == 0 {
		t.Errorf("%d answered and %d cancelled: it was not about the moment of the answer", answered, cancelled)
	}
	t.Logf("%d answered, %d cancelled, an answer takes %v", answered, cancelled, usual)
}

// TestLauncherIsStuckByTimeOnly has a start that does not come back.
func TestLauncherIsStuckByTimeOnly(t *testing.T) {
	const limit = 300 * time.Millisecond
	l := newLauncher(limit)
	defer l.close()
	come := make(chan struct{})
	late := make(chan *started, 1)
	child := &started{}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	var err error
	waitFor(t, "the thread to take a start whose caller has gone", func() bool {
		_, begun, e := l.do(gone, func() (*started, error) { <-come; return child, nil },
			func(s *started) { late <- s })
		err = e
		return begun
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a start that was given up: %v", err)
	}
	begin := time.Now()
	_, begun, err := l.do(t.Context(), func() (*started, error) { return child, nil }, nil)
	if begun || !errors.Is(err, ErrStuck) {
		t.Errorf("a start behind one that does not come back: %v", err)
	}
	if took := time.Since(begin); took < limit/2 {
		t.Errorf("it was refused after %v already", took)
	}
	close(come)
	if got := <-late; got != child {
		t.Error("the child of the start that was given up has no owner")
	}
	waitFor(t, "the thread to be free again", func() bool {
		got, _, err := l.do(t.Context(), func() (*started, error) { return child, nil }, nil)
		return got == child && err == nil
	})
}

// inherited is what a child finds that it was not reported.
type inherited struct {
	Descriptors         []string
	SigBlk, SigIgn, Dir string
	Argv                []string
}

func describeInherited(context.Context, json.RawMessage) (any, error) {
	var in inherited
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "/proc/") &&
			!strings.HasPrefix(target, "/sys/fs/cgroup/") {
			// Go's own
			kind, _, _ := strings.Cut(target, ":")
			in.Descriptors = append(in.Descriptors, e.Name()+" "+kind)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		switch name, value, _ := strings.Cut(line, ":\t"); name {
		case "SigBlk":
			in.SigBlk = value
		case "SigIgn":
			in.SigIgn = value
		}
	}
	in.Dir, err = os.Getwd()
	in.Argv = os.Args
	return in, err
}

// TestNothingIsInherited gives the parent an open file without close-on-exec and an ignored signal, as a library or the
// shell that started pipetune may.
func TestNothingIsInherited(t *testing.T) {
	leak := must.Get(unix.Open("/", unix.O_RDONLY, 0))(t)
	defer unix.Close(leak)
	signal.Ignore(unix.SIGUSR2)
	defer signal.Reset(unix.SIGUSR2)
	r := newRunner(t, func(c *Config) { c.Extra = []string{"ODD= =\n"} })
	got := must.Get(Call[struct{}, inherited](t.Context(), r, Spec{Task: "inherited", Timeout: time.Minute},
		struct{}{}))(t)
	want := inherited{
		Descriptors: []string{"0 /dev/null", "1 /dev/null", "2 pipe", "3 pipe", "4 pipe"},
		SigBlk:      "0000000000000000", SigIgn: "0000000000000000", Dir: "/",
		Argv: []string{"pipetune", "__child", "inherited"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// ownChildren lists the processes whose parent this one is, zombies among them.
func ownChildren(t *testing.T) (found []string) {
	t.Helper()
	tasks := must.Get(filepath.Glob("/proc/self/task/*/children"))(t)
	for _, task := range tasks {
		children, _ := os.ReadFile(task) // a thread may end
		found = append(found, strings.Fields(string(children))...)
	}
	return found
}
