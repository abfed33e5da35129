package evidence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// gpuShare is what a step needs to know of the GPUs.
type gpuShare struct {
	basis metric.Basis // of figures of the job's GPUs: measured where the driver says whose they are
	none  bool         // no process of the job was on any of the GPUs: there is no device for a step to be on
	why   string       // why GPUs were watched and busy tells nothing; "" where it does, or where none was
	first string       // the first of the GPUs that are taken for the job's; "" where none is
}

// offGPU is why figures of GPUs are missing where others use them, and the job does not.
const offGPU = "no process of the job is on a GPU"

// costly are the clock event reasons that cost speed, with their names: SW power cap, HW slowdown, SW thermal slowdown, HW thermal
// slowdown, HW power brake (nvmlClocksEventReasons in nvml.h).
var costly = []struct {
	bit  uint64
	name string
}{{0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x20, "thermal (software)"}, {0x40, "thermal (hardware)"}, {0x80, "power brake"}}

// idleMemory is the share of a GPU's memory below which it is taken to hold no process's context: the driver itself keeps some hundred
// megabytes of a large card.
const idleMemory = 0.02

// gpu takes the GPUs of the job. Where it is not known which those are, it takes those in use if there is one, or one for each trainer, and
// else none: one GPU at work among eight would pass for eight that are hardly busy.
func (b *builder) gpu() {
	all := b.visibleGPUs()
	job, matched := b.jobGPUs(all)
	if !matched {
		if job, b.gpus.why = b.byEnvironment(all, job); b.gpus.why != "" {
			b.miss(b.gpus.why, cureMatch, append(slices.Clone(ofJobGPUs), metric.GPUCount)...)
			b.gpuIdle(nil)
			return
		}
	}
	b.gpuIdle(job)
	if b.gpus.none = len(all) > 0 && len(job) == 0; b.gpus.none {
		b.gpus.why = offGPU
		b.exact(metric.GPUCount, 0, metric.Measured)
		b.miss(offGPU, "", ofJobGPUs...)
	}
	if len(job) == 0 {
		return
	}
	b.gpus.first = job[0]
	basis := metric.Inferred
	if matched {
		basis = metric.Measured
	}
	b.gpus.basis = basis
	b.exact(metric.GPUCount, float64(len(job)), basis)
	if !matched && len(job) > 1 && len(job) != len(b.ranks) && !b.unused(job[0]) {
		b.gpus.why = fmt.Sprintf("which of the %d GPUs in use here are the job's is not known, and a mean over all would be of others too", len(job))
		b.miss(b.gpus.why, cureMatch, ofJobGPUs...)
		return
	}
	mean := func(d metric.Desc, per []float64) {
		b.share(d, each(len(per), func(i int) float64 { return per[i] * b.length[i] }), b.length, basis)
	}
	mean(metric.GPUBusy, b.busyOf(job))
	mean(metric.GPUSMActive, b.gpuMeans(metric.GPUSMActivity, job))
	mean(metric.GPUDRAMActive, b.gpuMeans(metric.GPUDRAM, job))
	mean(metric.PcieRxRate, b.gpuMeans(metric.GPUPcieRx, job))
	mean(metric.GPUOthersBusy, b.gpuMeans(metric.GPUOthersUtil, job))
	b.shareOut(job, matched)
	b.gpuMemory(job, basis)
	b.gpuPower(job, basis)
	b.gpuThrottle(job, basis)
	b.gpuLink(job, basis)
	for _, e := range job {
		if slices.Contains(b.h.of(metric.GPULost, e).within(b.steady), 1) {
			b.warn("%s was lost during the watch: its figures end there", e)
		}
	}
}

// shareOut gives each trainer its own GPUs: those whose list of processes held one of its own. Where that is known of none, all trainers have
// all of the job's. GPUs that nobody used in the watch, and that are not known to be the job's, say nothing of it.
func (b *builder) shareOut(job []string, matched bool) {
	used := map[string][]string{}
	for _, e := range b.rec.Events {
		if gpu := "gpu/" + e.Attrs["gpu"]; e.Kind == recording.EventGPUProcess && slices.Contains(job, gpu) {
			used[e.Entity] = append(used[e.Entity], gpu)
		}
	}
	for _, r := range b.ranks {
		r.gpus = job
		if own := used[r.entity]; len(own) > 0 {
			r.gpus = own
		}
		busy := b.busyOf(r.gpus)
		if s := stat.Ratio(busy, each(len(busy), func(int) float64 { return 1 })); s.N > 0 && (matched || s.Center > 0) {
			r.busy = busy
		}
	}
}

// busyOf is the share of each window in which GPUs ran work, mean over them: by the driver's samples, or, of a slice of one, by what its
// engines report; NaN where neither was read.
func (b *builder) busyOf(gpus []string) []float64 {
	busy, engines := b.gpuMeans(metric.GPUUtil, gpus), b.gpuMeans(metric.GPUGraphics, gpus)
	return each(len(busy), func(i int) float64 {
		if finite(busy[i]) {
			return busy[i]
		}
		return engines[i]
	})
}

