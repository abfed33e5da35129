package sampler

import (
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/recording"
)

// gpuSignals says which signal each value of a reading is.
var gpuSignals = []struct {
	desc metric.Desc
	of   func(*nvml.DeviceReading) *float64
}{
	{metric.GPUUtil, func(d *nvml.DeviceReading) *float64 { return d.UtilizationRatio }},
	{metric.GPUMemUsed, func(d *nvml.DeviceReading) *float64 { return d.MemoryUsedBytes }},
	{metric.GPUMemTotal, func(d *nvml.DeviceReading) *float64 { return d.MemoryTotalBytes }},
	{metric.GPUPower, func(d *nvml.DeviceReading) *float64 { return d.PowerWatts }},
	{metric.GPUPowerLimit, func(d *nvml.DeviceReading) *float64 { return d.PowerLimitWatts }},
	{metric.GPUSMClock, func(d *nvml.DeviceReading) *float64 { return d.SMClockHertz }},
	{metric.GPUSMClockMax, func(d *nvml.DeviceReading) *float64 { return d.SMClockMaxHertz }},
	{metric.GPUThrottle, func(d *nvml.DeviceReading) *float64 { return d.ThrottleReasons }},
	{metric.GPUTemperature, func(d *nvml.DeviceReading) *float64 { return d.TemperatureCelsius }},
	{metric.GPUPcieGen, func(d *nvml.DeviceReading) *float64 { return d.PCIeGeneration }},
	{metric.GPUPcieGenMax, func(d *nvml.DeviceReading) *float64 { return d.PCIeGenerationMax }},
	{metric.GPUPcieWidth, func(d *nvml.DeviceReading) *float64 { return d.PCIeWidth }},
	{metric.GPUPcieWidthMx, func(d *nvml.DeviceReading) *float64 { return d.PCIeWidthMax }},
	{metric.GPUPcieRx, func(d *nvml.DeviceReading) *float64 { return d.PCIeRxPerSec }},
	{metric.GPUPcieTx, func(d *nvml.DeviceReading) *float64 { return d.PCIeTxPerSec }},
	{metric.GPUSMActivity, func(d *nvml.DeviceReading) *float64 { return d.SMActivityRatio }},
	{metric.GPUDRAM, func(d *nvml.DeviceReading) *float64 { return d.DRAMRatio }},
}

// gpuFields says which signals are missing when NVML could not read a field.
var gpuFields = map[nvml.Field][]string{
	nvml.FieldUtilization:  {metric.GPUUtil.Name},
	nvml.FieldMemory:       {metric.GPUMemUsed.Name, metric.GPUMemTotal.Name},
	nvml.FieldPower:        {metric.GPUPower.Name},
	nvml.FieldPowerLimit:   {metric.GPUPowerLimit.Name},
	nvml.FieldClock:        {metric.GPUSMClock.Name},
	nvml.FieldClockMax:     {metric.GPUSMClockMax.Name},
	nvml.FieldThrottle:     {metric.GPUThrottle.Name},
	nvml.FieldTemperature:  {metric.GPUTemperature.Name},
	nvml.FieldPCIeLink:     {metric.GPUPcieGen.Name, metric.GPUPcieGenMax.Name, metric.GPUPcieWidth.Name, metric.GPUPcieWidthMx.Name},
	nvml.FieldPCIeTraffic:  {metric.GPUPcieRx.Name, metric.GPUPcieTx.Name},
	nvml.FieldActivity:     {metric.GPUSMActivity.Name, metric.GPUDRAM.Name},
	nvml.FieldProcesses:    {metric.GPUJobMemory.Name},
	nvml.FieldEveryReading: {"gpu_*"},
}

// record writes one GPU's reading down.
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
	if d.Processes != nil && g.matchable {
		g.match(sink, entity, d)
	}
}

// match adds up what the job's own processes hold of the GPU. Both sides use the host's process numbers. A driver that lists nobody on a GPU that
// is busy does not list everybody, as in WSL and in containers: nothing follows from it.
func (g *GPU) match(sink recording.Sink, entity string, d *nvml.DeviceReading) {
	if len(d.Processes) == 0 && d.UtilizationRatio != nil && *d.UtilizationRatio > 0 {
		sink.Unseen(metric.GPUJobMemory.Name, entity, "the driver lists no process on this GPU, and the GPU is busy", "")
		return
	}
	ours := map[int]bool{}
	for _, p := range g.members.Tree().Processes {
		ours[p.PID] = true
	}
	held, known := 0.0, true
	for _, p := range d.Processes {
		if !ours[int(p.PID)] {
			continue
		}
		if gpu := g.known(d.UUID); gpu != nil {
			gpu.OfJob = true
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

// gpuCure says what would make a field readable; "" where the GPU or the driver cannot.
func gpuCure(field nvml.Field, why string) string {
	switch {
	case why == nvml.ReasonNoPermission:
		return "run pipetune as root"
	case strings.HasPrefix(why, nvml.ReasonNoFunction):
		return "update the NVIDIA driver"
	case field == nvml.FieldEveryReading:
		return "nvidia-smi"
	}
	return ""
}
