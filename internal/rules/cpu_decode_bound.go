package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var cpuDecodeBound = diagnose.Rule{
	ID:       "cpu/decode-bound",
	Title:    "Preparing a batch needs more CPU than there is",
	Resource: report.CPU,
	Needs: []metric.Desc{metric.NumWorkers, metric.InputWait, metric.WorkerRunning, metric.WorkerBusy,
		metric.UsableBusy, metric.UsableCPUs},
	Limits:   limits(fullLimit, diagnose.Most, sampled, idleLimit, fixedPart, deviceTime),
	Applies:  withWorkers,
	Explains: []string{"cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		split, ok := loadingOf(p)
		usable, busy := p.Get(metric.UsableCPUs), p.Get(metric.UsableBusy)
		if !ok || p.Stall() < diagnose.Moderate.Value || !saturated(p) || split.running < p.Limit(diagnose.Most) ||
			busy < p.Limit(fullLimit) || demand(p) < p.Limit(fullLimit)*usable {
			return
		}
		summary := fmt.Sprintf("Workers compute %s of their busy time%s and %s are %s full: preparing a batch takes "+
			"more CPU than there is", unit.Percent(split.running), inLibraries(p), cpus(usable),
			unit.Percent(share(busy)))
		if m := madeOf(p); m.item > 0 {
			what, part := m.most()
			summary += fmt.Sprintf("; of the %s for an item, %s goes to %s", unit.Seconds(m.item), unit.Percent(part),
				what)
		}
		p.Report(report.Finding{
			Score: starved(p) * split.running * ownPart(p), Summary: summary,
			Location: diagnose.At(callOf(p).ItemFile, callOf(p).ItemLine),
			Evidence: seen(p, metric.MadeItem, metric.MadeDecode, metric.MadeResize, metric.MadeRead,
				metric.MadeArchive, metric.MadeOther, metric.MadeCollate, metric.WorkerRunning, metric.WorkerBusy,
				metric.UsableBusy, metric.UsableCPUs, metric.JobCPU, metric.WorkerCPUBatch, metric.FreeStepTime),
			Recommendations: append(cheaper(p), onTheGPU(p)...),
			Unhelpful:       slices.Concat(against(wontHelpWorkers(usable), moreWorkers), tooSlowly(p), notStorage(p)),
		})
	},
	Measured: &diagnose.Measured{
		Needs:   []metric.Desc{metric.BenchItem, metric.BenchDecode, metric.BenchDecodeRatio, metric.UsableCPUs},
		Limits:  limits(diagnose.Most, gainLimit),
		Applies: ofPictures,
		Eval:    decodeMeasured,
	},
}

func decodeMeasured(p *diagnose.Pass) {
	ratio, item, usable := p.Get(metric.BenchDecodeRatio), p.Get(metric.BenchItem), p.Get(metric.UsableCPUs)
	if ratio < p.Limit(diagnose.Most) || item <= 0 {
		return
	}
	p.Report(report.Finding{
		Summary: fmt.Sprintf("Decoding takes %s of an item's %s: %s give at most %s items/s", unit.Percent(ratio),
			unit.Seconds(item), cpus(usable), unit.Number(usable/item)),
		Evidence: seen(p, metric.BenchItem, metric.BenchDecode, metric.BenchDecodeRatio, metric.BenchRead,
			metric.BenchPython, metric.UsableCPUs),
		Recommendations: quickerLibrary(p),
		Unhelpful:       fasterStorage(p),
	})
}

// quickerLibrary recommends the fastest of the user's own libraries over the slowest, where that is worth a change.
func quickerLibrary(p *diagnose.Pass) []report.Recommendation {
	b := p.Bench
	if len(b.Decoders) < 2 {
		return nil
	}
	fast, slow := b.Decoders[0], b.Decoders[len(b.Decoders)-1]
	effect := quicker(slow.Item.Summary, fast.Item.Summary, report.Measured, "decoding with "+fast.Name)
	if gain(effect) < gainLimit.Value {
		return nil
	}
	return []report.Recommendation{{Setting: "decoder", From: new(slow.Name), To: fast.Name,
		Why:    "measured on these files in this Python",
		Caveat: "decoders differ in the last bits of a pixel; which one the job uses was not seen", Effect: effect}}
}

// demand is how many cores the job would use if it had them: its threads that run or are ready to. Fewer than there are
// cores means that others fill the rest, or that more workers could.
func demand(p *diagnose.Pass) float64 {
	workers := p.Get(metric.NumWorkers) * diagnose.Computing(p.Evidence)
	cores := loaders(p)*workers + trainers(p)*share(p.OrZero(metric.HostTime))
	return max(cores, p.OrZero(metric.JobCPU)) // threads within a worker are not sampled one by one
}

// others is how many of the usable CPUs other programs use, 0 where it is unknown. Where the job may use a part of the
// machine it is what the usable CPUs are busy with beside the job: the rest compute elsewhere.
func others(p *diagnose.Pass) float64 {
	all, usable := p.OrZero(metric.OtherCPU), p.OrZero(metric.UsableCPUs)
	busy, job, ok := both(p, metric.UsableBusy, metric.JobCPU)
	if ok && usable < p.OrZero(metric.PresentCPUs)-0.01 {
		return min(all, max(busy*usable-job, 0))
	}
	return all
}

