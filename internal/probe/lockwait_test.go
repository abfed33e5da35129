package probe

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

func TestWaitsForLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	held := must.Get(os.Create(path))(t)
	defer held.Close()
	must.Do(t, unix.Flock(int(held.Fd()), unix.LOCK_EX))
	waiter := exec.Command("flock", path, "true")
	if err := waiter.Start(); err != nil {
		t.Fatalf("%v (apt install util-linux)", err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for !waitsForLock(waiter.Process.Pid) {
		if time.Now().After(deadline) {
			t.Fatal("a process in flock does not wait for a lock")
		}
		runtime.Gosched()
	}
	must.Do(t, unix.Flock(int(held.Fd()), unix.LOCK_UN))
	must.Do(t, waiter.Wait())
	if waitsForLock(waiter.Process.Pid) || waitsForLock(os.Getpid()) {
		t.Error("a process that is gone, or this one, waits for a lock")
	}
}

func TestCrowdLooksForLocks(t *testing.T) {
	s := testSession(t, rawSample(t, 4096, 64, "a"), Options{})
	c := &workerGroup{session: s, items: inOrder(&s.sample, random, 1), pass: 50 * time.Millisecond}
	defer c.close()
	must.Get(c.round(t.Context(), 2))(t)
	share, err := c.locked(t.Context(), 2)
	if err != nil || share < 0 || share > 0.5 {
		t.Errorf("%v of the time were spent waiting for locks that nobody holds: %v", share, err)
	}
}
