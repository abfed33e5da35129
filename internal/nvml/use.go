package nvml

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/metric"
)

// processUse reads what each process used of the SMs since the last call. Like that of utilization, the first call
// only finds where to begin.
func (d *device) processUse(r *DeviceReading) {
	if d.lost {
		return
	}
	if d.mig {
		d.absent("MIG is enabled: the driver does not report what processes use", metric.GPUOthersUtil)
		return
	}
	if why := d.library.lacks("nvmlDeviceGetProcessUtilization"); why != "" {
		d.absent(why, metric.GPUOthersUtil)
		return
	}
	found, newest, ret, why := d.lister.processUses(d.usesSeen)
	switch {
	case why != "":
		d.absent(why, metric.GPUOthersUtil)
		return
	case ret == nvml.ERROR_NOT_FOUND: // nobody used any
	case ret != nvml.SUCCESS:
		d.absent(d.failed(ret), metric.GPUOthersUtil)
		return
	}
	if d.usesSeen > 0 {
		r.ProcessUse = found
	}
	d.usesSeen = max(d.usesSeen, newest, 1)
}

// latestUses joins what the driver reports: of a process that is there several times the mean counts, a use that cannot
// be is passed over.
func latestUses(found []rawUse, since uint64) (uses []ProcessUse, newest uint64) {
	uses = []ProcessUse{}
	at, times := map[uint32]int{}, map[uint32]float64{}
	for _, u := range found {
		if u.at <= since || u.sm > 100 || u.pid == 0 {
			continue
		}
		newest = max(newest, u.at)
		i, known := at[u.pid]
		if !known {
			i = len(uses)
			at[u.pid], uses = i, append(uses, ProcessUse{PID: u.pid})
		}
		n := times[u.pid]
		uses[i].SMRatio = (uses[i].SMRatio*n + float64(u.sm)/100) / (n + 1)
		times[u.pid] = n + 1
	}
	return uses, newest
}

// rawUse is one entry of the driver's list.
type rawUse struct {
	pid, sm uint32
	at      uint64
}

func tooMany(what string, count uint32) string {
	return fmt.Sprintf("the driver reports %d %s, which cannot be", count, what)
}
