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
	steady
	fs      procfs.FS
	target  procfs.ID
	machine *procfs.Machine
	group   *procfs.CgroupCounters
	line    procfs.Pressure
}

// NewPressure watches the machine and the group of a job's process. The totals are exact to the microsecond at any
// moment.
func NewPressure(fs procfs.FS, target procfs.ID) *Pressure {
	return &Pressure{steady: steady{"pressure", 500 * time.Millisecond}, fs: fs, target: target, machine: fs.Machine()}
}

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
	if err := p.machine.Pressure(procfs.PressureCPU, &p.line); procfs.PSISwitchedOff(err) {
		unread(sink, "pressure_*", hostEntity, err, "boot with psi=1")
	} else {
		unread(sink, "pressure_*", hostEntity, err, "a kernel with CONFIG_PSI (Linux 4.20 or newer)")
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

// Sample implements Sampler.
func (p *Pressure) Sample(_ context.Context, sink recording.Sink) {
	for i := range pressures {
		p.add(sink, hostEntity, i, p.machine.Pressure(pressures[i].resource, &p.line))
		if p.group != nil {
			p.add(sink, jobGroup, i, p.group.Pressure(pressures[i].resource, &p.line))
		}
	}
}

// add records the line that was just read. That there is none was reported at the start.
func (p *Pressure) add(sink recording.Sink, entity string, i int, err error) {
	switch signal := pressures[i].signal; {
	case errors.Is(err, procfs.ErrNoData):
	case err != nil:
		unread(sink, signal.Name, entity, err, "")
	case pressures[i].full:
		addKnown(sink, signal, entity, p.line.FullSeconds)
	default:
		addKnown(sink, signal, entity, p.line.SomeSeconds)
	}
}

func cgroupOf(fs procfs.FS, id procfs.ID) (procfs.Cgroup, error) {
	return ofProcess(fs, id, func(*procfs.Process) (procfs.Cgroup, error) { return fs.Cgroup(id.PID) })
}

// Close implements Sampler.
func (p *Pressure) Close() {
	p.machine.Close()
	if p.group != nil {
		p.group.Close()
	}
}
