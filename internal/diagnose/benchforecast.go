package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// TrainingAhead is what a benchmark cannot measure of the training that will read its dataset.
type TrainingAhead struct {
	BatchSize int           // 0: the default
	Step      time.Duration // of the trainer with its data at hand; 0: not known
	Transform time.Duration // CPU per item on top of reading and decoding
}

// usualBatch stands in where no batch size is given.
const usualBatch = 32

// Forecast adds to a benchmark's report what a DataLoader over the dataset would give. Nothing is added where no
// item was timed.
func Forecast(r *report.Report, e *evidence.Evidence, t TrainingAhead) {
	if r.Benchmark == nil || t.Step < 0 || t.Transform < 0 {
		return
	}
	p, out, ok := aheadOf(e, t)
	if !ok {
		return
	}
	f := predict.NewForecaster(p, predict.Options{Calibration: ModelError})
	best, rates := 0.0, make([]float64, mostAhead(p.UsableCPUs)+1) // by num_workers
	limit := predict.Term("")                                      // of the most workers
	for w := range rates {
		one, ok := f.Point(predict.Setting{Workers: w}, predict.Remedy{})
		if !ok {
			return
		}
		rates[w], limit = one.Rate, one.Limit
		best = max(best, one.Rate)
	}
	needed := slices.IndexFunc(rates, func(x float64) bool { return x*report.WorthChange >= best })
	out.Needed = &needed
	for w := range rates {
		if w&(w-1) != 0 && w != needed && w != int(p.UsableCPUs) {
			continue // powers of two, and those that matter
		}
		one, _ := f.Forecast(predict.Setting{Workers: w}, predict.Remedy{})
		out.Rows = append(out.Rows, aheadRow(p, one, t))
		if w == needed {
			out.Statement = aheadStatement(r, out.Rows[len(out.Rows)-1], ModelError.Of(one.Exposure),
				beyond(len(rates)-1, limit)) + withoutSaid(e)
		}
	}
	r.Forecast = &out
}

// aheadStatement says what the number of workers that is enough gives, by a model that is off by own, and what more of
// them bring.
func aheadStatement(r *report.Report, x report.ForecastRow, own float64, more string) string {
	rate := "samples/s"
	if noun := r.Benchmark.Noun(); noun != "item" {
		rate = noun + "s/s"
	}
	text := fmt.Sprintf("num_workers=%d gives %s %s", x.NumWorkers, unit.Number(x.SamplesPerS), rate)
	if report.Vague(x.Lo, x.Hi) {
		text = fmt.Sprintf("what num_workers=%d gives is unknown on this budget (between %s and %s %s)",
			x.NumWorkers, unit.Number(x.Lo), unit.Number(x.Hi), rate)
	}
	if x.Limit != "" {
		text += ", limited by " + x.Limit
	}
	return text + "; " + more + ". The intervals hold the model's own error, " + unit.Percent(own) +
		" as measured of other DataLoaders, not on this machine."
}

// withoutSaid says what of an item's way to the training is not in the table.
func withoutSaid(e *evidence.Evidence) string {
	text := " What else the training's own code does to an item is in it only as far as --transform-time says."
	if e.Bench.Handover.N == 0 {
		return " What collating and handing over a large batch takes was not timed: with num_workers 1 and more, " +
			"quick items may come at half of these rates." + text
	}
	return " Collating and handing over are in it as torch's DataLoader did them in one worker." + text
}

// beyond says what more workers than are needed bring: next to nothing, unless those that were tried are still what
// limits at the most of them.
func beyond(most int, limit predict.Term) string {
	if limit == predict.Workers {
		return fmt.Sprintf("more than %d, which may bring more, were not tried", most)
	}
	return "more bring less than 3 %"
}

// mostAhead is up to how many workers are looked at: twice the usable CPUs, beyond which PyTorch has long warned.
func mostAhead(cpus float64) int { return int(min(max(2*math.Ceil(cpus), 2), 64)) }

