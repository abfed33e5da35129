package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestUsualSteal is of what the counters hold as the watch begins, once they hold enough to tell.
func TestUsualSteal(t *testing.T) {
	for name, tt := range map[string]struct {
		virtual           string
		busy, steal, want float64
	}{
		"an hour of computing":              {"kvm", 3600, 180, 180. / 3780},
		"a hypervisor that does not say":    {"hyperv", 3600, 0, absent},
		"a machine just started":            {"kvm", 300, 30, absent},
		"no hypervisor, and just started":   {"", 30, 0, 0},
		"no hypervisor, and nothing at all": {"", 0, 0, 0},
	} {
		s := twoWorkers(t, recording.Header{Host: recording.Host{Virtual: tt.virtual}})
		s.sums[metric.CPUBusy.Name+" host"], s.sums[metric.CPUSteal.Name+" host"] = tt.busy, tt.steal
		s.run(10, inputBound)
		v, ok := s.evidence().Get(metric.StealUsual)
		if ok == math.IsNaN(tt.want) || ok && math.Abs(v.Center-tt.want) > 1e-9 {
			t.Errorf("%s: %v, %t; want %v", name, v.Center, ok, tt.want)
		}
	}
}

// TestFullCPUs: a hypervisor may hide that two CPUs share a core, so that only what was seen at work is known to have
// a pace of its own.
func TestFullCPUs(t *testing.T) {
	for name, tt := range map[string]struct {
		host recording.Host
		want float64
	}{
		"as many cores as CPUs":         {recording.Host{CoresPhysical: 8}, 8},
		"two CPUs a core":               {recording.Host{CoresPhysical: 4}, 4},
		"a virtual machine, 2.6 in use": {recording.Host{CoresPhysical: 8, Virtual: "kvm"}, 2.6},
		"one that shows its threads":    {recording.Host{CoresPhysical: 4, Virtual: "kvm"}, 4},
		"cores not known":               {recording.Host{}, 2.6},
	} {
		s := twoWorkers(t, recording.Header{Host: tt.host})
		s.run(10, moment{run: 0.1, work: 1, batches: 10, gpu: -1}) // and half a core for somebody else
		t.Log(name)
		about(t, s.evidence(), map[metric.Desc][2]float64{metric.FullCPUs: {tt.want, 0.01}})
	}
}

// TestUncountedDisk lets the kernel count one of a RAID's two disks: its figures are not those of the storage.
func TestUncountedDisk(t *testing.T) {
	s := twoWorkers(t, recording.Header{})
	s.r.Unseen("disk_*", "disk/nvme2n1", "the kernel does not count what nvme2n1 does", "echo 1")
	for i := range 30 {
		for _, d := range []metric.Desc{metric.DiskReads, metric.DiskReadBytes, metric.DiskReadTime,
			metric.DiskQueueTime, metric.DiskBusy} {
			s.r.Add(d, "disk/sda", float64(i))
		}
		s.run(1, inputBound)
	}
	e := s.evidence()
	for _, d := range []metric.Desc{metric.DiskReadRate, metric.DiskByteRate, metric.DiskLatency, metric.DiskQueue,
		metric.DiskUtil} {
		if v, ok := e.Get(d); ok {
			t.Errorf("%s is %v of a part of the devices", d.Name, v)
		}
		if why, _ := e.WhyMissing(d); !strings.Contains(why, "nvme2n1") {
			t.Errorf("%s is missing because %q", d.Name, why)
		}
	}
}
