package evidence

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

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
