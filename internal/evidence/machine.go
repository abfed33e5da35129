package evidence

import (
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// The entities of figures that are not of one process.
const (
	host  = "host"
	group = "cgroup/job"
)

// machine takes the CPU time of the machine and of the job, and the pressure on CPU, memory and input.
func (b *builder) machine() {
	b.countCores()
	busy, steal, all, job := b.Grow(host, metric.CPUBusy), b.Grow(host, metric.CPUSteal), b.allCPUs(), b.jobCPU()
	b.take(metric.CPUBusyRatio, b.ratio(busy, all), metric.CPUBusy, metric.CPUIdle)
	b.take(metric.UsableBusy, b.usableBusy(stat.Plus(busy, steal), all, job),
		metric.CPUBusy, metric.CPUUsable, metric.CPUPresent)
	if b.Track(metric.CPUSteal, host) == nil {
		steal = nil
	}
	b.take(metric.StealRatio, b.ratio(steal, all), metric.CPUSteal)
	b.take(metric.StealUsual, b.usualSteal(), metric.CPUSteal, metric.CPUBusy)
	trainers := b.growthOf(metric.ProcCPU, b.Processes.Trainers)
	for _, r := range b.ranks {
		if r.fed != nil && r.fed.Threads { // what feeds a trainer is not its step
			feeding, _, _ := b.Total(r.cpu(), r.workerSet)
			trainers = stat.Beyond(trainers, feeding)
		}
	}
	b.take(metric.JobCPU, b.ratio(job, b.Length), metric.ProcCPU)
	b.take(metric.TrainerCPU, b.ratio(trainers, b.Length), metric.ProcCPU)
	b.take(metric.OtherCPU, b.otherCPU(job), metric.CPUBusy, metric.ProcCPU)
	b.take(metric.Throttled, b.throttled(), metric.CgroupCPUThrottled, metric.CgroupCPUPeriods)
	b.take(metric.CPUPressure, b.rate(metric.PressureCPUSome, group, host), metric.PressureCPUSome)
	b.take(metric.IOPressure, b.rate(metric.PressureIOSome, group, host), metric.PressureIOSome)
	b.take(metric.MemPressure, b.rate(metric.PressureMemFull, group, host), metric.PressureMemFull)
}

// longEnough is the CPU time, in seconds, that a machine must have wanted since its start for what was stolen of it to
// be its usual share: what is stolen comes in bursts of some ten seconds.
const longEnough = 600

// usualSteal is the share of the CPU time wanted since the machine's start that a hypervisor gave to others.
func (b *builder) usualSteal() figure {
	steal, busy := b.Track(metric.CPUSteal, host), b.Track(metric.CPUBusy, host)
	if steal == nil || busy == nil {
		return figure{}
	}
	wanted := steal.V[0] + busy.V[0]
	switch {
	case b.Rec.Header.Host.Virtual == "":
	case wanted < longEnough:
		return none("the machine was started too recently to tell its usual share", "")
	case steal.V[0] == 0: // as where its hypervisor does not report any
		return none("the machine's hypervisor reports of nothing that it took", "")
	}
	return exact(stat.Share(stat.Over(steal.V[0], wanted)))
}

// rate is a counter's growth per second, of the first of some entities that it was read of.
func (b *builder) rate(raw metric.Desc, entities ...string) figure {
	for _, e := range entities {
		if t := b.Track(raw, e); t != nil {
			return b.ratio(t.Grow(b.Spans))
		}
	}
	return figure{}
}

// countCores takes the counts of CPUs, which their use is a share of.
func (b *builder) countCores() {
	b.take(metric.UsableCPUs, b.cores(metric.CPUUsable, b.Rec.Header.Host.CPUsUsable), metric.CPUUsable)
	b.take(metric.PresentCPUs, b.cores(metric.CPUPresent, float64(b.Rec.Header.Host.CPUsPresent)), metric.CPUPresent)
	b.take(metric.FullCPUs, b.fullCPUs(), metric.CPUPresent, metric.CPUBusy)
}

// fullCPUs are the usable CPUs that are known to have a core of their own, or whose sharing one is in what was seen: at
// least as many as computed on average. A hypervisor that shows a core for each CPU may hide who shares one.
func (b *builder) fullCPUs() figure {
	usable, ok := b.center(metric.UsableCPUs)
	present, ok2 := b.center(metric.PresentCPUs)
	if !ok || !ok2 {
		return figure{}
	}
	busy := b.rate(metric.CPUBusy, host)
	if usable < present-0.01 { // which of them others compute on is not known
		busy = b.ratio(b.jobCPU(), b.Length)
	}
	if busy.N == 0 {
		return figure{}
	}
	h, cores := b.Rec.Header.Host, max(busy.Center, 1)
	if physical := float64(h.CoresPhysical); physical > 0 && (h.Virtual == "" || physical < present) {
		cores = max(cores, physical*usable/present)
	}
	return exact(min(cores, usable)).by(metric.Inferred)
}

// cores is how many cores there are, as read in the watch or else before it.
func (b *builder) cores(raw metric.Desc, header float64) figure {
	if n, ok := b.Usual(raw, host); ok {
		return positive(n)
	}
	return positive(header)
}

// positive is a figure that was read off; absent where it is not above 0.
func positive(x float64) figure {
	if !(x > 0) {
		return figure{}
	}
	return exact(x)
}

// allCPUs is the time of all CPUs, per window; nil where it was not read. The part of their idle time in which a task
// waited for a disk may fall, when the task goes on elsewhere (Documentation/filesystems/proc.rst on iowait); the
// kernel then has it in the other part, and only the sum is a counter.
func (b *builder) allCPUs() []float64 {
	idle := b.Track(metric.CPUIdle, host)
	if idle == nil {
		return nil
	}
	if iowait := b.Track(metric.CPUIowait, host); iowait != nil {
		idle = idle.With(iowait, func(idle, waiting float64) float64 { return idle + waiting })
	}
	all, _ := idle.Grow(b.Spans)
	return stat.Plus(all, b.Grow(host, metric.CPUBusy, metric.CPUSteal))
}

// usableBusy is the share of the usable CPUs' time that was in use; used is what anybody used, or a hypervisor took,
// of the time of all.
func (b *builder) usableBusy(used, all, job []float64) figure {
	usable, ok := b.center(metric.UsableCPUs)
	present, known := b.center(metric.PresentCPUs)
	if !ok || !known || all == nil {
		return figure{}
	}
	if usable >= present-0.01 {
		return b.ratio(used, all)
	}
	// Which cores the job may use is not reported, and a quota is no set of cores: its own use of them is a lower
	// bound, and where others keep the whole machine busier than that, they take part of its share too.
	if job == nil {
		job = make([]float64, len(all))
	}
	return b.mean(stat.Each(len(all), func(i int) float64 {
		return max(stat.Divide(used[i], all[i]), job[i]/b.Length[i]/usable)
	})).by(metric.Inferred)
}

// jobCPU returns the CPU time of every process of the job, per window; nil where none was read.
func (b *builder) jobCPU() (growth []float64) {
	workers := map[int]bool{}
	for _, w := range b.Processes.Workers {
		workers[w.PID] = true
	}
	for _, t := range b.Tracks(metric.ProcCPU) {
		a := b.Processes.All[t.Entity]
		if a != nil && a.Role != "worker" && workers[a.Parent] && stat.Finite(a.Died) {
			continue // a worker's program that ended: among what that worker ran
		}
		if growth == nil {
			growth = b.programs(b.Processes.Workers)
		}
		g, _ := b.WholeLife(t, a)
		stat.Add(growth, g)
	}
	return growth
}

// otherCPU is what the machine's CPUs ran beside the job and pipetune.
func (b *builder) otherCPU(job []float64) figure {
	busy, seen := b.Track(metric.CPUBusy, host).Grow(b.Spans)
	if job == nil || stat.Sum(seen) == 0 {
		return figure{}
	}
	own := 0.0
	if b.Rec.End != nil && stat.Finite(b.Rec.End.Overhead.CPURatio) {
		own = max(b.Rec.End.Overhead.CPURatio, 0)
	}
	others := b.mean(stat.Each(len(job), func(i int) float64 {
		return stat.Divide(busy[i], seen[i]) - job[i]/b.Length[i] - own
	}))
	return summary(stat.NotNegative(others.Summary))
}

// throttled is the share of quota periods in which the job was held back. Where periods were watched and none was
// enforced, there is no quota, and the share is 0.
func (b *builder) throttled() figure {
	periods, held := b.Track(metric.CgroupCPUPeriods, group), b.Track(metric.CgroupCPUThrottled, group)
	all, seen := periods.Grow(b.Spans)
	if held == nil || stat.Sum(seen) == 0 {
		return figure{}
	}
	if stat.Sum(all) == 0 {
		return exact(0)
	}
	growth, _ := held.Grow(b.Spans)
	return b.ratio(growth, all)
}

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
	if b.Track(metric.CgroupRefaults, group) != nil {
		refaults = b.rate(metric.CgroupRefaults, group)
	}
	b.take(metric.RefaultRate, refaults, metric.Refaults, metric.CgroupRefaults)

	var total, free figure
	if sizes := b.Track(metric.ShmSize, host).Within(b.Steady); len(sizes) > 0 {
		total = exact(sizes[len(sizes)-1])
		if uses := b.Track(metric.ShmUsed, host).Within(b.Steady); len(uses) > 0 { // the least room there was
			free = exact(max(total.Center-slices.Max(uses), 0))
		}
	}
	b.take(metric.ShmTotal, total, metric.ShmSize)
	b.take(metric.ShmFree, free, metric.ShmUsed, metric.ShmSize)
}

