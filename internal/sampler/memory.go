package sampler

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Memory samples the machine's memory, swap and refaults, and the job's /dev/shm.
type Memory struct {
	fs      procfs.FS
	target  procfs.ID
	machine *procfs.Machine
	info    procfs.Meminfo
	events  procfs.Vmstat
	shm     func(context.Context) (size, used int64, err error)
	paths   StatfsService
}

// StatfsService asks for a file system's size in a child process; *isolate.Paths is one.
type StatfsService interface {
	Statfs(ctx context.Context, key, path string) (isolate.FileSystem, error)
}

// NewMemory watches the machine and the /dev/shm that a job's process sees. paths may be nil: then the /dev/shm of
// another container stays unknown.
func NewMemory(fs procfs.FS, target procfs.ID, paths StatfsService) *Memory {
	return &Memory{fs: fs, target: target, paths: paths, machine: fs.Machine()}
}

// Name implements Sampler.
func (m *Memory) Name() string { return "memory" }

// Every implements Sampler. The kernel folds its per-CPU counters into vmstat once a second (vm.stat_interval).
func (m *Memory) Every() time.Duration { return time.Second }

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
	shm, err := m.findShm()
	if err != nil {
		unread(sink, "shm_*", "", err, "")
		return nil
	}
	m.shm = shm
	return nil
}

// Sample implements Sampler.
func (m *Memory) Sample(ctx context.Context, sink recording.Sink) {
	if err := m.machine.Meminfo(&m.info); err != nil {
		unread(sink, "memory_*", "", err, "")
	} else {
		addBytes(sink, metric.MemTotal, m.info.Total)
		addBytes(sink, metric.MemAvailable, m.info.Available)
	}
	if err := m.machine.Vmstat(&m.events); err == nil {
		addBytes(sink, metric.SwapIn, m.events.SwapInBytes)
		addBytes(sink, metric.SwapOut, m.events.SwapOutBytes)
		addBytes(sink, metric.Refaults, m.events.FileRefaults)
	}
	if m.shm == nil {
		return
	}
	size, used, err := m.shm(ctx)
	if err != nil {
		m.shm = nil // a mount that failed once is not asked again
		unread(sink, "shm_*", "", err, "")
		return
	}
	sink.Add(metric.ShmSize, hostEntity, float64(size))
	sink.Add(metric.ShmUsed, hostEntity, float64(used))
}

func addBytes(sink recording.Sink, d metric.Desc, v procfs.Optional[int64]) {
	if n, ok := v.Get(); ok {
		sink.Add(d, hostEntity, float64(n))
	}
}

const shmPath = "/dev/shm"

var errNoShm = errors.New("the job has no tmpfs at /dev/shm")

// findShm decides how to ask for the size of the job's /dev/shm. The mount table must say tmpfs, which is memory and
// cannot hang. Where the job shares our mounts it is asked directly. In another container the way there leads through
// the job's root, which may be a network mount, so a child goes.
func (m *Memory) findShm() (func(context.Context) (int64, int64, error), error) {
	p, err := m.fs.OpenID(m.target)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	mounts, err := p.Mounts()
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
		return func(context.Context) (int64, int64, error) { return statfs(path) }, nil
	}
	if m.paths == nil {
		return nil, fmt.Errorf("finding the job's %s: it is in another container", shmPath)
	}
	path := m.fs.Path("proc", strconv.Itoa(p.PID), "root", shmPath)
	return func(ctx context.Context) (int64, int64, error) { return m.askShm(ctx, path) }, nil
}

// askShm asks through the child. The process must still be the job's when the answer is there.
func (m *Memory) askShm(ctx context.Context, path string) (size, used int64, err error) {
	st, err := m.paths.Statfs(ctx, path, path)
	if err != nil {
		return 0, 0, err
	}
	p, err := m.fs.OpenID(m.target)
	if err != nil {
		return 0, 0, err
	}
	p.Close()
	if st.Type != unix.TMPFS_MAGIC || st.FreeBytes > st.TotalBytes {
		return 0, 0, errNoShm
	}
	return int64(st.TotalBytes), int64(st.TotalBytes - st.FreeBytes), nil
}

func statfs(path string) (size, used int64, err error) {
	var st unix.Statfs_t
	for {
		if err = unix.Statfs(path, &st); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("asking for the size of %s: %w", path, err)
	}
	if st.Type != unix.TMPFS_MAGIC || st.Bfree > st.Blocks {
		return 0, 0, errNoShm
	}
	return int64(st.Blocks) * st.Bsize, int64(st.Blocks-st.Bfree) * st.Bsize, nil
}

// Close implements Sampler.
func (m *Memory) Close() { m.machine.Close() }
