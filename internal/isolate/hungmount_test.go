package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/must"
)

// variants are the five ways in which a mount hangs under a tool that looks at it.
var variants = []struct {
	name string
	op   hungmount.Op
	ask  func(ctx context.Context, p *Paths, mount string) error
}{
	{"statfs", hungmount.Statfs, func(ctx context.Context, p *Paths, mount string) error {
		_, err := p.Statfs(ctx, mount, mount)
		return err
	}},
	{"getattr", hungmount.Getattr, func(ctx context.Context, p *Paths, mount string) error {
		_, err := p.Stat(ctx, mount, mount)
		return err
	}},
	{"lookup", hungmount.Lookup, func(ctx context.Context, p *Paths, mount string) error {
		_, err := p.Stat(ctx, mount, filepath.Join(mount, hungmount.File))
		return err
	}},
	{"open", hungmount.Open, func(ctx context.Context, p *Paths, mount string) error {
		_, err := p.Head(ctx, mount, filepath.Join(mount, hungmount.File), 16)
		return err
	}},
	{"read", hungmount.Read, func(ctx context.Context, p *Paths, mount string) error {
		_, err := p.Head(ctx, mount, filepath.Join(mount, hungmount.File), 16)
		return err
	}},
	{"readdir", hungmount.Readdir, func(ctx context.Context, p *Paths, mount string) error {
		_, err := p.ReadDir(ctx, mount, mount, 16)
		return err
	}},
}

// verdictLimit is how long a person may wait to hear that one path hangs: 5 s, and on a machine that is busy with other
// tests the time that some children take to start there, which is measured (20 ms on an idle one).
func verdictLimit(t *testing.T, r *Runner) time.Duration {
	t.Helper()
	begin := time.Now()
	must.Get(Call[pathRequest, FileSystem](t.Context(), r, Spec{Task: pathsTask, Timeout: time.Minute},
		pathRequest{Op: "statfs", Path: []byte("/")}))(t)
	return 5*time.Second + MaxStuck*time.Since(begin)
}