// copies is the share of time in which the link to a trainer's GPUs is taken by batches, where its traffic and its speed were read: at
// least the bytes over what the link carries, at most that over copyEfficiency.
func (b *builder) copies(r *rank) step.Range {
	received := b.gpuMeans(metric.GPUPcieRx, r.gpus)
	rate := stat.Ratio(each(len(received), func(i int) float64 { return received[i] * b.length[i] }), b.length)
	link := b.linkBytes(r.gpus)
	if !(link > 0) || !(rate.Hi > 0) {
		return step.Range{}
	}
	return step.Share(rate.Lo/link, rate.Center/link/usualEfficiency, rate.Hi/link/leastEfficiency)
}

// The parts of a link's bandwidth that copies of pinned memory reach: 12 of 15.75 GB/s on PCIe 3.0 x16 and 25 of 31.5 GB/s on PCIe 4.0 x16, as
// NVIDIA's bandwidthTest is commonly reported for such machines.
const (
	usualEfficiency = 0.8
	leastEfficiency = 0.75
)

// linkBytes is what the slowest of these GPUs' links carries, bytes per second each way, at the best generation and width seen; 0
// where neither was read.
func (b *builder) linkBytes(gpus []string) float64 {
	least := math.Inf(1)
	for _, e := range gpus {
		if now := b.linkSpeed(e, metric.GPUPcieGen, metric.GPUPcieWidth); now > 0 {
			least = min(least, now*1e9)
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// linkSpeed is what a link of the best generation and width that was read carries, GB/s each way; 0 where they were not read.
func (b *builder) linkSpeed(gpu string, generation, lanes metric.Desc) float64 {
	gen, width := b.h.of(generation, gpu).within(b.steady), b.h.of(lanes, gpu).within(b.steady)
	if len(gen) == 0 || len(width) == 0 {
		return 0
	}
	g, w := slices.Max(gen), slices.Max(width)
	if g < 1 || g >= float64(len(lane)) || w < 1 {
		return 0
	}
	return lane[int(g)] * w
}

// ofJobGPUs are the signals that are of the GPUs the job uses, not of all that are visible.
var ofJobGPUs = []metric.Desc{metric.GPUBusy, metric.GPUSMActive, metric.GPUDRAMActive, metric.PcieRxRate, metric.GPUMemUsedRatio, metric.GPUPowerRatio,
	metric.GPUThrottled, metric.PcieGenRatio}

// visibleGPUs returns all GPUs that anything was read of, in order.
func (b *builder) visibleGPUs() (all []string) {
	for _, d := range metric.GPU {
		for _, t := range b.h.all(d) {
			if strings.HasPrefix(t.entity, "gpu/") && !slices.Contains(all, t.entity) {
				all = append(all, t.entity)
			}
		}
	}
	slices.Sort(all)
	return all
}

// unlisted tells whether a GPU's list of processes could not be had, or not be believed, at some time of the watch.
func (b *builder) unlisted(gpu string) bool {
	return slices.ContainsFunc(b.rec.Unseen, func(u recording.Unseen) bool { return u.Signal == metric.GPUJobMemory.Name && u.Entity == gpu })
}

// jobGPUs returns the GPUs of the job, none where each GPU's list of processes was read and never held one of the job; matched is false where
// neither is known, and those that somebody used are returned, or all where nobody did. A GPU that the job was on at any time of the watch is its own.
func (b *builder) jobGPUs(all []string) (entities []string, matched bool) {
	listed := 0
	for _, e := range all {
		held := b.h.of(metric.GPUJobMemory, e)
		mine := held != nil && slices.Max(held.v) > 0
		for _, g := range b.rec.Header.Host.GPUs {
			mine = mine || g.OfJob && "gpu/"+g.UUID == e
		}
		if mine {
			entities = append(entities, e)
		}
		if held != nil && !b.unlisted(e) {
			listed++
		}
	}
	if len(entities) > 0 || listed == len(all) {
		return entities, true
	}
	if used := slices.DeleteFunc(slices.Clone(all), b.unused); len(used) > 0 {
		return used, false
	}
	return all, false
}

// unused tells whether nobody was on a GPU in the window: never busy, its memory as good as empty.
func (b *builder) unused(gpu string) bool {
	busy := b.h.of(metric.GPUUtil, gpu).within(b.steady)
	held := b.h.of(metric.GPUMemUsed, gpu).within(b.steady)
	return len(busy) > 0 && len(held) > 0 && slices.Max(busy) == 0 && slices.Max(held) < idleMemory*b.gpuMemoryOf(gpu)
}

// gpuMeans returns the mean over GPUs of a gauge, per window.
func (b *builder) gpuMeans(d metric.Desc, entities []string) []float64 {
	total, n := make([]float64, len(b.spans)), make([]float64, len(b.spans))
	for _, e := range entities {
		for i, x := range b.h.of(d, e).means(b.spans) {
			if finite(x) {
				total[i], n[i] = total[i]+x, n[i]+1
			}
		}
	}
	return each(len(total), func(i int) float64 { return divide(total[i], n[i]) })
}

// gpuMemory takes the fullest GPU's memory.
func (b *builder) gpuMemory(job []string, basis metric.Basis) {
	fullest := make([]float64, len(b.spans))
	for i := range fullest {
		fullest[i] = math.NaN()
	}
	for _, e := range job {
		used, all := b.h.of(metric.GPUMemUsed, e).means(b.spans), b.gpuMemoryOf(e)
		for i := range fullest {
			if x := divide(used[i], all); finite(x) && !(fullest[i] > x) {
				fullest[i] = x
			}
		}
	}
	b.set(metric.GPUMemUsedRatio, stat.Median(fullest), basis)
}

// gpuMemoryOf returns a GPU's memory as it was read, or as the header has it; 0 where neither does.
func (b *builder) gpuMemoryOf(entity string) float64 {
	if x, ok := stat.Quantile(b.h.of(metric.GPUMemTotal, entity).within(b.steady), 0.5); ok {
		return x
	}
	for _, g := range b.rec.Header.Host.GPUs {
		if "gpu/"+g.UUID == entity {
			return float64(g.MemoryBytes)
		}
	}
	return 0
}

// gpuPower takes the draw over the limit, mean over the job's GPUs.
func (b *builder) gpuPower(job []string, basis metric.Basis) {
	total, n := make([]float64, len(b.spans)), make([]float64, len(b.spans))
	for _, e := range job {
		limit, ok := stat.Quantile(b.h.of(metric.GPUPowerLimit, e).within(b.steady), 0.5)
		if !ok {
			continue
		}
		for i, x := range b.h.of(metric.GPUPower, e).means(b.spans) {
			if x = divide(x, limit); finite(x) {
				total[i], n[i] = total[i]+x*b.length[i], n[i]+b.length[i]
			}
		}
	}
	b.share(metric.GPUPowerRatio, total, n, basis)
}

// gpuThrottle takes the share of readings with a reason that costs speed, of the GPU that has most of them.
func (b *builder) gpuThrottle(job []string, basis metric.Basis) {
	worst := stat.Summary{}
	for _, e := range job {
		t := b.h.of(metric.GPUThrottle, e)
		slowed, read := make([]float64, len(b.spans)), make([]float64, len(b.spans))
		reasons := uint64(0)
		for i, s := range b.spans {
			if t == nil {
				break
			}
			from, _ := slices.BinarySearch(t.at, s.from)
			for j := from; j < len(t.at) && t.at[j] < s.to; j++ {
				if t.v[j] < 0 || t.v[j] > 1<<52 {
					continue
				}
				read[i]++
				if hit := uint64(t.v[j]) & costlyMask(); hit != 0 {
					slowed[i]++
					reasons |= hit
				}
			}
		}
		for _, c := range costly {
			if reasons&c.bit != 0 && !slices.Contains(b.ev.Facts.Throttle, c.name) {
				b.ev.Facts.Throttle = append(b.ev.Facts.Throttle, c.name)
			}
		}
		if s := stat.Ratio(slowed, read); s.N > 0 && (worst.N == 0 || s.Center > worst.Center) {
			worst = s
		}
	}
	b.set(metric.GPUThrottled, worst, basis)
}

func costlyMask() (mask uint64) {
	for _, c := range costly {
		mask |= c.bit
	}
	return mask
}

// lane is the bandwidth of one PCIe lane by generation, GB/s each way (PCI-SIG; what is lost to encoding taken off).
var lane = []float64{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563}

// gpuLink takes the link's bandwidth over what device and slot allow: of each GPU the best that was seen, since links train down when
// idle, and of these the worst.
func (b *builder) gpuLink(job []string, basis metric.Basis) {
	worst := math.Inf(1)
	for _, e := range job {
		now := b.linkSpeed(e, metric.GPUPcieGen, metric.GPUPcieWidth)
		can := b.linkSpeed(e, metric.GPUPcieGenMax, metric.GPUPcieWidthMx)
		if now > 0 && can > 0 {
			worst = min(worst, now/can)
		}
	}
	if finite(worst) {
		b.exact(metric.PcieGenRatio, worst, basis)
	}
}

// gpuIdle counts the visible GPUs that nobody uses and that are not taken for the job's.
func (b *builder) gpuIdle(job []string) {
	idle := 0
	for _, t := range b.h.all(metric.GPUUtil) {
		if b.unused(t.entity) && !slices.Contains(job, t.entity) {
			idle++
		}
	}
	if len(b.h.all(metric.GPUUtil)) > 0 {
		b.exact(metric.GPUIdleJob, float64(idle), metric.Inferred)
	}
}
