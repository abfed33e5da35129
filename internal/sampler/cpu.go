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
	steady
	fs      procfs.FS
	job     func() []procfs.ID
	machine *procfs.Machine
	stat    procfs.SystemStat
	cores   []string // entity of each core, by its number
	slow    slowly
}

// NewCPU watches the machine on behalf of a job's trainers, which may each be bound to cores of their own and, with the
// quota of the first, decide the usable ones. The kernel counts in steps of 10 ms, so over half a second a share is
// known to 2 points. Single cores come every 5 s: a machine with 256 of them has 1,000 series here, which would be most
// of the recording otherwise.
func NewCPU(fs procfs.FS, job func() []procfs.ID) *CPU {
	return &CPU{steady: steady{"cpu", 500 * time.Millisecond}, fs: fs, job: job, machine: fs.Machine()}
}

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
	var u procfs.UsableCPUs
	err := error(procfs.ErrGone)
	if pids := c.alive(); len(pids) > 0 {
		u, err = c.fs.UsableCPUs(pids[0], pids[1:]...)
	}
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

// alive are the job's trainers that are there still.
func (c *CPU) alive() (pids []int) {
	for _, id := range c.job() {
		if p, err := c.fs.OpenID(id); err == nil {
			p.Close()
			pids = append(pids, id.PID)
		}
	}
	return pids
}

// Close implements Sampler.
func (c *CPU) Close() { c.machine.Close() }
