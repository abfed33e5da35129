package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// memory takes what memory is left, and what it costs that there is no more.
func (b *builder) memory() {
	limit, physical := b.memoryLimit()
	if limit == 0 {
		limit = physical
	}
	room, used := b.room()
	b.take(metric.MemLimit, positive(limit), metric.MemTotal, metric.CgroupMemLimit)
	b.take(metric.Available, median(room), metric.MemAvailable)
	b.take(metric.MemLimitUsed, median(used), metric.CgroupMemUsed, metric.MemAvailable)
	b.take(metric.SwapInRate, b.rate(metric.SwapIn, host), metric.SwapIn)
	b.take(metric.SwapOutRate, b.rate(metric.SwapOut, host), metric.SwapOut)
	refaults := b.rate(metric.Refaults, host)
	if b.h.of(metric.CgroupRefaults, group) != nil {
		refaults = b.rate(metric.CgroupRefaults, group)
	}
	b.take(metric.RefaultRate, refaults, metric.Refaults, metric.CgroupRefaults)

	var total, free figure
	if sizes := b.h.of(metric.ShmSize, host).within(b.steady); len(sizes) > 0 {
		total = exact(sizes[len(sizes)-1])
		if uses := b.h.of(metric.ShmUsed, host).within(b.steady); len(uses) > 0 { // the least room there was
			free = exact(max(total.Center-slices.Max(uses), 0))
		}
	}
	b.take(metric.ShmTotal, total, metric.ShmSize)
	b.take(metric.ShmFree, free, metric.ShmUsed, metric.ShmSize)
}

// memoryLimit is the limit of the job's control group, 0 where there is none below what the machine has, and what it
// has, 0 where that is not known.
func (b *builder) memoryLimit() (limit, physical float64) {
	physical, known := b.usual(metric.MemTotal, host)
	if !known {
		physical = max(float64(b.rec.Header.Host.MemoryBytes), 0)
	}
	limit, limited := b.usual(metric.CgroupMemLimit, group)
	if given := b.rec.Header.Host.MemoryLimit; !limited && given != nil {
		limit = float64(*given)
	}
	if known = known || physical > 0; limit <= 0 || known && limit >= physical {
		limit = 0
	}
	return limit, physical
}

// room is the memory that is left in each window, of the machine and of the job's control group, and the share of the
// limit that is in use.
func (b *builder) room() (room, used []float64) {
	limit, physical := b.memoryLimit()
	free := b.h.of(metric.MemAvailable, host).means(b.spans)
	held := b.h.of(metric.CgroupMemUsed, group).means(b.spans)
	file := b.h.of(metric.CgroupMemFile, group).means(b.spans)
	for i, left := range free {
		part := 1 - divide(left, physical)
		if limit > 0 && stat.Finite(held[i]) {
			kept := held[i]
			if stat.Finite(file[i]) { // page cache that is no tmpfs gives way
				kept = max(kept-file[i], 0)
			}
			part = kept / limit
			if left = max(limit-kept, 0); stat.Finite(free[i]) {
				left = math.Min(left, free[i])
			}
		}
		room, used = append(room, left), append(used, part)
	}
	return room, used
}