// ownNamespace runs the named test again inside a mount namespace of its own, so that nobody else on the machine
// walks into a mount that hangs, and reports whether the caller is outside and done. It needs root and /dev/fuse; a
// machine without them must say so in PIPETUNE_TEST_NO_FUSE=1, because a silent skip would look like a pass.
func ownNamespace(t *testing.T) (done bool) {
	t.Helper()
	if os.Getenv("PIPETUNE_TEST_NO_FUSE") == "1" {
		t.Log("PIPETUNE_TEST_NO_FUSE=1: hung mounts are not tested here")
		return true
	}
	if os.Getenv("PIPETUNE_TEST_INSIDE") == "1" {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatalf("making mounts private: %v", err)
		}
		return false
	}
	if os.Geteuid() != 0 {
		t.Fatal("this test mounts a file system and needs root; PIPETUNE_TEST_NO_FUSE=1 leaves it out")
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
	cmd.Env = append(os.Environ(), "PIPETUNE_TEST_INSIDE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	t.Logf("inside:\n%s", out)
	if err != nil {
		t.Fatalf("inside its own mount namespace: %v", err)
	}
	return true
}

// longSleep distinguishes a thread that waits for a mount that hangs, which goes on for as long as the test looks, from
// one that sleeps uninterruptibly for a moment: in clone(2) until its child has called execve, in an unmount, on a
// disk.
const longSleep = 500 * time.Millisecond

// watchOwnThreads looks at every thread of this process until stop is called, and fails where one was in state D for a
// long time.
func watchOwnThreads(t *testing.T) (stop func()) {
	quit, over := make(chan struct{}), make(chan struct{})
	seen, since := map[string]string{}, map[string]time.Time{}
	go func() {
		defer close(over)
		for {
			tasks, _ := filepath.Glob("/proc/self/task/*/stat")
			for _, task := range tasks {
				stat, err := os.ReadFile(task)
				if _, rest, _ := strings.Cut(string(stat), ") "); err != nil || !strings.HasPrefix(rest, "D") {
					delete(since, task)
					continue
				}
				if since[task].IsZero() {
					since[task] = time.Now()
				}
				if time.Since(since[task]) > longSleep {
					wchan, _ := os.ReadFile(filepath.Join(filepath.Dir(task), "wchan"))
					seen[task] = string(wchan)
				}
			}
			select {
			case <-quit:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(quit)
		<-over
		for task, where := range seen {
			t.Errorf("own thread %s was in state D, in %s", task, where)
		}
	}
}

func TestHungMount(t *testing.T) {
	if ownNamespace(t) {
		return
	}
	for _, variant := range variants {
		t.Run(variant.name, func(t *testing.T) {
			t.Parallel()
			var slow string
			for range 3 { // what is late once may be a machine that is busy with other tests
				if slow = hangIn(t, variant.op, variant.ask); slow == "" {
					return
				}
				t.Log(slow)
			}
			t.Error(slow)
		})
	}
}

// hangIn asks about a mount that hangs in one operation, and says what took too long.
func hangIn(t *testing.T, op hungmount.Op, ask func(context.Context, *Paths, string) error) (slow string) {
	t.Helper()
	r := New(Config{Args: []string{"__child"}})
	paths := r.Paths()
	mount := t.TempDir()
	hung := must.Get(hungmount.Start(mount, op))(t)
	limit := verdictLimit(t, r)
	stop := watchOwnThreads(t)
	begin := time.Now()
	err := ask(t.Context(), paths, mount)
	took := time.Since(begin)
	if late := new(TimeoutError); !errors.As(err, &late) || late.Key != mount {
		t.Errorf("verdict: %v", err)
	}
	if took > limit {
		slow = fmt.Sprintf("verdict after %v", took)
	}
	waitFor(t, "the kernel to hold the child", func() bool { return hung.Hanging() == 1 })

	begin = time.Now()
	for range 100 {
		if err := ask(t.Context(), paths, mount); !errors.Is(err, ErrStuck) {
			t.Fatalf("asked again: %v", err)
		}
	}
	if again := time.Since(begin); again > time.Second {
		slow = fmt.Sprintf("100 refusals took %v", again)
	}
	if _, err := paths.Statfs(t.Context(), "/", "/"); err != nil {
		t.Errorf("another mount: %v", err)
	}
	time.Sleep(defaultGrace + 200*time.Millisecond) // SIGKILL has been sent by now, and does nothing
	if r.Stuck() != 1 {
		t.Errorf("%d children are stuck, want 1", r.Stuck())
	}
	begin = time.Now()
	r.Close()
	if closed := time.Since(begin); closed > 2*time.Second {
		slow = fmt.Sprintf("Close took %v with a stuck child", closed)
	}
	stop()
	pids := r.Children()
	must.Do(t, hung.Release())
	for _, pid := range pids {
		waitFor(t, "the released child to end", func() bool { return gone(pid) })
	}
	t.Logf("verdict after %v", took.Round(time.Millisecond))
	return slow
}

func TestManyHungMounts(t *testing.T) {
	if ownNamespace(t) {
		return
	}
	r := New(Config{Args: []string{"__child"}})
	defer r.Close()
	paths := r.Paths()
	limit := verdictLimit(t, r)
	stop := watchOwnThreads(t)
	const mounts = MaxStuck + 2
	type verdict struct {
		err  error
		took time.Duration
	}
	verdicts := make([]verdict, mounts)
	var all sync.WaitGroup
	var hung []*hungmount.Mount
	for i := range mounts {
		dir := t.TempDir()
		m := must.Get(hungmount.Start(dir, hungmount.Statfs))(t)
		hung = append(hung, m)
		all.Go(func() {
			begin := time.Now()
			_, err := paths.Statfs(t.Context(), dir, dir)
			verdicts[i] = verdict{err, time.Since(begin)}
		})
	}
	all.Wait()
	late, refused := 0, 0
	for i, v := range verdicts {
		if v.took > limit {
			t.Errorf("mount %d: verdict after %v", i, v.took)
		}
		switch {
		case errors.As(v.err, new(*TimeoutError)):
			late++
		case errors.Is(v.err, ErrStuck):
			refused++
		default:
			t.Errorf("mount %d: %v", i, v.err)
		}
	}
	if late != MaxStuck || refused != mounts-MaxStuck || r.Stuck() != MaxStuck {
		t.Errorf("%d late, %d refused, %d stuck", late, refused, r.Stuck())
	}
	stop()
	for _, m := range hung {
		must.Do(t, m.Release())
	}
	waitFor(t, "the released children to end", func() bool { return r.Stuck() == 0 })
	if _, err := paths.Statfs(t.Context(), "/", "/"); err != nil {
		t.Errorf("after the mounts came back: %v", err)
	}
}