// ownPart is the part of the used CPU time that is the job's own, 1 where others' is unknown.
func ownPart(p *diagnose.Pass) float64 {
	job, ok := p.Maybe(metric.JobCPU)
	all := job + others(p)
	if !ok || all <= 0 {
		return 1
	}
	return share(job / all)
}

func wontHelpWorkers(usable float64) string {
	if usable <= 1 {
		return "more workers: the usable CPU is busy already"
	}
	return fmt.Sprintf("more workers: all %s are busy already", cpus(usable))
}

// cheaper says how far the CPU time per batch must fall, and what cheaper means for this kind of data.
func cheaper(p *diagnose.Pass) []report.Recommendation {
	rec := report.Recommendation{Setting: "CPU time per batch in the workers", To: "as little as the model needs",
		Falls: metric.WorkerCPUBatch.Name}
	if rec.Why, rec.Command = cheaperHow(p); rec.Command == "" {
		rec.Command = profile(p, "--subprocesses")
	}
	loader, ok := p.Loader()
	if !ok || loader.CPU.Center <= 0 || loader.FreeStep.Center <= 0 {
		return []report.Recommendation{rec}
	}
	target := loader.Target()
	rec.From = new(unit.Seconds(loader.CPU.Center))
	if target <= 0 || target >= loader.CPU.Center {
		target = loader.CPU.Center / 2
		rec.Why += "; each halving nearly doubles the rate until the step is the limit"
	} else {
		rec.Why += "; at that cost the cores keep up with the step"
	}
	rec.To = "at most " + unit.Seconds(target)
	if loader.Metric == diagnose.Relative {
		rec.From, rec.To = nil, "at most "+unit.Percent(target/loader.CPU.Center)+" of what it is"
	}
	cut := 1 - target/loader.CPU.Center
	rec.Effect = loader.Saving(cut, cut, false)
	return []report.Recommendation{rec}
}

// deviceTime is what transforms take a GPU, where a whole batch is transformed at once.
var deviceTime = threshold("device time for a second of transforms on a CPU", 0.01, metric.Ratio,
	"huggingface/lerobot, pull request 4627: 35 ms a step of an L4 for what took 3.5 to 5.3 s of its CPUs (160 "+
		"samples, seven transforms); larger GPUs take less")

// onTheGPU says what moving transforms there would bring, where they may be most of an item's time.
func onTheGPU(p *diagnose.Pass) []report.Recommendation {
	m := madeOf(p)
	loader, ok := p.Loader()
	if !ok || m.other < diagnose.Most.Value || p.OrZero(metric.GPUCount) < 1 {
		return nil
	}
	effect := loader.OntoDevice(m.other, p.Limit(deviceTime))
	if effect == nil {
		return nil
	}
	caveat := "reading by other libraries counts as the dataset's own code and stays"
	if effect.Lo < effect.Before {
		caveat = "may lose: the GPU has little time to spare for them; " + caveat
	}
	return []report.Recommendation{{Setting: "transforms of an item", From: new("in the workers"),
		To: "on the GPU, a batch at a time", Caveat: caveat, Effect: effect,
		Why: fmt.Sprintf("up to %s of an item's time are transforms: torchvision.transforms.v2 and kornia take "+
			"whole batches on the GPU", unit.Percent(m.other))}}
}

// cheaperHow says what makes an item cheaper, and the command that measures it; "" where none does.
func cheaperHow(p *diagnose.Pass) (how, command string) {
	inflating, _ := decompresses(p)
	m, kind := madeOf(p), p.Facts.DatasetKind
	switch most := diagnose.Most.Value; {
	case m.other >= most: // whatever the data is kept in, its reading and decoding are the smaller part
		return "most of an item's time is the dataset's own code: do once, ahead of training, what __getitem__ " +
			"computes each time; move augmentation to the GPU", ""
	case m.archive >= most && inflating < most:
		return "most of an item's time is opening and reading archives and other files: keep open what holds many " +
			"items, read several items at once, or store the data so that an item is read by itself", ""
	case m.collate >= most:
		return "most of an item's time is collate_fn: see loader/collate-cost", ""
	case kind == "image" || decodesMostly(p):
		return "store pictures at the size training needs, decode with a faster library (torchvision.io, " +
			"libjpeg-turbo), or decode once and store arrays; bench-io --try measures what each brings", tryCommand(p)
	case inflating >= most:
		return "most of it is decompression: store the data as it is, or packed by a faster method (LZ4, Zstandard)", ""
	case executed(p, metric.CodePython) >= most:
		return "most of it is Python's interpreter, or what is built into it (pickle, json): have NumPy or PyTorch " +
			"do at once what is done value by value, or do it once, ahead of training", ""
	case executed(p, metric.CodeKernel) >= most:
		return "most of it is the kernel: opening files, copying what is read, giving memory; keep files open, read " +
			"no more than the item, and into memory that is there already", ""
	case kind == "hdf5":
		return "store what __getitem__ computes each time, or store it without a filter", ""
	}
	return "do once, ahead of training, what __getitem__ computes each time; move augmentation to the GPU", ""
}
