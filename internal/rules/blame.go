package rules

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// loading is where the time goes that loading takes, as shares of that time: of a worker's busy time or, without
// workers, of the time the trainer loads.
type loading struct {
	running, storage, open, fileLock float64
	busy                             float64 // seconds of loading per second, over all workers of one trainer
}

// loadingOf splits the time loading takes; false where no split is known.
func loadingOf(p *diagnose.Pass) (loading, bool) {
	if diagnose.Workerless(p.Evidence) {
		known, ok := diagnose.InputWait(p.Evidence)
		load := known.Center
		if !ok || load <= 0 {
			return loading{}, false
		}
		storage := share(p.OrZero(metric.MainStorage) / load)
		return loading{storage: storage, running: 1 - storage, busy: load}, true
	}
	busy, workers, ok := both(p, metric.WorkerBusy, metric.NumWorkers)
	if !ok || busy <= 0 {
		return loading{}, false
	}
	of := func(d metric.Desc) float64 { return share(p.OrZero(d) / busy) }
	return loading{running: share(diagnose.Computing(p.Evidence) / busy), storage: of(metric.WorkerStorage),
		open: of(metric.WorkerOpenWait), fileLock: of(metric.WorkerFileLock), busy: busy * workers}, true
}

// cpuOf is the CPU time loading takes, in seconds per second over all loading of one trainer. Unlike the time workers
// run or are ready to run, it does not grow when they queue for a CPU. 0 is unknown.
func cpuOf(p *diagnose.Pass) float64 {
	each, ok := p.Maybe(metric.WorkerCPU)
	if workers := p.OrZero(metric.NumWorkers); ok && workers >= 1 {
		return each * workers
	}
	split, _ := loadingOf(p)
	return split.busy * split.running
}

// coresForStep is how many cores the job needs to make a batch per step: the CPU time of loading and training a batch
// over the step without waiting, for all trainers.
func coresForStep(p *diagnose.Pass, l *diagnose.Loader) float64 {
	return (loaders(p)*l.CPU.Center + trainers(p)*l.TrainerCPU.Center) / l.FreeStep.Center
}

// moreNeeded is the model of the loader and the number of workers that it asks for; false where there is none, or it
// asks for no more than there are.
func moreNeeded(p *diagnose.Pass) (*diagnose.Loader, diagnose.Needed, bool) {
	loader, ok := p.Loader()
	if !ok {
		return nil, diagnose.Needed{}, false
	}
	need, ok := loader.WorkersNeeded(false)
	return loader, need, ok && need.Workers > loader.Setting.Workers
}

// both returns two signals that may be absent; false where one of them is.
func both(p *diagnose.Pass, a, b metric.Desc) (x, y float64, ok bool) {
	x, ok = p.Maybe(a)
	y, ok2 := p.Maybe(b)
	return x, y, ok && ok2
}

// share forces a quotient of two noisy figures into 0..1.
func share(x float64) float64 { return stat.Share(x) }

// steadyWait is the input wait less the time between one set of workers and the next and that in which indices are
// drawn, which are the restart's and the sampler's and nobody else's.
func steadyWait(p *diagnose.Pass) float64 {
	drawing := p.OrZero(metric.SamplerTime) + p.OrZero(metric.DrawTime)*p.OrZero(metric.BatchesPerS)
	return max(p.Stall()-share(p.OrZero(metric.EpochGap)+drawing), 0)
}

// starved is the part of the steady wait in which workers were at work on what the trainer waits for: idle workers cost
// it nothing. What a worker's time goes to accounts for this part of the wait only.
func starved(p *diagnose.Pass) float64 {
	if diagnose.Workerless(p.Evidence) {
		return p.Stall()
	}
	return steadyWait(p) * (1 - share(p.OrZero(metric.IdleWhileWaits)))
}

