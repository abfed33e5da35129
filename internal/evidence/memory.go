package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// memory takes what memory is left, and what it costs that there is no more.
func (b *builder) memory() {
	b.available()
	b.rate(metric.SwapInRate, metric.SwapIn, host, metric.Measured)
	b.rate(metric.SwapOutRate, metric.SwapOut, host, metric.Measured)
	if b.h.of(metric.CgroupRefaults, group) != nil {
		b.rate(metric.RefaultRate, metric.CgroupRefaults, group, metric.Measured)
	} else {
		b.rate(metric.RefaultRate, metric.Refaults, host, metric.Measured)
	}
	b.shm()
}

// available takes the room that is left and the limit, of the machine and of the job's control group.
func (b *builder) available() {
	free := b.h.of(metric.MemAvailable, host).means(b.spans)
	limit, limited := stat.Quantile(b.h.of(metric.CgroupMemLimit, group).within(b.steady), 0.5)
	used := b.h.of(metric.CgroupMemUsed, group).means(b.spans)
	file := b.h.of(metric.CgroupMemFile, group).means(b.spans)
	physical, known := stat.Quantile(b.h.of(metric.MemTotal, host).within(b.steady), 0.5)
	if !known && b.rec.Header.Host.MemoryBytes > 0 {
		physical, known = float64(b.rec.Header.Host.MemoryBytes), true
	}
	if !limited && b.rec.Header.Host.MemoryLimit != nil {
		limit, limited = float64(*b.rec.Header.Host.MemoryLimit), *b.rec.Header.Host.MemoryLimit > 0
	}
	limited = limited && limit > 0 && (!known || limit < physical)
	switch {
	case limited:
		b.exact(metric.MemLimit, limit, metric.Measured)
	case known:
		b.exact(metric.MemLimit, physical, metric.Measured)
	}
	var room, share []float64
	for i := range b.spans {
		left := free[i]
		part := math.NaN()
		if known {
			part = 1 - divide(free[i], physical)
		}
		if limited && finite(used[i]) {
			kept := used[i]
			if finite(file[i]) { // page cache that is no tmpfs gives way
				kept = max(kept-file[i], 0)
			}
			part = kept / limit
			left = max(limit-kept, 0)
			if finite(free[i]) {
				left = min(left, free[i])
			}
		}
		room, share = append(room, left), append(share, part)
	}
	b.set(metric.Available, stat.Median(room), metric.Measured)
	b.set(metric.MemLimitUsed, stat.Median(share), metric.Measured)
}

// shm takes the job's /dev/shm: its size, and the least room there was.
func (b *builder) shm() {
	size, used := b.h.of(metric.ShmSize, host), b.h.of(metric.ShmUsed, host)
	sizes := size.within(b.steady)
	if len(sizes) == 0 {
		return
	}
	total := sizes[len(sizes)-1]
	b.exact(metric.ShmTotal, total, metric.Measured)
	if uses := used.within(b.steady); len(uses) > 0 {
		b.exact(metric.ShmFree, max(total-slices.Max(uses), 0), metric.Measured)
	}
}
