package footprint

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestCollectorLeavesBoundedRoom(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 100}, {1 << 20, 100}, {4 << 20, 100}, {12 << 20, 100}, {32 << 20, 37}, {1 << 40, 25}} {
		if got := collectAt(c.live); got != c.want {
			t.Errorf("a heap of %d bytes may grow by %d %%, want %d", c.live, got, c.want)
		}
	}
}

// TestSparingFollowsTheHeap: a watch whose recording has grown collects sooner, and leaves the process as it was.
func TestSparingFollowsTheHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	s := Shrink()
	ballast := make([]byte, 64<<20)
	runtime.GC()
	s.Keep(time.Second)
	if s.now >= mostPercent {
		t.Errorf("with %d bytes in use the heap may grow by %d %%", len(ballast), s.now)
	}
	runtime.KeepAlive(ballast)
	s.Undo()
	if after := debug.SetGCPercent(100); after != 100 {
		t.Errorf("left at %d %%", after)
	}
}