// memoryLimit is the limit of the job's control group, 0 where there is none below what the machine has, and what it
// has, 0 where that is not known.
func (b *builder) memoryLimit() (limit, physical float64) {
	physical, known := b.Usual(metric.MemTotal, host)
	if !known {
		physical = max(float64(b.Rec.Header.Host.MemoryBytes), 0)
	}
	limit, limited := b.Usual(metric.CgroupMemLimit, group)
	if given := b.Rec.Header.Host.MemoryLimit; !limited && given != nil {
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
	free := b.Track(metric.MemAvailable, host).Means(b.Spans)
	held := b.Track(metric.CgroupMemUsed, group).Means(b.Spans)
	file := b.Track(metric.CgroupMemFile, group).Means(b.Spans)
	for i, left := range free {
		part := 1 - stat.Divide(left, physical)
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

// disk takes the devices that hold the dataset: their rates together, and of the busiest how busy it is. Where one of
// them was not read, the rest would pass for all.
func (b *builder) disk() {
	b.take(metric.ReadIOPSLimit, b.limit(metric.CgroupReadIOPSMax), metric.CgroupReadIOPSMax)
	b.take(metric.ReadBPSLimit, b.limit(metric.CgroupReadBPSMax), metric.CgroupReadBPSMax)
	part := slices.ContainsFunc(b.Rec.Unseen, func(u recording.Unseen) bool {
		return u.Signal == "disk_*" && strings.HasPrefix(u.Entity, "disk/")
	})
	over := func(num, den metric.Desc) figure {
		growth, seen := b.GrowAll(b.Tracks(num))
		if den.Name != "" {
			seen, _ = b.GrowAll(b.Tracks(den))
		}
		if part {
			return figure{}
		}
		return b.ratio(growth, seen)
	}
	second := metric.Desc{}
	b.take(metric.DiskReadRate, over(metric.DiskReads, second), metric.DiskReads)
	b.take(metric.DiskByteRate, over(metric.DiskReadBytes, second), metric.DiskReadBytes)
	b.take(metric.DiskLatency, over(metric.DiskReadTime, metric.DiskReads), metric.DiskReadTime, metric.DiskReads)
	b.take(metric.DiskQueue, over(metric.DiskQueueTime, second), metric.DiskQueueTime)
	var busiest figure
	for _, t := range b.Tracks(metric.DiskBusy) {
		if !part {
			busiest = busiest.orMore(b.Quotient(t.Grow(b.Spans)))
		}
	}
	b.take(metric.DiskUtil, busiest, metric.DiskBusy)
}

// limit is a limit of the job's control group as it was read.
func (b *builder) limit(raw metric.Desc) (f figure) {
	for _, t := range b.Tracks(raw) {
		if x, ok := b.Usual(raw, t.Entity); ok && x > 0 {
			f = exact(x)
		}
	}
	return f
}
