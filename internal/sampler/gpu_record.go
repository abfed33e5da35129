package sampler

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

func (g *GPU) record(sink recording.Sink, d *nvml.DeviceReading) {
	entity := gpuEntity(d.UUID)
	for signal, why := range d.Absent {
		sink.Unseen(signal, entity, why, gpuCure(signal, why))
	}
	if d.Lost {
		sink.Add(metric.GPULost, entity, 1)
		if !g.lost[d.UUID] {
			g.lost[d.UUID] = true
			sink.Event(recording.EventGPU, entity, map[string]string{"state": "lost"})
			sink.Unseen(nvml.EverySignal, entity, "the driver lost this GPU while it was watched",
				"sudo dmesg | grep -i xid")
		}
		return
	}
	for _, signal := range metric.GPU {
		if value, read := d.Values[signal.Name]; read {
			sink.Add(signal, entity, value)
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
	if len(d.Processes) == 0 && d.Values[metric.GPUUtil.Name] > 0 {
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

// gpuCure says what would make a signal readable; "" where the GPU or the driver cannot. The driver asks for privileges
// on the host, which root of a container may lack; performance counters it can leave open to all (NVIDIA,
// ERR_NVGPUCTRPERM).
func gpuCure(signal, why string) string {
	activity := slices.ContainsFunc(nvml.ActivitySignals, func(d metric.Desc) bool { return d.Name == signal })
	switch {
	case why == nvml.ReasonNoPermission && activity:
		return "give pipetune CAP_SYS_ADMIN, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
	case why == nvml.ReasonNoPermission:
		return "run pipetune with CAP_SYS_ADMIN on the host"
	case strings.HasPrefix(why, nvml.ReasonNoFunction):
		return "update the NVIDIA driver"
	case signal == nvml.EverySignal:
		return "nvidia-smi"
	}
	return ""
}
