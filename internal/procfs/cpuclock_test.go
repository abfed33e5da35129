package procfs

import (
	"os"
	"testing"
	"time"
)

// TestCPUTime reads this process's own clock, as another's is read.
func TestCPUTime(t *testing.T) {
	before, ok := CPUTime(os.Getpid())
	if !ok || before <= 0 {
		t.Fatalf("got %v, %v", before, ok)
	}
	for end := time.Now().Add(20 * time.Millisecond); time.Now().Before(end); {
	}
	if after, _ := CPUTime(os.Getpid()); after <= before {
		t.Errorf("%v, then %v", before, after)
	}
	for _, pid := range []int{0, -1, 1<<22 + 1} {
		if used, ok := CPUTime(pid); ok {
			t.Errorf("pid %d has used %v", pid, used)
		}
	}
}

func BenchmarkCPUTime(b *testing.B) {
	pid := os.Getppid()
	for b.Loop() {
		if _, ok := CPUTime(pid); !ok {
			b.Fatal("no clock of the parent")
		}
	}
}