// aheadOf is the pipeline that a benchmark and what is said of the training make.
func aheadOf(e *evidence.Evidence, t TrainingAhead) (predict.Pipeline, report.Forecast, bool) {
	item, isCold, ok := Settled(e)
	if !ok || item.Center <= 0 {
		return predict.Pipeline{}, report.Forecast{}, false
	}
	out := report.Forecast{BatchSize: cmp.Or(t.BatchSize, usualBatch), BatchSizeGiven: t.BatchSize > 0, Item: "warm",
		TransformTimeS: t.Transform.Seconds(), PrefetchFactor: predict.DefaultPrefetch, Confidence: predict.Confidence}
	cpu, wait := item.Summary, stat.Summary{}
	if isCold {
		out.Item = "cold"
		cpu, wait = stat.Summary{}, item.Summary
		if warm, ok := e.Get(metric.BenchItem); ok { // what a cold item takes beyond a warm one is waiting for storage
			cpu, wait = warm.Summary, stat.Summary{Center: max(item.Center-warm.Center, 0), N: item.N}
			wait.Lo, wait.Hi = max(item.Lo-warm.Center, 0), max(item.Hi-warm.Center, 0)
		}
	}
	if own, ok := e.Bench.Usual(); ok && own.Item.Center > 0 && cpu.N > 0 {
		cpu = own.Item.Summary
		out.Item += ", in Python (" + own.Name + ")"
	}
	batch := float64(out.BatchSize)
	cpu = inWorker(e, cpu, batch)
	out.ItemTimeS = cpu.Center + wait.Center
	if t.Step > 0 {
		out.StepTimeS = stat.Known(t.Step.Seconds())
	}
	usable, _ := e.Get(metric.UsableCPUs)
	p := predict.Pipeline{Slices: out.BatchSize, StorageShare: 1,
		// Items vary by about as much as their mean; a batch of many varies less.
		Fetch:    predict.Lognormal(1 / math.Sqrt(batch)),
		Handover: handoverCPU, Dispatch: dispatchPart * takingCPU, Receive: (1 - dispatchPart) * takingCPU}
	// Large batches take longer: their shared memory is new to both processes.
	p.Handover = max(p.Handover, batch*e.Bench.Handover.Center)
	p.FreeStep, p.CPU, p.Wait = stat.Exact(t.Step.Seconds()), cpu.Scaled(batch), wait.Scaled(batch)
	p.CPUs, p.UsableCPUs, p.BatchBytes = usable.Summary, usable.Center, batch*orZero(e, metric.BenchItemBytes)
	p.CPU.N = max(p.CPU.N, 1)
	if own := e.Bench.InProcess; own.N > 0 { // all that a batch takes is in it, and no other process has the caches
		p.Sending = p.CPU.Center + p.Dispatch - batch*own.Center
	}
	extra := batch * t.Transform.Seconds()
	p.CPU.Center, p.CPU.Lo, p.CPU.Hi = p.CPU.Center+extra, p.CPU.Lo+extra, p.CPU.Hi+extra
	if most, ok := ceilingAhead(e, isCold); ok {
		p.Storage, p.FromStore = stat.Exact(most), stat.Exact(batch)
		// The part of an item that is read one after another, whoever reads.
		if least := batch / most; p.Wait.N == 0 && least < p.CPU.Center {
			p.CPU, p.Wait = p.CPU.Scaled(1-least/p.CPU.Center), stat.Exact(least)
		}
	}
	return p, out, true
}

// leastInWorker bounds what an item takes in a worker of what it takes alone: decoded into memory that is new to the
// process, JPEG of 500 x 375 pixels takes 2.4 ms, 1.3 into memory that is there (probe/python/timing/rounds.py).
const leastInWorker = 0.5

// inWorker is what an item takes in a worker of a DataLoader, beside collating and handing over, as one that read the
// sample showed it: of quick items, whose arrays leave the CPU's caches before they are collated, it is more than one
// alone takes, and of pictures, for whose arrays a worker has memory ready, it may be less.
func inWorker(e *evidence.Evidence, alone stat.Summary, batch float64) stat.Summary {
	all := e.Bench.Loading.Center - max(e.Bench.Handover.Center, handoverCPU/batch)
	if alone.Center <= 0 || e.Bench.Loading.N == 0 {
		return alone
	}
	return alone.Scaled(max(all/alone.Center, leastInWorker))
}

// ceilingAhead is the most items per second that storage, or a lock, lets through: as worker processes reading at
// once showed it, or, cold, by what the device gives to direct reads of an item's size.
func ceilingAhead(e *evidence.Evidence, isCold bool) (float64, bool) {
	if isCold {
		v, ok := e.Get(metric.BenchDeviceReads)
		most := v.Center / max(orZero(e, metric.BenchAmplify), 1)
		return most, ok && most > 0
	}
	item := orZero(e, metric.BenchItem)
	efficiency, ok := e.Get(metric.BenchEfficiency)
	shared := e.Bench.Bound == "lock" || e.Bench.Bound == "device"
	if !ok || !shared || item <= 0 {
		return 0, false
	}
	return orZero(e, metric.BenchWorkers) * efficiency.Center / item, true
}

// limitAhead says what bounds a row, in a column's width.
var limitAhead = map[predict.Term]string{
	predict.Step: "the step", predict.Workers: "the workers", predict.CPUs: "the CPUs", predict.Storage: "reading",
	predict.Lock: "a lock", predict.Serial: "one at a time",
}

func aheadRow(p predict.Pipeline, one predict.Forecast, t TrainingAhead) report.ForecastRow {
	rate := one.StepsPerS.Scaled(float64(p.Slices))
	row := report.ForecastRow{NumWorkers: one.Setting.Workers, SamplesPerS: rate.Center, Lo: rate.Lo, Hi: rate.Hi,
		Limit: limitAhead[one.Limit]}
	if t.Step > 0 {
		row.WaitS, row.InputWaitRatio = stat.Known(one.Wait), stat.Known(stat.Share(one.WaitRatio))
	}
	if p.BatchBytes > 0 {
		n := int64(p.QueueBytes(one.Setting.Workers, cmp.Or(one.Setting.Prefetch, predict.DefaultPrefetch)))
		row.QueueBytes = &n
	}
	return row
}
