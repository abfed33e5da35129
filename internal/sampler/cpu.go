package sampler

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// hostEntity is the whole machine.
const hostEntity = "host"

// CPU samples the CPU time of the machine and of each core, and the cores the job may use.
type CPU struct {
	fs      procfs.FS
	target  procfs.ID
	machine *procfs.Machine
	stat    procfs.SystemStat
	cores   []string // entity of each core, by its number
	slow    slowly
}

// NewCPU watches the machine on behalf of a job's process, whose affinity and quota decide the usable cores.
func NewCPU(fs procfs.FS, target procfs.ID) *CPU {
	return &CPU{fs: fs, target: target, machine: fs.Machine()}
}

// Name implements Sampler.
func (c *CPU) Name() string { return "cpu" }

// Every implements Sampler. The kernel counts in steps of 10 ms, so over half a second a share is known to 2 points.
// Single cores come every 5 s: a machine with 256 of them has 1,000 series here, which would be most of the recording
// otherwise.
func (c *CPU) Every() time.Duration { return 500 * time.Millisecond }

// Start implements Sampler.
func (c *CPU) Start(_ context.Context, sink recording.Sink) error {
	if err := c.machine.Stat(&c.stat); err != nil {
		unread(sink, "cpu_*", "", err, "mount /proc")
		unread(sink, metric.CPUUsable.Name, "", err, "mount /proc")
		return err
	}
	if _, ok := c.stat.Total.Seconds(procfs.CPUSteal); !ok {
		sink.Unseen(metric.CPUSteal.Name, hostEntity, "the kernel does not report steal time", "")
	}
	return nil
}

// Sample implements Sampler.
func (c *CPU) Sample(_ context.Context, sink recording.Sink) {
	if err := c.machine.Stat(&c.stat); err != nil {
		unread(sink, "cpu_*", "", err, "")
		return
	}
	c.times(sink, hostEntity, c.stat.Total)
	if len(c.stat.Cores) > 0 {
		sink.Add(metric.CPUPresent, hostEntity, float64(len(c.stat.Cores)))
	}
	if c.slow.due() {
		for _, core := range c.stat.Cores {
			c.times(sink, c.entity(core.Num), core.Times)
		}
		c.usable(sink)
	}
}

func (c *CPU) times(sink recording.Sink, entity string, t procfs.CPUTimes) {
	sink.Add(metric.CPUBusy, entity, t.Busy())
	add := func(d metric.Desc, state procfs.CPUState) {
		if s, ok := t.Seconds(state); ok {
			sink.Add(d, entity, s)
		}
	}
	add(metric.CPUIdle, procfs.CPUIdle)
	add(metric.CPUIowait, procfs.CPUIOWait)
	add(metric.CPUSteal, procfs.CPUSteal)
}

// entity names a core; names are kept, because a tick must not make garbage.
func (c *CPU) entity(num int) string {
	for len(c.cores) <= num {
		c.cores = append(c.cores, "cpu/"+strconv.Itoa(len(c.cores)))
	}
	return c.cores[num]
}

func (c *CPU) usable(sink recording.Sink) {
	u, err := usableCPUs(c.fs, c.target)
	if errors.Is(err, procfs.ErrGone) {
		return // the job ended, which others report
	}
	if err != nil {
		unread(sink, metric.CPUUsable.Name, hostEntity, err, "")
		return
	}
	sink.Add(metric.CPUUsable, hostEntity, u.CPUs)
	for _, w := range u.Warnings {
		sink.Unseen(metric.CPUUsable.Name, hostEntity, w, "")
	}
}

// usableCPUs reads the limits of this very process, never of one that took over its number.
func usableCPUs(fs procfs.FS, id procfs.ID) (procfs.UsableCPUs, error) {
	p, err := fs.OpenID(id)
	if err != nil {
		return procfs.UsableCPUs{}, err
	}
	defer p.Close()
	return fs.UsableCPUs(id.PID)
}

// Close implements Sampler.
func (c *CPU) Close() { c.machine.Close() }
