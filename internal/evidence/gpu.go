package evidence

import (
	"math"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/step"
)

// gpu takes the figures of the GPUs the job uses, of the trainer r's own those of how busy they are, and how many
// nobody uses.
func (b *builder) gpu(r *rank) {
	g, idle, count := b.gpus, figure{}, figure{}
	if all := b.Tracks(metric.GPUUtil); len(all) > 0 {
		all = slices.DeleteFunc(slices.Clone(all), func(t *watched.Track) bool {
			return !b.unused(t.Entity) || slices.Contains(g.job, t.Entity)
		})
		idle = exact(float64(len(all))).by(metric.Inferred)
	}
	switch {
	case g.none:
		count = exact(0)
	case g.unknown:
		count.why = g.why
	case len(g.job) > 0:
		count = exact(float64(len(g.job))).by(g.basis)
	}
	b.take(metric.GPUIdleJob, idle, metric.GPUUtil, metric.GPUMemUsed)
	b.take(metric.GPUCount, count, metric.GPUUtil)
	of := func(derive func(job []string) figure) figure {
		if len(g.job) == 0 || g.why.Text != "" {
			return figure{why: g.why}
		}
		return derive(g.job).by(g.basis)
	}
	mean := func(raw metric.Desc) figure {
		return of(func(job []string) figure { return b.mean(b.gpuMeans(raw, job)) })
	}
	others := mean(metric.GPUOthersUtil)
	others.why = Reason{} // a reason that is of the job's GPUs
	b.take(metric.GPUBusy, of(func(job []string) figure {
		if r.step != nil && r.step.Sight == step.Counted {
			return b.modelled(b.range_(r.busy)).over(b.lasting(r.busy), b.Length) // of all time, evaluations too
		}
		return b.mean(b.busyOf(job))
	}), metric.GPUUtil)
	b.take(metric.GPUSMActive, mean(metric.GPUSMActivity), metric.GPUSMActivity)
	b.take(metric.GPUDRAMActive, mean(metric.GPUDRAM), metric.GPUDRAM)
	b.take(metric.PcieRxRate, mean(metric.GPUPcieRx), metric.GPUPcieRx)
	b.take(metric.GPUOthersBusy, others, metric.GPUOthersUtil)
	b.take(metric.GPUMemUsedRatio, of(b.gpuMemory), metric.GPUMemUsed, metric.GPUMemTotal)
	b.take(metric.GPUPowerRatio, of(b.gpuPower), metric.GPUPower, metric.GPUPowerLimit)
	b.take(metric.GPUThrottled, of(b.gpuThrottled), metric.GPUThrottle)
	b.take(metric.GPUClockLost, of(b.gpuClockLost), metric.GPUThrottle, metric.GPUSMClock, metric.GPUSMClockMax)
	b.take(metric.PcieGenRatio, of(b.gpuLink), metric.GPUPcieGen, metric.GPUPcieWidth,
		metric.GPUPcieGenMax, metric.GPUPcieWidthMx)
}

// lasting gives each window's mean the weight of the window.
func (b *builder) lasting(means []float64) []float64 { return stat.Products(means, b.Length) }

// mean is the mean over the windows of what they have each.
func (b *builder) mean(means []float64) figure { return b.ratio(b.lasting(means), b.Length) }

// busyOf is the share of each window in which GPUs ran kernels, mean over them: by what their engines report, or, where
// they report nothing, by the driver's samples, in which copies from pageable memory count in part (on an H200 0.32
// where kernels ran for 0.17 of the time, and the engines told 0.17: docs/gpu.md); NaN where neither was read.
func (b *builder) busyOf(gpus []string) []float64 {
	engines, samples := b.gpuMeans(metric.GPUGraphics, gpus), b.gpuMeans(metric.GPUUtil, gpus)
	if e := b.mean(engines); e.N > 0 && 2*e.N >= b.mean(samples).N { // unless they failed on the way
		return engines
	}
	return samples
}

// copies is the share of time in which the link to a trainer's GPUs is taken by batches, where its traffic and its
// speed were read: at least the bytes over what the link carries, at most that over copyEfficiency.
func (b *builder) copies(r *rank) step.Range {
	rate := b.mean(b.gpuMeans(metric.GPUPcieRx, r.gpus))
	link := 1e9 * least(r.gpus, func(e string) float64 {
		return b.linkSpeed(e, metric.GPUPcieGen, metric.GPUPcieWidth)
	})
	return step.Share(rate.Lo/link, rate.Center/link/usualEfficiency, rate.Hi/link/leastEfficiency)
}

// The parts of a link's bandwidth that its traffic reaches beside copies of pinned memory: 59.8 of 63 GB/s on the PCIe
// 5.0 x16 of an H200, for 55.5 GB/s of copies (docs/gpu.md). NVIDIA's bandwidthTest is commonly reported to copy 12 of
// 15.75 GB/s on PCIe 3.0 x16 and 25 of 31.5 GB/s on PCIe 4.0 x16; with the 8 % that the protocol adds there, that is
// 0.82 and 0.86.
const (
	usualEfficiency = 0.88
	leastEfficiency = 0.8
)

// least is the least figure of GPUs; +Inf where none has one above 0.
func least(gpus []string, of func(gpu string) float64) float64 {
	found := math.Inf(1)
	for _, e := range gpus {
		if x := of(e); x > 0 {
			found = min(found, x)
		}
	}
	return found
}

