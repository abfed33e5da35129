package evidence

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// disk takes the devices that hold the dataset: their rates together, and of the busiest how busy it is. Where one of them was not read, the
// rest would pass for all.
func (b *builder) disk() {
	b.limit(metric.ReadIOPSLimit, metric.CgroupReadIOPSMax)
	b.limit(metric.ReadBPSLimit, metric.CgroupReadBPSMax)
	if slices.ContainsFunc(b.rec.Unseen, func(u recording.Unseen) bool { return u.Signal == "disk_*" && strings.HasPrefix(u.Entity, "disk/") }) {
		return
	}
	sums := func(d metric.Desc) (growth, clock []float64) {
		growth = make([]float64, len(b.spans))
		for _, t := range b.h.all(d) {
			g, _ := t.grow(b.spans)
			add(growth, g)
		}
		return growth, b.covered(d)
	}
	reads, clock := sums(metric.DiskReads)
	b.share(metric.DiskReadRate, reads, clock, metric.Measured)
	bytes, clock := sums(metric.DiskReadBytes)
	b.share(metric.DiskByteRate, bytes, clock, metric.Measured)
	waited, _ := sums(metric.DiskReadTime)
	b.share(metric.DiskLatency, waited, reads, metric.Measured)
	queue, clock := sums(metric.DiskQueueTime)
	b.share(metric.DiskQueue, queue, clock, metric.Measured)
	busiest := stat.Summary{}
	for _, t := range b.h.all(metric.DiskBusy) {
		growth, seen := t.grow(b.spans)
		if s := stat.Ratio(growth, seen); s.N > 0 && (busiest.N == 0 || s.Center > busiest.Center) {
			busiest = s
		}
	}
	b.set(metric.DiskUtil, busiest, metric.Measured)
}

// limit takes a limit of the job's control group as it was read.
func (b *builder) limit(d, raw metric.Desc) {
	for _, t := range b.h.all(raw) {
		if x, ok := stat.Quantile(t.within(b.steady), 0.5); ok && x > 0 {
			b.exact(d, x, metric.Measured)
		}
	}
}
