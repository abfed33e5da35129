package live

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
)

// States are what a worker may be doing, each with the samples that found it so. They are those that package evidence
// distinguishes, but for a worker's waits outside of the job, and those for its own threads, which are for a lock here.
var States = []struct {
	Name    string
	samples []metric.Desc
}{
	{"running", []metric.Desc{metric.ThreadRunning}},
	{"storage", []metric.Desc{metric.ThreadDisk, metric.ThreadFileRead, metric.ThreadFileOpen}},
	{"lock", []metric.Desc{metric.ThreadFutex, metric.ThreadFutexTimed, metric.ThreadGIL,
		metric.ThreadFileLock}},
	{"hand-over", []metric.Desc{metric.ThreadPipeWrite}},
	{"other", []metric.Desc{metric.ThreadPipeRead, metric.ThreadSleep, metric.ThreadDevice, metric.ThreadWaitChild,
		metric.ThreadOther, metric.ThreadStopped}},
	{"idle", []metric.Desc{metric.ThreadQueuePoll}},
}

// value is a figure in one frame.
type value struct {
	signal metric.Desc
	of     Owner
	now    float64
	amount float64 // what it adds to the total
	flow   bool
}

// values gathers those of one frame.
type values []value

// level adds what stands at a moment.
func (vs *values) level(d metric.Desc, of Owner, v float64) {
	if !math.IsNaN(v) {
		*vs = append(*vs, value{signal: d, of: of, now: v})
	}
}

// flow adds an amount that came about in some seconds.
func (vs *values) flow(d metric.Desc, of Owner, amount, seconds float64) {
	if seconds > 0 {
		*vs = append(*vs, value{d, of, amount / seconds, amount, true})
	}
}

// share adds the part of some seconds that a ratio of counts stands for.
func (vs *values) share(d metric.Desc, of Owner, part, whole reading) {
	if whole.grown > 0 {
		vs.flow(d, of, part.grown/whole.grown*whole.over, whole.over)
	}
}

// of returns what became of a series; false where it was not read.
func (t *Tracker) of(d metric.Desc, entity string) (reading, bool) {
	r, ok := t.now[key{d.Name, entity}]
	return r, ok
}

// level is the last reading; NaN where there is none.
func (t *Tracker) level(d metric.Desc, entity string) float64 {
	if r, ok := t.of(d, entity); ok {
		return r.last
	}
	return math.NaN()
}

// derive makes the values of a frame, and adds the workers to it.
func (t *Tracker) derive(members []Member, f *Frame) values {
	var vs values
	t.devices(&vs)
	for _, m := range members {
		if m.Trains {
			f.Ranks = append(f.Ranks, m.Rank)
			t.trainer(&vs, m, members, f)
		}
	}
	t.job(&vs, members)
	t.machine(&vs)
	return vs
}

// loaderOf is a trainer's loader that has handed over most batches, as training's has beside an evaluation's.
func (t *Tracker) loaderOf(m Member) string {
	first := "loader/" + m.ID
	loader, most := first, t.level(metric.LoaderBatches, first)
	for n := 1; ; n++ {
		other := first + "." + strconv.Itoa(n)
		if _, there := t.of(metric.LoaderWorkers, other); !there {
			return loader
		}
		batches, unknown := t.level(metric.LoaderBatches, other), math.IsNaN(most)
		if batches > most || unknown && !math.IsNaN(batches) {
			loader, most = other, batches
		}
	}
}

func (t *Tracker) trainer(vs *values, m Member, members []Member, f *Frame) {
	of, loader := Owner{Rank: m.Rank}, t.loaderOf(m)
	samples, _ := t.of(metric.LoaderSamples, loader)
	waits, _ := t.of(metric.LoaderWaiting, loader)
	vs.share(metric.InputWait, of, waits, samples)
	batches, _ := t.of(metric.LoaderBatches, loader)
	vs.flow(metric.BatchesPerS, of, batches.grown, batches.over)
	if queued, ok := t.of(metric.LoaderQueued, loader); ok {
		vs.level(metric.QueueBatches, of, queued.mean/t.level(metric.LoaderTensorsPer, loader))
	}
	vs.level(metric.NumWorkers, of, t.level(metric.LoaderWorkers, loader))
	busy, seconds := make([]float64, len(States)), 0.0
	for _, w := range members {
		if w.Trainer != m.ID {
			continue
		}
		shares, over := t.states("process/" + w.ID)
		for i, share := range shares {
			busy[i] += share * over
		}
		seconds = max(seconds, over)
		cpu, _ := t.of(metric.ProcCPU, "process/"+w.ID)
		f.Workers = append(f.Workers, Worker{PID: w.PID, Rank: w.Rank, CPU: cpu.grown / cpu.over,
			RSS: t.level(metric.ProcRSS, "process/"+w.ID), States: shares})
	}
	for i, s := range States {
		vs.flow(metric.Workers, Owner{Rank: m.Rank, State: s.Name}, busy[i], seconds)
	}
}

