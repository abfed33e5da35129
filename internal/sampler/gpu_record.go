package sampler

import (
	"strings"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// gpuSignals says which signal each value of a reading is.
var gpuSignals = []struct {
	desc metric.Desc
	of   func(*nvml.DeviceReading) *float64
}{
	{metric.GPUUtil, func(d *nvml.DeviceReading) *float64 { return d.UtilizationRatio }},
	{metric.GPUGraphics, func(d *nvml.DeviceReading) *float64 { return d.GraphicsRatio }},
	{metric.GPUMemUsed, func(d *nvml.DeviceReading) *float64 { return d.MemoryUsedBytes }},
	{metric.GPUMemTotal, func(d *nvml.DeviceReading) *float64 { return d.MemoryTotalBytes }},
	{metric.GPUPower, func(d *nvml.DeviceReading) *float64 { return d.PowerWatts }},
	{metric.GPUPowerLimit, func(d *nvml.DeviceReading) *float64 { return d.PowerLimitWatts }},
	{metric.GPUSMClock, func(d *nvml.DeviceReading) *float64 { return d.SMClockHertz }},
	{metric.GPUSMClockMax, func(d *nvml.DeviceReading) *float64 { return d.SMClockMaxHertz }},
	{metric.GPUThrottle, func(d *nvml.DeviceReading) *float64 { return d.ThrottleReasons }},
	{metric.GPUPcieGen, func(d *nvml.DeviceReading) *float64 { return d.PCIeGeneration }},
	{metric.GPUPcieGenMax, func(d *nvml.DeviceReading) *float64 { return d.PCIeGenerationMax }},
	{metric.GPUPcieWidth, func(d *nvml.DeviceReading) *float64 { return d.PCIeWidth }},
	{metric.GPUPcieWidthMx, func(d *nvml.DeviceReading) *float64 { return d.PCIeWidthMax }},
	{metric.GPUPcieRx, func(d *nvml.DeviceReading) *float64 { return d.PCIeRxPerSec }},
	{metric.GPUSMActivity, func(d *nvml.DeviceReading) *float64 { return d.SMActivityRatio }},
	{metric.GPUDRAM, func(d *nvml.DeviceReading) *float64 { return d.DRAMRatio }},
}

// gpuFields says which signals are missing when NVML could not read a field.
var gpuFields = map[nvml.Field][]string{
	nvml.FieldUtilization: {metric.GPUUtil.Name},
	nvml.FieldMemory:      {metric.GPUMemUsed.Name, metric.GPUMemTotal.Name},
	nvml.FieldPower:       {metric.GPUPower.Name},
	nvml.FieldPowerLimit:  {metric.GPUPowerLimit.Name},
	nvml.FieldClock:       {metric.GPUSMClock.Name},
	nvml.FieldClockMax:    {metric.GPUSMClockMax.Name},
	nvml.FieldThrottle:    {metric.GPUThrottle.Name},
	nvml.FieldPCIeLink: {metric.GPUPcieGen.Name, metric.GPUPcieGenMax.Name, metric.GPUPcieWidth.Name,
		metric.GPUPcieWidthMx.Name},
	nvml.FieldPCIeTraffic:  {metric.GPUPcieRx.Name},
	nvml.FieldActivity:     {metric.GPUGraphics.Name, metric.GPUSMActivity.Name, metric.GPUDRAM.Name},
	nvml.FieldProcesses:    {metric.GPUJobMemory.Name},
	nvml.FieldProcessUse:   {metric.GPUOthersUtil.Name},
	nvml.FieldEveryReading: {"gpu_*"},
}

func (g *GPU) record(sink recording.Sink, d *nvml.DeviceReading) {
	entity := gpuEntity(d.UUID)
	for field, why := range d.Absent {
		for _, signal := range gpuFields[field] {
			sink.Unseen(signal, entity, why, gpuCure(field, why))
		}
	}
	if d.Lost {
		sink.Add(metric.GPULost, entity, 1)
		if !g.lost[d.UUID] {
			g.lost[d.UUID] = true
			sink.Event(recording.EventGPU, entity, map[string]string{"state": "lost"})
			sink.Unseen("gpu_*", entity, "the driver lost this GPU while it was watched", "sudo dmesg | grep -i xid")
		}
		return
	}
	for _, signal := range gpuSignals {
		if value := signal.of(d); value != nil {
			sink.Add(signal.desc, entity, *value)
		}
	}
	if !g.matchable {
		return
	}
	if d.Processes != nil {
		g.match(sink, entity, d)
	}
	if d.ProcessUse != nil {
		ours, others := g.ours(), 0.0
		for _, u := range d.ProcessUse {
			if _, own := ours[int(u.PID)]; !own {
				others += u.SMRatio
			}
		}
		sink.Add(metric.GPUOthersUtil, entity, others)
	}
}

// matched are the signals that need the driver's numbers of processes.
var matched = []metric.Desc{metric.GPUJobMemory, metric.GPUOthersUtil}

// ours are the job's processes by their numbers.
func (g *GPU) ours() map[int]procfs.ID {
	ours := map[int]procfs.ID{}
	for _, p := range g.members.Tree().Processes {
		ours[p.PID] = p.ID
	}
	return ours
}

// match says which of the job's own processes are on the GPU, and adds up what they hold of it.
// Both sides use the host's process numbers. A driver that lists nobody on a GPU that is busy does not list
// everybody, as in WSL and in containers: nothing follows from it.
func (g *GPU) match(sink recording.Sink, entity string, d *nvml.DeviceReading) {
	if len(d.Processes) == 0 && d.UtilizationRatio != nil && *d.UtilizationRatio > 0 {
		sink.Unseen(metric.GPUJobMemory.Name, entity, "the driver lists no process on this GPU, and the GPU is busy",
			"")
		return
	}
	ours := g.ours()
	held, known := 0.0, true
	for _, p := range d.Processes {
		id, own := ours[int(p.PID)]
		if !own {
			continue
		}
		if gpu := g.known(d.UUID); gpu != nil {
			gpu.OfJob = true
		}
		if pair := job.Entity(id) + " " + d.UUID; !g.seen[pair] && len(g.seen) < maxSeen {
			g.seen[pair] = true
			sink.Event(recording.EventGPUProcess, job.Entity(id), map[string]string{"gpu": d.UUID})
		}
		if p.MemoryBytes == nil {
			known = false
			continue
		}
		held += *p.MemoryBytes
	}
	if !known {
		sink.Unseen(metric.GPUJobMemory.Name, entity, "the driver does not say how much memory each process holds", "")
		return
	}
	sink.Add(metric.GPUJobMemory, entity, held)
}

// maxSeen bounds the events of processes on GPUs: ranks that are born anew with each failure.
const maxSeen = 1024

// gpuCure says what would make a field readable; "" where the GPU or the driver cannot. The driver asks for privileges
// on the host, which root of a container may lack; performance counters it can leave open to all (NVIDIA,
// ERR_NVGPUCTRPERM).
func gpuCure(field nvml.Field, why string) string {
	switch {
	case why == nvml.ReasonNoPermission && field == nvml.FieldActivity:
		return "give pipetune CAP_SYS_ADMIN, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
	case why == nvml.ReasonNoPermission:
		return "run pipetune with CAP_SYS_ADMIN on the host"
	case strings.HasPrefix(why, nvml.ReasonNoFunction):
		return "update the NVIDIA driver"
	case field == nvml.FieldEveryReading:
		return "nvidia-smi"
	}
	return ""
}
