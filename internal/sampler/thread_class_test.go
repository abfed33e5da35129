package sampler

import (
	"maps"
	"slices"
	"testing"

	"github.com/pipetune/pipetune/internal/procfs"
)

// TestClassifySystemCalls holds lines of /proc/PID/syscall, as seen beside real jobs on Linux 6.18 where they are of
// amd64, to the class they stand for.
func TestClassifySystemCalls(t *testing.T) {
	const state, fd = 1, 2
	for _, c := range []struct {
		name, arch, line string
		class            waitClass
		needs            int // beside the call, to tell
	}{
		{"queue poll", "amd64", "7 0x7f05a4b0cbd0 0x1 0x1388 0x8 0x0 0x0 0x7ffd 0x7f05", classQueuePoll, 0},
		{"queue poll of timeout=60", "amd64", "7 0x7f05a4b0cbd0 0x1 0xea60 0x8 0x0 0x0 0x7ffd 0x7f05",
			classQueuePoll, 0},
		{"queue poll a millisecond short", "amd64", "7 0x7f05a4b0cbd0 0x1 0x1387 0x8 0x0 0x0 0x7ffd 0x7f05",
			classQueuePoll, 0},
		{"poll without end", "amd64", "7 0x7f05a4b0cbd0 0x1 0xffffffff 0x8 0x0 0x0 0x7ffd 0x7f05", classOther, 0},
		{"poll on two", "amd64", "7 0x7f05a4b0cbd0 0x2 0x1388 0x8 0x0 0x0 0x7ffd 0x7f05", classOther, 0},
		{"short poll", "amd64", "7 0x7f05a4b0cbd0 0x1 0x64 0x8 0x0 0x0 0x7ffd 0x7f05", classOther, 0},
		{"ppoll on amd64", "amd64", "271 0x7f05 0x1 0x7f06 0x0 0x8 0x0 0x7ffd 0x7f05", classOther, 0},
		{"queue poll on arm64", "arm64", "73 0xffff 0x1 0xffe0 0x0 0x8 0x0 0xfff0 0xffff", classQueuePoll, 0},
		{"poll without end on arm64", "arm64", "73 0xffff 0x1 0x0 0x0 0x8 0x0 0xfff0 0xffff", classOther, 0},
		{"queue.Queue.get(timeout=5)", "amd64", "202 0x7f3c4c0013a0 0x89 0x0 0x7f3c57ffe8a0 0x0 0xffffffff 0x7f3c " +
			"0x7f3c", classFutexTimed, 0},
		{"a lock", "amd64", "202 0x1b4e9f0 0x189 0x0 0x0 0x0 0xffffffff 0x7f3c 0x7f3c", classFutex, 0},
		{"a lock on arm64", "arm64", "98 0x1b4e9f0 0x189 0x0 0x0 0x0 0xffffffff 0x7f3c 0x7f3c", classFutex, 0},
		{"read", "amd64", "0 0x11 0x7f 0x4 0x7f 0x0 0x0 0x7ffd 0x7f05", classFileRead, fd | state},
		{"pread64", "amd64", "17 0x5 0x7f 0x400 0x0 0x0 0x0 0x7ffd 0x7f05", classFileRead, state},
		{"receiving a descriptor", "amd64", "47 0x12 0x7f 0x0 0x7f 0x0 0x0 0x7ffd 0x7f05", classPipeRead, 0},
		{"flock", "amd64", "73 0x4 0x2 0x0 0x366fddfa 0x0 0x0 0x7ffca45cdfc8 0x7f7a8ac90897", classFileLock, state},
		{"fcntl F_SETLKW", "amd64", "72 0x4 0x7 0x7f 0x0 0x0 0x0 0x7ffd 0x7f05", classFileLock, state},
		{"fcntl F_GETFL", "amd64", "72 0x4 0x3 0x7f 0x0 0x0 0x0 0x7ffd 0x7f05", classOther, state},
		{"time.sleep", "amd64", "230 0x1 0x1 0x7ffca45cdfe0 0x0 0x0 0x0 0x7ffca45cdfc8 0x7f7a8ac67503", classSleep, 0},
		{"time.sleep before Python 3.11", "amd64", "23 0x0 0x0 0x0 0x0 0x7ffe 0x0 0x7ffd 0x7f05", classSleep, 0},
		{"select on descriptors", "amd64", "23 0x5 0x7f 0x0 0x0 0x7ffe 0x0 0x7ffd 0x7f05", classOther, 0},
		{"openat", "amd64", "257 0xffffff9c 0x7f 0x80000 0x0 0x0 0x0 0x7ffd 0x7f05", classFileOpen, state},
		{"openat on arm64", "arm64", "56 0xffffff9c 0x7f 0x80000 0x0 0x0 0x0 0x7ffd 0x7f05", classFileOpen, state},
		{"wait4", "amd64", "61 0xffffffff 0x7f 0x0 0x0 0x0 0x0 0x7ffd 0x7f05", classChild, 0},
		{"write", "amd64", "1 0x5 0x7f 0x80000 0x0 0x0 0x0 0x7ffd 0x7f05", classPipeWrite, state},
		{"ioctl", "amd64", "16 0x5 0xc0 0x7f 0x0 0x0 0x0 0x7ffd 0x7f05", classOther, fd | state},
		{"page fault", "amd64", "-1 0x7ffca45cdfc8 0x7f7a8ac67503", classOther, state},
		{"a call of tomorrow", "amd64", "9999 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f05", classOther, state},
	} {
		var s procfs.Syscall
		if err := procfs.ParseSyscall([]byte(c.line+"\n"), &s); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		want := verdict{class: c.class, byFD: c.needs&fd != 0, byState: c.needs&state != 0}
		if got := classify(newCallTable(c.arch), &s); got != want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
	if newCallTable("riscv64") != nil {
		t.Error("an architecture whose numbers are not known has a table")
	}
}

// TestCallNumbersAreUnique guards the table against two calls with one number.
func TestCallNumbersAreUnique(t *testing.T) {
	amd64, arm64 := map[int]string{}, map[int]string{}
	for _, c := range slices.Concat(slices.Collect(maps.Values(callNumbers))...) {
		for _, m := range []struct {
			numbers map[int]string
			n       int
		}{{amd64, c.amd64}, {arm64, c.arm64}} {
			if other, taken := m.numbers[m.n]; taken && m.n >= 0 {
				t.Errorf("%s and %s share the number %d", c.name, other, m.n)
			}
			m.numbers[m.n] = c.name
		}
	}
}

// TestClassifyKernelFunctions holds names seen in /proc/PID/wchan to their classes.
func TestClassifyKernelFunctions(t *testing.T) {
	for wchan, want := range map[string]waitClass{
		"poll_schedule_timeout.constprop.0": classQueuePoll, "do_poll.constprop.0": classQueuePoll,
		"futex_do_wait": classFutex, "futex_wait_queue_me": classFutex, "hrtimer_nanosleep": classSleep,
		"do_nanosleep": classSleep, "locks_lock_inode_wait": classFileLock, "anon_pipe_read": classPipeRead,
		"pipe_read": classPipeRead, "unix_stream_read_generic": classPipeRead,
		"__skb_wait_for_more_packets": classPipeRead, "anon_pipe_write": classPipeWrite,
		"folio_wait_bit_common": classFileRead, "request_wait_answer": classFileRead,
		"rpc_wait_bit_killable": classFileRead, "do_signal_stop": classStopped, "__refrigerator": classStopped,
		"get_signal": classStopped, "do_wait": classChild, "kernel_clone": classChild,
		"rwsem_down_read_slowpath": classFutex,
	} {
		if got, known := classifyWchan([]byte(wchan)); !known || got != want {
			t.Errorf("%s: got class %d (known %v), want %d", wchan, got, known, want)
		}
	}
	for _, hidden := range []string{"", "0", "some_new_function"} {
		if _, known := classifyWchan([]byte(hidden)); known {
			t.Errorf("%q is taken for a known function", hidden)
		}
	}
}
