package nvml

import (
	"fmt"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// processUse reads what each process used of the SMs since the last call. Like that of utilization, the first call
// only finds where to begin.
func (d *device) processUse(r *DeviceReading, _ time.Time) (why string) {
	if d.mig {
		return "MIG is enabled: the driver does not report what processes use"
	}
	if why := d.library.lacks("nvmlDeviceGetProcessUtilization"); why != "" {
		return why
	}
	found, newest, ret, why := d.lister.processUses(d.usesSeen)
	switch {
	case why != "":
		return why
	case ret == nvml.ERROR_NOT_FOUND: // nobody used any
	case ret != nvml.SUCCESS:
		return d.failed(ret)
	}
	if d.usesSeen > 0 {
		r.ProcessUse = found
	}
	d.usesSeen = max(d.usesSeen, newest, 1)
	return ""
}

// latestUses joins what the driver reports: of a process that is there several times the mean counts, a use that cannot
// be is passed over.
func latestUses(found []nvml.ProcessUtilizationSample, since uint64) (uses []ProcessUse, newest uint64) {
	uses = []ProcessUse{}
	at, times := map[uint32]int{}, map[uint32]float64{}
	for _, u := range found {
		if u.TimeStamp <= since || u.SmUtil > 100 || u.Pid == 0 {
			continue
		}
		newest = max(newest, u.TimeStamp)
		i, known := at[u.Pid]
		if !known {
			i = len(uses)
			at[u.Pid], uses = i, append(uses, ProcessUse{PID: u.Pid})
		}
		n := times[u.Pid]
		uses[i].SMRatio = (uses[i].SMRatio*n + float64(u.SmUtil)/100) / (n + 1)
		times[u.Pid] = n + 1
	}
	return uses, newest
}

func tooMany(what string, count uint32) string {
	return fmt.Sprintf("the driver reports %d %s, which cannot be", count, what)
}