// linkSpeed is what a link of the best generation and width that was read carries, GB/s each way; 0 where they were not
// read.
func (b *builder) linkSpeed(gpu string, generation, lanes metric.Desc) float64 {
	gen, width := b.Track(generation, gpu).Within(b.Steady), b.Track(lanes, gpu).Within(b.Steady)
	if len(gen) == 0 || len(width) == 0 {
		return 0
	}
	g, w := slices.Max(gen), slices.Max(width)
	if g < 1 || g >= float64(len(lane)) || w < 1 {
		return 0
	}
	return lane[int(g)] * w
}

// gpuMeans returns the mean over GPUs of a gauge, per window.
func (b *builder) gpuMeans(d metric.Desc, entities []string) []float64 {
	total, n := make([]float64, len(b.Spans)), make([]float64, len(b.Spans))
	for _, e := range entities {
		for i, x := range b.Track(d, e).Levels(b.Spans) {
			if stat.Finite(x) {
				total[i], n[i] = total[i]+x, n[i]+1
			}
		}
	}
	return stat.Quotients(total, n)
}

// gpuMemory is the fullest GPU's.
func (b *builder) gpuMemory(job []string) figure {
	fullest := make([]float64, len(b.Spans))
	for i := range fullest {
		fullest[i] = math.NaN()
	}
	for _, e := range job {
		used, all := b.Track(metric.GPUMemUsed, e).Means(b.Spans), b.gpuMemoryOf(e)
		for i := range fullest {
			if x := stat.Divide(used[i], all); stat.Finite(x) && !(fullest[i] > x) {
				fullest[i] = x
			}
		}
	}
	return median(fullest)
}

// gpuMemoryOf returns a GPU's memory as it was read, or as the header has it; 0 where neither does.
func (b *builder) gpuMemoryOf(entity string) float64 {
	if x, ok := b.Usual(metric.GPUMemTotal, entity); ok {
		return x
	}
	return float64(b.described(entity).MemoryBytes)
}

// gpuPower is the draw over the limit, mean over the job's GPUs.
func (b *builder) gpuPower(job []string) figure {
	total, n := make([]float64, len(b.Spans)), make([]float64, len(b.Spans))
	for _, e := range job {
		limit, _ := b.Usual(metric.GPUPowerLimit, e)
		for i, x := range b.Track(metric.GPUPower, e).Means(b.Spans) {
			if x = stat.Divide(x, limit); stat.Finite(x) {
				total[i], n[i] = total[i]+x*b.Length[i], n[i]+b.Length[i]
			}
		}
	}
	return b.ratio(total, n)
}

// costly are the clock event reasons that cost speed, with their names: SW power cap, HW slowdown, SW thermal slowdown,
// HW thermal slowdown, HW power brake (nvmlClocksEventReasons in nvml.h).
var costly = []struct {
	bit  uint64
	name string
}{{0x4, "power cap"}, {0x8, "hardware slowdown"}, {0x20, "thermal (software)"}, {0x40, "thermal (hardware)"},
	{0x80, "power brake"}}

// slowedBy is which reasons that cost speed a reading holds, by their place in costly; false where it is no set of
// reasons.
func slowedBy(reading float64) (reasons []int, ok bool) {
	const noMask = 1 << 52 // above it, no reading holds single bits
	if reading < 0 || reading > noMask {
		return nil, false
	}
	for k, c := range costly {
		if uint64(reading)&c.bit != 0 {
			reasons = append(reasons, k)
		}
	}
	return reasons, true
}

// gpuThrottled is the share of readings with a reason that costs speed, of the GPU that has most of them.
func (b *builder) gpuThrottled(job []string) (worst figure) {
	seen := make([]bool, len(costly))
	for _, e := range job {
		slowed, read := make([]float64, len(b.Spans)), make([]float64, len(b.Spans))
		for i, s := range b.Spans {
			for _, v := range b.Track(metric.GPUThrottle, e).In(s) {
				reasons, ok := slowedBy(v)
				if !ok {
					continue
				}
				read[i]++
				if len(reasons) > 0 {
					slowed[i]++
				}
				for _, k := range reasons {
					seen[k] = true
				}
			}
		}
		worst = worst.orMore(b.Quotient(slowed, read))
	}
	for k, c := range costly {
		if seen[k] {
			b.ev.Facts.Throttle = append(b.ev.Facts.Throttle, c.name)
		}
	}
	return worst
}

// gpuClockLost is what the SM clock lacks of its highest in readings with a reason that costs speed, over all readings,
// of the GPU that lacks most. The highest clock is not reached under every load, so that no more than this is lost for
// such a reason.
func (b *builder) gpuClockLost(job []string) (worst figure) {
	for _, e := range job {
		highest, ok := b.Usual(metric.GPUSMClockMax, e)
		if !ok || highest <= 0 {
			continue
		}
		lacking := b.Track(metric.GPUThrottle, e).With(b.Track(metric.GPUSMClock, e),
			func(reasons, clock float64) float64 {
				if slowed, ok := slowedBy(reasons); !ok || len(slowed) == 0 {
					return 0
				}
				return stat.Share(1 - clock/highest)
			})
		worst = worst.orMore(b.mean(lacking.Means(b.Spans)).Summary)
	}
	return worst
}

// lane is the bandwidth of one PCIe lane by generation, GB/s each way (PCI-SIG; what is lost to encoding taken off).
var lane = []float64{0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563}

// gpuLink is the link's bandwidth over what device and slot allow: of each GPU the best that was seen, since links
// train down when idle, and of these the worst.
func (b *builder) gpuLink(job []string) figure {
	return exact(least(job, func(e string) float64 { // none where it is no number
		return stat.Divide(b.linkSpeed(e, metric.GPUPcieGen, metric.GPUPcieWidth),
			b.linkSpeed(e, metric.GPUPcieGenMax, metric.GPUPcieWidthMx))
	}))
}
