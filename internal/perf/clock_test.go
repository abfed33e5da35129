package perf

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// TestClockSamplesAThread spins on this thread, which the clock must see about 99 times a second of its CPU time.
// Where the kernel or a container refuses it, the refusal must have words and a cure, and whoever runs the test must
// say so in PIPETUNE_TEST_NO_PERF=1.
func TestClockSamplesAThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := Open(unix.Gettid())
	if err != nil {
		refused(t, err)
		return
	}
	defer c.Close()
	begin := threadTime(t)
	for sum := 0; threadTime(t)-begin < 500*time.Millisecond; sum++ {
	}
	var seen []uint64
	c.Drain(func(ip uint64) { seen = append(seen, ip) })
	if n := len(seen); n < 10 || n > 60 { // the kernel's share of the loop is dropped
		t.Errorf("%d samples in half a second of CPU time", n)
	}
	if slices.Contains(seen, 0) || slices.ContainsFunc(seen, func(ip uint64) bool { return int64(ip) < 0 }) {
		t.Errorf("addresses that are no user code: %#x", seen)
	}
	c.Drain(func(uint64) {}) // what came since
	time.Sleep(20 * time.Millisecond)
	c.Drain(func(ip uint64) { t.Errorf("a thread that sleeps was at %#x", ip) })
	c.Close()
	c.Close()
}

func refused(t *testing.T, err error) {
	t.Helper()
	said, unread := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	paranoid, wrong := strconv.Atoi(strings.TrimSpace(string(said)))
	if unread != nil || wrong != nil {
		paranoid = -1
	}
	reason, cure, gone := Explain(err, paranoid)
	if gone || cure == "" {
		t.Errorf("%v at kernel.perf_event_paranoid %d: %q, cure %q", err, paranoid, reason, cure)
	}
	if os.Getenv("PIPETUNE_TEST_NO_PERF") != "1" {
		t.Fatalf("refused here: %v: %s; PIPETUNE_TEST_NO_PERF=1 leaves this out", err, reason)
	}
	t.Logf("PIPETUNE_TEST_NO_PERF=1: refused here, and not tested: %v: %s", err, reason)
}

func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var now unix.Timespec
	must.Do(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now))
	return time.Duration(now.Nano())
}

func TestClockOfNobody(t *testing.T) {
	_, err := Open(1<<22 + 1)
	if _, _, gone := Explain(err, 2); err == nil || !gone {
		t.Errorf("got %v", err)
	}
}

func TestExplain(t *testing.T) {
	for _, c := range []struct {
		err          error
		paranoid     int
		reason, cure string
	}{
		{syscall.EACCES, 3, "perf_event_paranoid is 3", "sudo sysctl kernel.perf_event_paranoid=2"},
		{syscall.EPERM, 4, "perf_event_paranoid is 4", "sudo sysctl kernel.perf_event_paranoid=2"},
		{syscall.EACCES, 2, "own user", "as the user of the job"},
		{syscall.EPERM, 2, "filter", "--cap-add PERFMON"},
		{syscall.EPERM, -1, "filter", "on the host"},
		{syscall.ENOSYS, -1, "no perf events", ""},
		{syscall.EMFILE, 2, "too many open files", ""},
	} {
		reason, cure, gone := Explain(fmt.Errorf("opening a clock: %w", c.err), c.paranoid)
		if gone || !strings.Contains(reason, c.reason) || !strings.Contains(cure, c.cure) ||
			(cure == "") != (c.cure == "") {
			t.Errorf("%v at %d: %q, %q, %v", c.err, c.paranoid, reason, cure, gone)
		}
	}
	if _, _, gone := Explain(errors.New("x"), 2); gone {
		t.Error("an unknown error is taken for the end of a thread")
	}
}

// Records as the kernel writes them: a sample, and the count of those that it dropped.
var (
	sample = []byte{9, 0, 0, 0, 2, 0, 24, 0, 0xef, 0xbe, 0xad, 0xde, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}
	lost   = []byte{2, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}
)

// FuzzDecode holds whatever a page of samples may hold to a bounded number of visits.
func FuzzDecode(f *testing.F) {
	f.Add(slices.Concat(sample, lost, sample), uint64(72), uint64(0))
	f.Add(slices.Concat(sample[12:], lost, sample[:12]), uint64(108), uint64(36)) // around the end
	f.Add(sample, uint64(1<<63), uint64(0))
	f.Add(sample, uint64(0), uint64(24))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 0, 0}, uint64(8), uint64(0))
	f.Add([]byte{9, 0, 0, 0, 0, 0, 0xff, 0xff}, uint64(8), uint64(0))
	f.Fuzz(func(t *testing.T, ring []byte, head, tail uint64) {
		if len(ring) == 0 {
			return
		}
		c := Clock{ring: ring}
		visits := 0
		if c.decode(head, tail, func(uint64) { visits++ }); visits > len(ring)/24 {
			t.Errorf("%d samples in %d bytes", visits, len(ring))
		}
	})
}

func TestDecode(t *testing.T) {
	c := Clock{ring: slices.Concat(sample[12:], lost, sample, sample[:12])}
	var seen []uint64
	c.decode(72+60+24, 72+12, func(ip uint64) { seen = append(seen, ip) })
	if !slices.Equal(seen, []uint64{0xdeadbeef, 0xdeadbeef}) {
		t.Errorf("saw %#x", seen)
	}
}
