package rules

import (
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// storageLimit is the line from which waiting for storage is worth a finding of its own.
var storageLimit = threshold("loading time spent waiting for storage", diagnose.High.Value, metric.Ratio,
	"derived: a part of the loading time that is high by the grades of the step")

var nearLimit = threshold("part of the allowed rate in use", 0.90, metric.Ratio,
	"derived: a throttled reader measured 100 of 100 allowed reads per second (fio under blkio.throttle, Debian); 90 "+
		"% leaves room for noise")

var (
	busyRate = threshold("bytes per second of a busy device", 500e6, metric.BytesPerS,
		"gpuprof insights.py: I/O-bound above 500 MB/s or 5,000 reads/s with CPU to spare; a SATA link carries 550 "+
			"MB/s")
	busyReads = threshold("reads per second of a busy device", 5000, metric.PerSecond, "gpuprof insights.py: as above")
	deepQueue = threshold("requests in flight for each that waits", 2, metric.Count,
		"derived: a loading process has one synchronous read in flight, so a deeper queue at the device is other "+
			"readers or a device that lags behind read-ahead")
	neverEmpty = threshold("device never idle", 0.95, metric.Ratio,
		"Linux Documentation/admin-guide/iostats.rst: the time with requests in flight; necessary for saturation, "+
			"not sufficient, hence never used alone")
)

// leastFetched is what those who wait for storage must fetch for it to be their reads that they wait for: a disk that
// is busy with others holds up writes and system calls of all kinds.
var leastFetched = threshold("bytes fetched in a second of waiting for storage", 40<<10, metric.BytesPerS,
	"derived: a request brings a page of 4 KiB at the least, and within a tenth of a second also from a disk that "+
		"seeks for others")

// waitsForStorage is the part of the loading time that goes to storage, reads and opens alike, where loading fetches
// anything from it.
func waitsForStorage(p *diagnose.Pass) float64 {
	split, ok := loadingOf(p)
	fetched, counted := p.Maybe(metric.StorageBytes)
	waits := split.busy * (split.storage + split.open) * loaders(p)
	if !ok || counted && !onNetwork(p) && fetched < leastFetched.Value*waits {
		// round trips for names and sizes are no reads
		return 0
	}
	return share(split.storage + split.open)
}

// largerReads recommends fewer requests, where their size is known.
func largerReads(p *diagnose.Pass, why string) []report.Recommendation {
	size, ok := p.Maybe(metric.BytesPerRead)
	if !ok {
		return nil
	}
	return []report.Recommendation{{Setting: "bytes per read", From: new(unit.Bytes(size)), To: "1 MiB or more",
		Why: why}}
}

// allowance is the cgroup's read limit in force and how much of it is in use, the fuller of the two kinds; false where
// there is no limit.
func allowance(p *diagnose.Pass) (used float64, reads bool, limit float64, ok bool) {
	fill := func(rate, of metric.Desc) (float64, float64, bool) {
		r, l, ok := both(p, rate, of)
		if !ok || l <= 0 {
			return 0, 0, false
		}
		return r / l, l, true
	}
	bytes, byteLimit, okBytes := fill(metric.DiskByteRate, metric.ReadBPSLimit)
	count, countLimit, okReads := fill(metric.DiskReadRate, metric.ReadIOPSLimit)
	switch {
	case okReads && (!okBytes || count >= bytes):
		return count, true, countLimit, true
	case okBytes:
		return bytes, false, byteLimit, true
	}
	return 0, false, 0, false
}

// deviceFull reports whether the device itself gives what it can: never idle, and busy by published rates or with a
// queue deeper than its readers make.
func deviceFull(p *diagnose.Pass) bool {
	if p.OrZero(metric.DiskUtil) < neverEmpty.Value {
		return false
	}
	split, ok := loadingOf(p)
	return p.OrZero(metric.DiskByteRate) >= busyRate.Value || p.OrZero(metric.DiskReadRate) >= busyReads.Value ||
		ok && p.OrZero(metric.DiskQueue) >= deepQueue.Value*max(split.storage*split.busy*loaders(p), 1)
}

// full reports whether storage, device or allowance, gives no more.
func full(p *diagnose.Pass) bool {
	used, _, _, ok := allowance(p)
	return ok && used >= nearLimit.Value || deviceFull(p)
}