// states are the shares of its time that a worker spent in each state, and how long that was; nil where it was not
// sampled.
func (t *Tracker) states(entity string) (shares []float64, seconds float64) {
	samples, _ := t.of(metric.ThreadSamples, entity)
	if samples.grown <= 0 {
		return nil, 0
	}
	for _, s := range States {
		share := 0.0
		for _, d := range s.samples {
			r, _ := t.of(d, entity)
			share += r.grown / samples.grown
		}
		shares = append(shares, min(share, 1))
	}
	return shares, samples.over
}

// job takes what all processes of the job use together.
func (t *Tracker) job(vs *values, members []Member) {
	haveWorkers := slices.ContainsFunc(members, func(m Member) bool { return m.Trainer != "" })
	for _, each := range []struct {
		d, raw metric.Desc
		loads  bool // of who loads: without workers the trainer; with them what it reads is what they hand over
	}{{metric.JobCPU, metric.ProcCPU, false}, {metric.ReadBytes, metric.ProcReadChars, true},
		{metric.StorageBytes, metric.ProcReadBytes, false}} {
		grown, over := 0.0, 0.0
		for _, m := range members {
			if each.loads && haveWorkers && m.Trainer == "" {
				continue
			}
			if r, ok := t.of(each.raw, "process/"+m.ID); ok {
				grown, over = grown+r.grown, max(over, r.over)
			}
		}
		vs.flow(each.d, Owner{}, grown, over)
	}
}

func (t *Tracker) machine(vs *values) {
	const host = "host"
	busy, _ := t.of(metric.CPUBusy, host)
	whole := reading{over: busy.over}
	for _, d := range []metric.Desc{metric.CPUBusy, metric.CPUIdle, metric.CPUIowait, metric.CPUSteal} {
		r, _ := t.of(d, host)
		whole.grown += r.grown
	}
	vs.share(metric.CPUBusyRatio, Owner{}, busy, whole)
	for _, d := range []metric.Desc{metric.CPUUsable, metric.MemTotal, metric.MemAvailable} {
		vs.level(d, Owner{}, t.level(d, host))
	}
	for _, d := range []metric.Desc{metric.CgroupMemLimit, metric.CgroupMemUsed} {
		vs.level(d, Owner{}, t.level(d, "cgroup/job"))
	}
	for _, p := range []struct{ d, raw metric.Desc }{
		{metric.CPUPressure, metric.PressureCPUSome}, {metric.IOPressure, metric.PressureIOSome},
		{metric.MemPressure, metric.PressureMemFull},
	} {
		r, ok := t.of(p.raw, "cgroup/job")
		if !ok {
			r, _ = t.of(p.raw, host)
		}
		vs.flow(p.d, Owner{}, r.grown, r.over)
	}
}

func (t *Tracker) devices(vs *values) {
	for k, r := range t.now {
		_, device, _ := strings.Cut(k.entity, "/")
		switch of := (Owner{Device: device}); k.metric {
		case metric.GPUUtil.Name:
			vs.flow(metric.GPUUtil, of, r.mean*Every.Seconds(), Every.Seconds())
		case metric.GPUSMActivity.Name:
			vs.flow(metric.GPUSMActivity, of, r.mean*Every.Seconds(), Every.Seconds())
		case metric.GPUMemUsed.Name:
			vs.level(metric.GPUMemUsed, of, r.last)
		case metric.GPUMemTotal.Name:
			vs.level(metric.GPUMemTotal, of, r.last)
		case metric.GPUPower.Name:
			vs.level(metric.GPUPower, of, r.last)
		case metric.DiskReadBytes.Name:
			vs.flow(metric.DiskByteRate, of, r.grown, r.over)
		case metric.DiskBusy.Name:
			vs.flow(metric.DiskUtil, of, r.grown, r.over)
		}
	}
}
