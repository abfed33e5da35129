package evidence

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// disk takes the devices that hold the dataset: their rates together, and of the busiest how busy it is. Where one of
// them was not read, the rest would pass for all.
func (b *builder) disk() {
	b.take(metric.ReadIOPSLimit, b.limit(metric.CgroupReadIOPSMax), metric.CgroupReadIOPSMax)
	b.take(metric.ReadBPSLimit, b.limit(metric.CgroupReadBPSMax), metric.CgroupReadBPSMax)
	part := slices.ContainsFunc(b.rec.Unseen, func(u recording.Unseen) bool {
		return u.Signal == "disk_*" && strings.HasPrefix(u.Entity, "disk/")
	})
	over := func(num, den metric.Desc) figure {
		growth, seen := b.growAll(b.h.all(num))
		if den.Name != "" {
			seen, _ = b.growAll(b.h.all(den))
		}
		if part {
			return figure{}
		}
		return ratio(growth, seen)
	}
	second := metric.Desc{}
	b.take(metric.DiskReadRate, over(metric.DiskReads, second), metric.DiskReads)
	b.take(metric.DiskByteRate, over(metric.DiskReadBytes, second), metric.DiskReadBytes)
	b.take(metric.DiskLatency, over(metric.DiskReadTime, metric.DiskReads), metric.DiskReadTime, metric.DiskReads)
	b.take(metric.DiskQueue, over(metric.DiskQueueTime, second), metric.DiskQueueTime)
	var busiest figure
	for _, t := range b.h.all(metric.DiskBusy) {
		if s := stat.Ratio(t.grow(b.spans)); s.N > 0 && (busiest.N == 0 || s.Center > busiest.Center) && !part {
			busiest.Summary = s
		}
	}
	b.take(metric.DiskUtil, busiest, metric.DiskBusy)
}

// limit is a limit of the job's control group as it was read.
func (b *builder) limit(raw metric.Desc) (f figure) {
	for _, t := range b.h.all(raw) {
		if x, ok := b.usual(raw, t.entity); ok && x > 0 {
			f = exact(x)
		}
	}
	return f
}