// saturated reports whether the workers have no time to spare: then what they spend their time on holds the trainer
// back.
func saturated(p *diagnose.Pass) bool {
	if diagnose.Workerless(p.Evidence) {
		return true
	}
	idle, ok := p.Maybe(metric.WorkerIdle)
	if ok {
		return idle <= idleLimit.Value
	}
	busy, ok := p.Maybe(metric.WorkerBusy)
	return ok && busy >= 1-idleLimit.Value
}

// idleLimit is shared by the rules that ask whether workers have time to spare.
var idleLimit = threshold("idle worker", 0.20, metric.Ratio,
	"derived: in-order delivery leaves saturated workers up to about 20 % idle with varying service times "+
		"(DataLoader, 4 workers, prefetch_factor 4 to 16, exponential times: 74 to 80 % of the bound, measured on "+
		"Debian)")

// fullLimit is shared by the rules that ask whether all cores are at work.
var fullLimit = threshold("cores full", 0.85, metric.Ratio,
	"loadtune heuristic.py: from 85 % CPU no more workers; TraceML calls 80 % high")

// gainLimit is the smallest improvement worth a change.
var gainLimit = threshold("gain worth a change", 1-1/report.WorthChange, metric.Ratio,
	"TraceML compare policy: a step-time change of 3 % is moderate; loadtune keeps a change from 2 %")

// mayReach reports whether a signal is at least so much, or unknown.
func mayReach(p *diagnose.Pass, d metric.Desc, least float64) bool {
	v, known := p.Maybe(d)
	return !known || v >= least
}

// training and the like are the Applies of rules that concern only some jobs. What is unknown applies, and abstains
// by its needs.
func training(p *diagnose.Pass) bool { return diagnose.Training(p.Evidence) }

func withWorkers(p *diagnose.Pass) bool { return !diagnose.Workerless(p.Evidence) }

// withPinning is of jobs that are known to pin their batches.
func withPinning(p *diagnose.Pass) bool {
	return withWorkers(p) && p.Facts.PinMemory != nil && *p.Facts.PinMemory
}

func onHDF5(p *diagnose.Pass) bool {
	kind := p.Facts.DatasetKind
	return kind == "hdf5" || p.Facts.HDF5 != nil || kind == "" && !withoutH5py(p)
}

// onChunks is onHDF5 for rules about chunks.
func onChunks(p *diagnose.Pass) bool { return onHDF5(p) && mayHaveChunks(p) }

// mayHaveChunks is false for a dataset whose layout was read and that has none: it is stored in one piece.
func mayHaveChunks(p *diagnose.Pass) bool {
	_, chunked := p.Maybe(metric.HDF5Chunk)
	return chunked || p.Facts.HDF5 == nil
}

func onDisk(p *diagnose.Pass) bool { return p.Facts.StorageKind != "tmpfs" }

// seen makes evidence rows of the signals that are there.
func seen(p *diagnose.Pass, signals ...metric.Desc) []report.Evidence {
	var rows []report.Evidence
	for _, d := range signals {
		if v, ok := p.Evidence.Get(d); ok {
			rows = append(rows, report.Evidence{Metric: d.Name, Value: v.Center, Unit: string(d.Unit),
				Basis: report.Basis(cmp.Or(v.Basis, metric.Measured))})
		}
	}
	return rows
}

// gain is the share of the step an effect gives back.
func gain(e *report.Effect) float64 {
	if e == nil || e.After <= 0 || e.After <= e.Before {
		return 0
	}
	return 1 - e.Before/e.After
}

// speedup is the effect of taking a share of wall time away, between lo and hi of it; nil where no rate is known.
func speedup(p *diagnose.Pass, lo, hi float64, limit string) *report.Effect {
	idle := idleDevice(p)
	lo, hi = min(lo, idle), min(hi, idle)
	d := metric.SamplesPerS
	now, ok := p.Maybe(d)
	if !ok {
		d = metric.BatchesPerS
		now, ok = p.Maybe(d)
	}
	if !ok || now <= 0 {
		return relativeSpeedup(lo, hi, limit)
	}
	return spedUp(report.Effect{Metric: d.Name, Unit: string(d.Unit), Before: now, Limit: limit}, lo, hi)
}

