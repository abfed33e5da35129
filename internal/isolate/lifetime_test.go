package isolate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

func TestCloseLeavesNothing(t *testing.T) {
	r := newRunner(t)
	for _, task := range []string{"count", "count"} {
		must.Get(Ask[struct{}, int](t.Context(), r.Child(Spec{Task: task}), struct{}{}))(t)
	}
	pids := r.Children()
	if len(pids) != 2 {
		t.Fatalf("children %v", pids)
	}
	r.Close()
	for _, pid := range pids {
		waitFor(t, "the children to be gone", func() bool { return gone(pid) })
	}
	if _, err := Call[int, int](t.Context(), r, Spec{Task: "echo"}, 1); !errors.Is(err, errClosed) {
		t.Errorf("a closed runner: %v", err)
	}
}

// parent is a pipetune that is killed: it starts an idle child, a busy one and one that ignores SIGTERM, prints their
// ids and waits.
func parent() {
	r := New(Config{Args: []string{"__child"}})
	ctx := context.Background()
	_, _ = Ask[struct{}, int](ctx, r.Child(Spec{Task: "count"}), struct{}{})
	for _, how := range []string{"cpu", "ignore SIGTERM"} {
		go func() { _, _ = Ask[string, int](ctx, r.Child(Spec{Task: "die", Timeout: time.Minute}), how) }()
	}
	for len(r.Children()) < 3 {
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	fmt.Println(strings.Trim(fmt.Sprint(r.Children()), "[]"))
	select {}
}

func TestNoChildOutlivesAKilledParent(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "__parent")
	out := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	line := must.Get(bufio.NewReader(out).ReadString('\n'))(t)
	must.Do(t, cmd.Process.Kill())
	_ = cmd.Wait()
	pids := strings.Fields(line)
	if len(pids) != 3 {
		t.Fatalf("children %q", line)
	}
	for _, field := range pids {
		var pid int
		fmt.Sscan(field, &pid)
		waitFor(t, "child "+field+" to be gone", func() bool { return gone(pid) })
	}
}

// paused is a pipetune that is stopped while it waits for an answer.
func paused() {
	r := New(Config{Args: []string{"__child"}})
	defer r.Close()
	c := r.Child(Spec{Task: "slow", Timeout: 2 * time.Second})
	_, first := Ask[int, string](context.Background(), c, 1)
	fmt.Println("waiting", first)
	_, second := Ask[int, string](context.Background(), c, 1)
	fmt.Println("answered", second)
}

func TestPauseOfPipetuneIsNoTimeout(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", "__paused")
	pipe := must.Get(cmd.StdoutPipe())(t)
	must.Do(t, cmd.Start())
	out := bufio.NewReader(pipe)
	if line, err := out.ReadString('\n'); line != "waiting <nil>\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	time.Sleep(50 * time.Millisecond) // into the second request
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(3 * time.Second) // beyond its limit
	_ = cmd.Process.Signal(syscall.SIGCONT)
	if line, err := out.ReadString('\n'); line != "answered <nil>\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestNothingLeaks makes children of every fate and holds descriptors and goroutines to what they were.
func TestNothingLeaks(t *testing.T) {
	r := newRunner(t)
	round := func() {
		_, _ = Call[string, string](t.Context(), r, Spec{Task: "echo"}, "x")
		_, _ = Call[string, int](t.Context(), r, Spec{Task: "die"}, "exit 7")
		_, _ = Call[string, int](t.Context(), r, Spec{Task: "die"}, "garbage")
		_, _ = Call[string, int](t.Context(), r, Spec{Task: "die", Timeout: 20 * time.Millisecond,
			Grace: 10 * time.Millisecond}, "hang")
		_, _ = Call[string, int](t.Context(), r, Spec{Task: "no such task"}, "x")
		waitFor(t, "all children to end", func() bool { return len(r.Children()) == 0 && r.Stuck() == 0 })
	}
	descriptors := func() int {
		entries := must.Get(os.ReadDir("/proc/self/fd"))(t)
		return len(entries)
	}
	round()
	before, goroutines := descriptors(), runtime.NumGoroutine()
	for range 20 {
		round()
	}
	waitFor(t, "descriptors and goroutines to be given back", func() bool {
		return descriptors() <= before && runtime.NumGoroutine() <= goroutines
	})
}
