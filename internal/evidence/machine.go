package evidence

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// The entities of figures that are not of one process.
const (
	host  = "host"
	group = "cgroup/job"
)

// machine takes the CPU time of the machine and of the job, and the pressure on CPU, memory and input.
func (b *builder) machine() {
	b.cores()
	b.cpuTime()
	b.jobTime()
	b.throttling()
	for _, p := range []struct{ d, raw metric.Desc }{{metric.CPUPressure, metric.PressureCPUSome}, {metric.IOPressure, metric.PressureIOSome},
		{metric.MemPressure, metric.PressureMemFull}} {
		entity := group
		if b.h.of(p.raw, group) == nil {
			entity = host
		}
		b.rate(p.d, p.raw, entity, metric.Measured)
	}
}

// cores takes how many cores there are and how many the job may use.
func (b *builder) cores() {
	for _, c := range []struct {
		d, raw metric.Desc
		header float64
	}{{metric.UsableCPUs, metric.CPUUsable, b.rec.Header.Host.CPUsUsable}, {metric.PresentCPUs, metric.CPUPresent, float64(b.rec.Header.Host.CPUsPresent)}} {
		n, ok := stat.Quantile(b.h.of(c.raw, host).within(b.steady), 0.5)
		if !ok {
			n = c.header
		}
		if n > 0 {
			b.exact(c.d, n, metric.Measured)
		}
	}
}

// idle is the time CPUs had nothing to run. The part of it in which a task waited for a disk may fall, when the task goes on elsewhere
// (Documentation/filesystems/proc.rst on iowait); the kernel then has it in the other part, and only the sum is a counter.
func (b *builder) idle() *track {
	return b.h.of(metric.CPUIdle, host).plus(b.h.of(metric.CPUIowait, host))
}

// cpuTime takes the shares of all CPU time.
func (b *builder) cpuTime() {
	busy := b.grow(metric.CPUBusy, host)
	steal := b.grow(metric.CPUSteal, host)
	all, _ := b.idle().grow(b.spans)
	add(all, busy)
	add(all, steal)
	if b.h.of(metric.CPUIdle, host) == nil {
		return
	}
	b.share(metric.CPUBusyRatio, busy, all, metric.Measured)
	if b.h.of(metric.CPUSteal, host) != nil {
		b.share(metric.StealRatio, steal, all, metric.Measured)
	}
	usable, ok := b.center(metric.UsableCPUs)
	present, known := b.center(metric.PresentCPUs)
	if !ok || !known {
		return
	}
	// What the hypervisor took is in use by others.
	used := each(len(all), func(i int) float64 { return busy[i] + steal[i] })
	if usable >= present-0.01 {
		b.share(metric.UsableBusy, used, all, metric.Measured)
		return
	}
	// Which cores the job may use is not told, and a quota is no set of cores: its own use of them is a lower bound, and where
	// others keep the whole machine busier than that, they take part of its share too.
	job, _ := b.jobCPU()
	b.share(metric.UsableBusy, each(len(all), func(i int) float64 {
		return b.length[i] * max(divide(used[i], all[i]), job[i]/b.length[i]/usable)
	}), b.length, metric.Inferred)
}

// jobCPU returns the CPU time of every process of the job, per window.
func (b *builder) jobCPU() (growth []float64, ok bool) {
	growth = make([]float64, len(b.spans))
	workers := map[int]bool{}
	for _, w := range b.cast.workers {
		workers[w.pid] = true
	}
	add(growth, b.programs(b.cast.workers))
	for _, t := range b.h.all(metric.ProcCPU) {
		a := b.cast.all[t.entity]
		if a != nil && a.role != "worker" && workers[a.parent] && finite(a.died) {
			continue // a worker's program that ended: among what that worker ran
		}
		g, _ := b.wholeLife(t, a)
		add(growth, g)
		ok = true
	}
	return growth, ok
}

// jobTime takes whose the used cores are.
func (b *builder) jobTime() {
	job, ok := b.jobCPU()
	if !ok {
		return
	}
	b.share(metric.JobCPU, job, b.length, metric.Measured)
	if trainers, _, ok := b.total(metric.ProcCPU, b.cast.trainers); ok {
		b.share(metric.TrainerCPU, trainers, b.length, metric.Measured)
	}
	busy, seen := b.h.of(metric.CPUBusy, host).grow(b.spans)
	if sum(seen) == 0 {
		return
	}
	own := 0.0
	if b.rec.End != nil && finite(b.rec.End.Overhead.CPURatio) {
		own = max(b.rec.End.Overhead.CPURatio, 0)
	}
	s := stat.Ratio(each(len(job), func(i int) float64 {
		return b.length[i] * (divide(busy[i], seen[i]) - job[i]/b.length[i] - own)
	}), b.length)
	s.Center, s.Lo, s.Hi = max(s.Center, 0), max(s.Lo, 0), max(s.Hi, 0)
	b.set(metric.OtherCPU, s, metric.Measured)
}

// throttling takes the share of quota periods in which the job was held back. Where periods were watched and none was enforced, there is
// no quota, and the share is 0.
func (b *builder) throttling() {
	periods := b.h.of(metric.CgroupCPUPeriods, group)
	held := b.h.of(metric.CgroupCPUThrottled, group)
	if periods == nil || held == nil {
		return
	}
	all, seen := periods.grow(b.spans)
	if sum(seen) == 0 {
		return
	}
	if sum(all) == 0 {
		b.exact(metric.Throttled, 0, metric.Measured)
		return
	}
	growth, _ := held.grow(b.spans)
	b.share(metric.Throttled, growth, all, metric.Measured)
}