// idleDevice is the share of training's time in which the device does not work, all of it where nothing tells: no
// change of what feeds it brings more. A trainer that waits for its device says that it works.
func idleDevice(p *diagnose.Pass) float64 {
	busy, _ := p.Evidence.Get(metric.GPUBusy)
	if v, ok := p.Evidence.Get(metric.DeviceTime); ok && busy.Lo > 0 {
		busy = v
	}
	waits, _ := p.Evidence.Get(metric.DeviceWait)
	return 1 - share(max(busy.Lo, waits.Lo))
}

// relativeSpeedup is speedup as a factor of what the job does now.
func relativeSpeedup(lo, hi float64, limit string) *report.Effect {
	return spedUp(report.Effect{Metric: diagnose.Relative, Unit: string(metric.Count), Before: 1, Limit: limit}, lo, hi)
}

func spedUp(e report.Effect, lo, hi float64) *report.Effect {
	e.Basis = report.Modelled
	const most = 0.9 // tenfold: beyond it a share of time says nothing of what comes next
	lo, hi = min(share(lo), most), min(share(hi), most)
	e.Lo, e.Hi = e.Before/(1-lo), e.Before/(1-hi)
	e.After = e.Before / (1 - (lo+hi)/2)
	return &e
}

// threshold is one that a rule asks.
func threshold(name string, value float64, unit metric.Unit, source string) diagnose.Limit {
	return diagnose.Limit{Name: name, Value: value, Unit: unit, Source: source}
}

// limits puts the grades in front of a rule's own thresholds: of a rule whose severity goes by its score. The page of
// any other rule would list what it never asks.
func limits(own ...diagnose.Limit) []diagnose.Limit {
	return append([]diagnose.Limit{diagnose.Moderate, diagnose.High}, own...)
}

func whole(x float64) string { return strconv.Itoa(int(x + 0.5)) }

// count says "1 worker", "4 workers".
func count(n float64, noun string) string {
	if whole(n) == "1" {
		return "1 " + noun
	}
	return whole(n) + " " + noun + "s"
}

// cpus says how many usable CPUs there are, quotas of part of a core included.
func cpus(n float64) string {
	if n == float64(int(n)) {
		return count(n, "usable CPU")
	}
	return unit.Number(n) + " usable CPUs"
}

// fromFact says what a setting was seen to be, as Python writes it; nil where it was not.
func fromFact[T int | bool](v *T) *string {
	if v == nil {
		return nil
	}
	text := fmt.Sprint(*v)
	return new(strings.ToUpper(text[:1]) + text[1:])
}

// nonEmpty is a text that may be unknown, as reports have it: nil for "".
func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// trainers is how many trainers the job has on this machine, at least one.
func trainers(p *diagnose.Pass) float64 { return max(p.OrZero(metric.Ranks), 1) }

// loaders is how many trainers have a loader of their own: one may feed all. num_workers and the size of a batch are of
// one of them; usable CPUs, memory and /dev/shm are there for all.
func loaders(p *diagnose.Pass) float64 {
	if n, ok := p.Maybe(metric.FeedingRanks); ok && n >= 1 {
		return n
	}
	return trainers(p)
}

// worstRank names the trainer that lacks data most.
func worstRank(p *diagnose.Pass) string {
	if ranks := p.Ranks; len(ranks) > 0 {
		return "rank " + ranks[0].Name
	}
	return "one of them"
}

// inEachTrainer follows a figure that each of several trainers has; "" for a single one.
func inEachTrainer(p *diagnose.Pass) string {
	if n := trainers(p); n > 1 {
		return fmt.Sprintf(" in each of %s trainers", whole(n))
	}
	return ""
}

// forAllTrainers follows a figure that is the sum over several trainers; "" for a single one.
func forAllTrainers(p *diagnose.Pass) string {
	if n := loaders(p); n > 1 {
		return fmt.Sprintf(" for all %s trainers together", whole(n))
	}
	return ""
}
