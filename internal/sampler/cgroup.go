package sampler

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// Cgroup samples the control groups of the job: CPU throttling, memory limit and use, and the limits on reading the
// dataset's devices. A limit of a group above counts: what is recorded is the tightest, the memory in use of the group
// that sets it, and the throttling of the level where it happens.
type Cgroup struct {
	steady
	fs         procfs.FS
	target     procfs.ID
	data       Data
	generation int // of the data whose devices' limits were read last
	group      procfs.Cgroup
	counters   *procfs.CgroupCounters
	quotas     *procfs.Throttling
	limits     slowly
	cpu        procfs.CgroupCPU
	memory     procfs.CgroupMemory

	memBinds string // folder whose counters are read
	refaults joined
}

// NewCgroup watches the groups of a job's process. data may be nil. Reading memory.stat makes the kernel gather the
// counters of all CPUs and groups below.
func NewCgroup(fs procfs.FS, target procfs.ID, data Data) *Cgroup {
	return &Cgroup{steady: steady{"cgroup", time.Second}, fs: fs, target: target, data: data}
}

// Start implements Sampler.
func (c *Cgroup) Start(_ context.Context, sink recording.Sink) error {
	group, err := cgroupOf(c.fs, c.target)
	if err != nil {
		unread(sink, "cgroup_*", jobGroup, err, "mount a cgroup file system where pipetune runs, or run pipetune on "+
			"the host")
		return err
	}
	c.group = group
	c.counters, c.quotas = group.Counters(), group.Throttling()
	if err := c.quotas.Read(&c.cpu); err != nil {
		unread(sink, "cgroup_cpu_*", jobGroup, err, "enable the cpu controller for the job's group")
	}
	if err := c.counters.Memory(&c.memory); err != nil {
		unread(sink, "cgroup_memory_*", jobGroup, err, "enable the memory controller for the job's group")
		unread(sink, metric.CgroupRefaults.Name, jobGroup, err, "")
	}
	return nil
}

// Sample implements Sampler. Limits can be changed while the job runs, so they are read again every tenth time.
func (c *Cgroup) Sample(_ context.Context, sink recording.Sink) {
	if c.counters == nil {
		return
	}
	due := c.limits.due()
	if due {
		c.addLimits(sink)
	}
	c.addDeviceLimits(sink, due)
	if err := c.quotas.Read(&c.cpu); err == nil {
		addKnown(sink, metric.CgroupCPUPeriods, jobGroup, c.cpu.Periods)
		addKnown(sink, metric.CgroupCPUThrottled, jobGroup, c.cpu.Throttled)
	} else if !errors.Is(err, procfs.ErrNoData) {
		unread(sink, "cgroup_cpu_*", jobGroup, err, "")
	}
	if err := c.counters.Memory(&c.memory); err == nil {
		sink.Add(metric.CgroupMemUsed, jobGroup, float64(c.memory.UseBytes))
		addKnown(sink, metric.CgroupMemFile, jobGroup, givesWay(&c.memory))
		addKnown(sink, metric.CgroupRefaults, jobGroup, c.refaults.next(c.memory.FileRefaults))
	} else if !errors.Is(err, procfs.ErrNoData) {
		unread(sink, "cgroup_memory_*", jobGroup, err, "")
	}
}

// givesWay is the page cache that the kernel takes back before it ends a process: not tmpfs, such as the batches in
// /dev/shm, which the kernel counts as page cache as well. It is absent where the kernel does not tell how much of it
// is tmpfs.
func givesWay(m *procfs.CgroupMemory) procfs.Optional[int64] {
	file, ok := m.FileBytes.Get()
	tmpfs, ok2 := m.SharedMemoryBytes.Get()
	if !ok || !ok2 {
		return procfs.Optional[int64]{}
	}
	return procfs.Some(max(file-tmpfs, 0))
}

// addLimits records the memory limit. Where another group binds than before, its counters are read from now on.
func (c *Cgroup) addLimits(sink recording.Sink) {
	memory, memErr := c.group.MemoryLimit()
	if memErr != nil && !errors.Is(memErr, procfs.ErrNoData) {
		unread(sink, metric.CgroupMemLimit.Name, jobGroup, memErr, "")
	}
	c.quotas.Follow(c.group)
	memDir := ""
	if l, ok := memory.Get(); ok {
		sink.Add(metric.CgroupMemLimit, jobGroup, float64(l.Bytes))
		memDir = l.Dir
	}
	if memDir != c.memBinds && memErr == nil {
		c.memBinds, c.refaults.replaced = memDir, true
		c.counters.Close()
		c.counters = c.group.Counters()
	}
}

// joined makes one counter of those of several groups, each as long as it is the one that is read.
type joined struct {
	last, offset    int64
	begun, replaced bool // anew: the next reading is of another group
}

func (j *joined) next(v procfs.Optional[int64]) procfs.Optional[int64] {
	n, ok := v.Get()
	if !ok {
		return v
	}
	if j.replaced && j.begun {
		j.offset = j.last - n
	}
	j.begun, j.replaced, j.last = true, false, n+j.offset
	return procfs.Some(j.last)
}

// addDeviceLimits records the tightest limits on reading from any device that holds the dataset.
func (c *Cgroup) addDeviceLimits(sink recording.Sink, due bool) {
	if c.data == nil {
		return
	}
	generation, storage := c.data()
	if !due && c.generation == generation {
		return
	}
	c.generation = generation
	var devices []procfs.BlockDevice
	for _, s := range storage {
		devices = append(devices, s.Devices...)
	}
	if len(devices) == 0 {
		return
	}
	limits, err := c.group.ReadLimits(func(limited procfs.Device) bool {
		return slices.ContainsFunc(devices, func(d procfs.BlockDevice) bool {
			return d.Device == limited || slices.Contains(d.Above, limited)
		})
	})
	if err != nil {
		unread(sink, "cgroup_read_*", jobGroup, err, "enable the io (blkio) controller for the job's group")
		return
	}
	addKnown(sink, metric.CgroupReadIOPSMax, jobGroup, limits.Reads)
	addKnown(sink, metric.CgroupReadBPSMax, jobGroup, limits.Bytes)
}

// Close implements Sampler.
func (c *Cgroup) Close() {
	if c.counters != nil {
		c.counters.Close()
		c.quotas.Close()
	}
}
