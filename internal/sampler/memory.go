package sampler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Memory samples the machine's memory, swap and refaults, and the job's /dev/shm.
type Memory struct {
	steady
	fs      procfs.FS
	target  procfs.ID
	machine *procfs.Machine
	info    procfs.Meminfo
	events  procfs.Vmstat
	shm     func(context.Context) (isolate.FileSystem, error)
	paths   StatfsService
}

// StatfsService asks for a file system's size in a child process; *isolate.Paths is one.
type StatfsService interface {
	Statfs(ctx context.Context, key, path string) (isolate.FileSystem, error)
}

// NewMemory watches the machine and the /dev/shm that a job's process sees. paths may be nil: then the /dev/shm of
// another container stays unknown. The kernel folds its per-CPU counters into vmstat once a second (vm.stat_interval).
func NewMemory(fs procfs.FS, target procfs.ID, paths StatfsService) *Memory {
	return &Memory{steady: steady{"memory", time.Second}, fs: fs, target: target, paths: paths, machine: fs.Machine()}
}

// Start implements Sampler.
func (m *Memory) Start(_ context.Context, sink recording.Sink) error {
	if err := m.machine.Meminfo(&m.info); err != nil {
		unread(sink, "memory_*", "", err, "mount /proc")
	}
	if err := m.machine.Vmstat(&m.events); err != nil {
		unread(sink, "swap_*", "", err, "a kernel with CONFIG_VM_EVENT_COUNTERS")
		unread(sink, metric.Refaults.Name, "", err, "a kernel with CONFIG_VM_EVENT_COUNTERS")
	} else if _, ok := m.events.FileRefaults.Get(); !ok {
		sink.Unseen(metric.Refaults.Name, "", "the kernel does not count refaults", "Linux 3.15 or newer")
	}
	shm, err := ofProcess(m.fs, m.target, m.findShm)
	unread(sink, "shm_*", "", err, "")
	m.shm = shm
	return nil
}

// Sample implements Sampler.
func (m *Memory) Sample(ctx context.Context, sink recording.Sink) {
	if err := m.machine.Meminfo(&m.info); err != nil {
		unread(sink, "memory_*", "", err, "")
	} else {
		addKnown(sink, metric.MemTotal, hostEntity, m.info.Total)
		addKnown(sink, metric.MemAvailable, hostEntity, m.info.Available)
	}
	if err := m.machine.Vmstat(&m.events); err == nil {
		addKnown(sink, metric.SwapIn, hostEntity, m.events.SwapInBytes)
		addKnown(sink, metric.SwapOut, hostEntity, m.events.SwapOutBytes)
		addKnown(sink, metric.Refaults, hostEntity, m.events.FileRefaults)
	}
	if m.shm == nil {
		return
	}
	st, err := m.shm(ctx)
	if err == nil && (st.Type != unix.TMPFS_MAGIC || st.FreeBytes > st.TotalBytes) {
		err = errNoShm
	}
	if err != nil {
		m.shm = nil // a mount that failed once is not asked again
		unread(sink, "shm_*", "", err, "")
		return
	}
	sink.Add(metric.ShmSize, hostEntity, float64(st.TotalBytes))
	sink.Add(metric.ShmUsed, hostEntity, float64(st.TotalBytes-st.FreeBytes))
}

const shmPath = "/dev/shm"

var errNoShm = errors.New("the job has no tmpfs at /dev/shm")

// findShm decides how to ask for the size of the job's /dev/shm. The mount table must say tmpfs, which is memory and
// cannot hang. Where the job shares our mounts it is asked directly. In another container the way there leads through
// the job's root, which may be a network mount, so a child goes.
func (m *Memory) findShm(p *procfs.Process) (func(context.Context) (isolate.FileSystem, error), error) {
	mounts, err := p.Mounts(m.fs)
	if err != nil {
		return nil, err
	}
	if at, ok := procfs.MountOf(mounts, shmPath); !ok || at.Point != shmPath || at.FSType != "tmpfs" {
		return nil, errNoShm
	}
	shared, err := p.SharesOurMounts(m.fs)
	if err != nil {
		return nil, fmt.Errorf("finding the job's %s: %w", shmPath, err)
	}
	if shared {
		path := m.fs.Path(shmPath)
		return func(context.Context) (isolate.FileSystem, error) {
			st, err := isolate.Statfs(path)
			if err != nil {
				err = fmt.Errorf("asking for the size of %s: %w", path, err)
			}
			return st, err
		}, nil
	}
	if m.paths == nil {
		return nil, fmt.Errorf("finding the job's %s: it is in another container", shmPath)
	}
	path := p.Inside() + shmPath
	return func(ctx context.Context) (isolate.FileSystem, error) {
		st, err := m.paths.Statfs(ctx, path, path)
		if err != nil {
			return st, err
		}
		p, err := m.fs.OpenID(m.target) // the process must still be the job's when the answer is there
		if err == nil {
			p.Close()
		}
		return st, err
	}, nil
}

// Close implements Sampler.
func (m *Memory) Close() { m.machine.Close() }
