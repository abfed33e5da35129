package sampler

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
)

// TestStatesThatSystemCallsHide holds what only the state letter and the kernel function tell.
func TestStatesThatSystemCallsHide(t *testing.T) {
	for _, c := range []struct {
		name, syscall, wchan string
		state                byte
		fd5                  string
		want                 metric.Desc
	}{
		{"page fault", inFault, "folio_wait_bit_common", 'D', "", metric.ThreadDisk},
		{"fault on a FUSE file", inFault, "request_wait_answer", 'S', "", metric.ThreadFileRead},
		{"waiting for its memory map", inFault, "rwsem_down_read_slowpath", 'D', "", metric.ThreadFutex},
		{"read of a cold file", inReadOf5, "folio_wait_bit_common", 'D', "/data/a.h5", metric.ThreadDisk},
		{"read of a FUSE file", inReadOf5, "request_wait_answer", 'S', "/mnt/a.h5", metric.ThreadFileRead},
		{"read of a pipe", inReadOf5, "anon_pipe_read", 'S', "pipe:[7]", metric.ThreadPipeRead},
		{"read of a socket", inReadOf5, "unix_stream_read_generic", 'S', "socket:[7]", metric.ThreadPipeRead},
		{"read of a terminal", inReadOf5, "n_tty_read", 'S', "/dev/pts/0", metric.ThreadOther},
		{"read of a closed number", inReadOf5, "anon_pipe_read", 'S', "", metric.ThreadPipeRead},
		{"read, ready again", inReadOf5, "0", 'R', "pipe:[7]", metric.ThreadRunning},
		{"ioctl of a GPU", "16 0x5 0xc0 0x7f 0x0 0x0 0x0 0x7ffd 0x7f05\n", "nv_wait", 'S', "/dev/nvidia0",
			metric.ThreadDevice},
		{"vfork", "58 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffd 0x7f05\n", "kernel_clone", 'D', "", metric.ThreadWaitChild},
		{"stopped while computing", inFault, "do_signal_stop", 'T', "", metric.ThreadStopped},
	} {
		m := newJob(t, 0)
		m.thread(100, 100, c.syscall, c.wchan, c.state)
		m.link(100, 5, c.fd5)
		w := m.watch()
		w.samples(4)
		b := w.book()
		if got := b.get(t, c.want, trainer100); got != 4 {
			t.Errorf("%s: %v of 4 samples in %s: %v", c.name, got, c.want.Name, b.last)
		}
	}
}

// TestStoppedInPoll: a worker stopped or frozen while it waits for work keeps showing the poll.
func TestStoppedInPoll(t *testing.T) {
	for _, c := range []struct {
		name, wchan string
		state       byte
	}{{"SIGSTOP", "do_signal_stop", 'T'}, {"cgroup v1 freezer", "__refrigerator", 'D'},
		{"cgroup v2 freezer", "get_signal", 'S'}} {
		m := newJob(t, 1)
		w := m.watch()
		w.samples(stopCheckEvery)
		m.thread(101, 101, inQueuePoll, c.wchan, c.state)
		w.samples(3 * stopCheckEvery)
		m.thread(101, 101, inQueuePoll, "poll_schedule_timeout.constprop.0", 'S')
		w.samples(stopCheckEvery)
		got := w.book().get(t, metric.ThreadStopped, "process/101.1010")
		if got < 2*stopCheckEvery || got > 3*stopCheckEvery {
			t.Errorf("%s: %v of %d samples found it stopped", c.name, got, 3*stopCheckEvery)
		}
	}
}

// TestRefusedSystemCalls: where another user's files are refused, the state and the kernel function still tell most,
// and the cure is named.
func TestRefusedSystemCalls(t *testing.T) {
	m, cure := newJob(t, 1), "run pipetune as the user of the job, or as root"
	for _, pid := range []string{"100", "101"} {
		file := filepath.Join(m.Dir, "proc", pid, "task", pid, "syscall")
		if os.Getuid() == 0 {
			// Root reads every file: a directory in its place is refused to root as well, with another error, so the
			// kernel without the file is played instead.
			cure = ""
			must.Do(t, os.Remove(file))
			continue
		}
		must.Do(t, os.Chmod(file, 0))
	}
	w := m.watch()
	w.samples(10)
	b := w.book()
	b.want(t, loader100, map[metric.Desc]float64{metric.LoaderSamples: 10, metric.LoaderWaiting: 10,
		metric.LoaderIdleSum: 10})
	if len(b.unseen) != 2 || b.unseen[0].signal != "looks_*" || b.unseen[0].entity != trainer100 ||
		b.unseen[0].cure != cure {
		t.Errorf("notes: %+v", b.unseen)
	}
}

// TestBlindCures names the cure for each setting of Yama.
func TestBlindCures(t *testing.T) {
	for scope, want := range map[string]string{"1\n": "kernel.yama.ptrace_scope=0; or start", "2\n": "as root",
		"3\n": "boot with", "": "as the user"} {
		m := newMachine(t)
		if scope != "" {
			m.Put("proc/sys/kernel/yama/ptrace_scope", scope)
		}
		if got := m.watch().blindCure(os.ErrPermission); !strings.Contains(got, want) {
			t.Errorf("scope %q: %q", scope, got)
		}
	}
}
