package sampler

import (
	"context"
	"errors"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// jobGroup is the job's own control group.
const jobGroup = "cgroup/job"

// Pressure samples the time tasks stalled for a CPU, memory, and input or output, of the machine and, with cgroup
// version 2, of the job's own group.
type Pressure struct {
	fs      procfs.FS
	target  procfs.ID
	machine *procfs.Machine
	group   *procfs.CgroupCounters
	line    procfs.Pressure
}

// NewPressure watches the machine and the group of a job's process.
func NewPressure(fs procfs.FS, target procfs.ID) *Pressure {
	return &Pressure{fs: fs, target: target, machine: fs.Machine()}
}

// Name implements Sampler.
func (p *Pressure) Name() string { return "pressure" }

// Every implements Sampler. The totals are exact to the microsecond at any moment.
func (p *Pressure) Every() time.Duration { return 500 * time.Millisecond }

// pressures says which signal comes from which file: of its line "some", or "full".
var pressures = [...]struct {
	resource procfs.PressureResource
	signal   metric.Desc
	full     bool
}{
	{procfs.PressureCPU, metric.PressureCPUSome, false},
	{procfs.PressureMemory, metric.PressureMemFull, true},
	{procfs.PressureIO, metric.PressureIOSome, false},
}

// Start implements Sampler.
func (p *Pressure) Start(_ context.Context, sink recording.Sink) error {
	if err := p.machine.Pressure(procfs.PressureCPU, &p.line); err != nil {
		unread(sink, "pressure_*", hostEntity, err, pressureCure(err))
	}
	group, err := cgroupOf(p.fs, p.target)
	if err != nil {
		unread(sink, "pressure_*", jobGroup, err, "")
		return nil
	}
	p.group = group.Counters()
	if err := p.group.Pressure(procfs.PressureCPU, &p.line); err != nil {
		p.group.Close()
		p.group = nil
		reason, cure := "the job has no control group of its own (version 2) with pressure files",
			"start the job in one: systemd-run --scope"
		if group.Mode == procfs.CgroupV1 || group.Mode == procfs.CgroupHybrid {
			reason, cure = "cgroup version 1 has no pressure files",
				"boot with systemd.unified_cgroup_hierarchy=1 for the job's own figures"
		}
		sink.Unseen("pressure_*", jobGroup, reason, cure)
	}
	return nil
}

func pressureCure(err error) string {
	if procfs.PSISwitchedOff(err) {
		return "boot with psi=1"
	}
	return "a kernel with CONFIG_PSI (Linux 4.20 or newer)"
}

// Sample implements Sampler.
func (p *Pressure) Sample(_ context.Context, sink recording.Sink) {
	for i := range pressures {
		if err := p.machine.Pressure(pressures[i].resource, &p.line); err == nil {
			p.add(sink, hostEntity, i)
		} else if !errors.Is(err, procfs.ErrNoData) {
			unread(sink, pressures[i].signal.Name, hostEntity, err, "")
		}
		if p.group == nil {
			continue
		}
		if err := p.group.Pressure(pressures[i].resource, &p.line); err == nil {
			p.add(sink, jobGroup, i)
		} else if !errors.Is(err, procfs.ErrNoData) {
			unread(sink, pressures[i].signal.Name, jobGroup, err, "")
		}
	}
}

func (p *Pressure) add(sink recording.Sink, entity string, i int) {
	seconds := p.line.SomeSeconds
	if pressures[i].full {
		seconds = p.line.FullSeconds
	}
	if s, ok := seconds.Get(); ok {
		sink.Add(pressures[i].signal, entity, s)
	}
}

// cgroupOf finds the groups of this very process, never of one that took over its number.
func cgroupOf(fs procfs.FS, id procfs.ID) (procfs.Cgroup, error) {
	p, err := fs.OpenID(id)
	if err != nil {
		return procfs.Cgroup{}, err
	}
	defer p.Close()
	return fs.Cgroup(id.PID)
}

// Close implements Sampler.
func (p *Pressure) Close() {
	p.machine.Close()
	if p.group != nil {
		p.group.Close()
	}
}
