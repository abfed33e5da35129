package diagnose

import (
	"math"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// describe fills the parts of a report that only repeat what was seen.
func describe(e *evidence.Evidence) *report.Report {
	return &report.Report{
		Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "diagnose",
		Tool:     report.Tool{Name: e.Header.Tool.Name, Version: e.Header.Tool.Version, Commit: e.Header.Tool.Commit},
		Host:     host(e),
		Job:      job(e),
		Window:   window(e),
		Metrics:  metrics(e, slices.Concat(metric.Derived, metric.HookDerived)),
		Phases:   phases(e),
		Ranks:    ranks(e),
		Warnings: slices.Clone(e.Warnings),
	}
}

func host(e *evidence.Evidence) report.Host {
	h := e.Header.Host
	out := report.Host{ID: h.ID, Name: h.Name, CPUsUsable: h.CPUsUsable, CPUsPresent: h.CPUsPresent,
		MemoryBytes: h.MemoryBytes, MemoryLimitBytes: h.MemoryLimit, Kernel: h.Kernel}
	for _, g := range h.GPUs {
		out.GPUs = append(out.GPUs, report.GPU{UUID: g.UUID, Name: g.Name, MemoryBytes: g.MemoryBytes, OfJob: g.OfJob})
	}
	for _, s := range h.Storage {
		out.Storage = append(out.Storage, report.Storage{Path: s.Path, Kind: s.Kind, FSType: s.FSType,
			Devices: s.Devices})
	}
	return out
}

func job(e *evidence.Evidence) *report.Job {
	loader := &report.Loader{StartMethod: e.Facts.StartMethod, PrefetchFactor: e.Facts.Prefetch,
		PersistentWorkers: e.Facts.Persistent, PinMemory: e.Facts.PinMemory, BatchSize: e.Facts.BatchSize,
		Source: "observed", FedBy: FedBy(e), Others: e.Facts.OtherLoaders.N}
	if v, ok := e.Get(metric.NumWorkers); ok && e.Facts.Fed == nil {
		loader.NumWorkers = new(int(math.Round(v.Center)))
	}
	if v, ok := e.Get(metric.BatchBytes); ok {
		loader.BatchBytes = new(int64(math.Round(v.Center)))
	}
	called(e, loader)
	layout := evidence.HDF5{}
	if e.Facts.HDF5 != nil {
		layout = *e.Facts.HDF5
	}
	return &report.Job{PID: e.Header.Job.PID, Items: e.Facts.Items, Chunk: layout.Chunk, Mode: e.Header.Mode,
		Framework: e.Facts.Framework, Command: e.Header.Job.Command,
		Ranks: max(len(e.Ranks), len(e.Header.Job.Trainers)), Dataset: e.Facts.Dataset, Loader: loader,
		Place: (*report.Place)(e.Header.Job.Place)}
}

func window(e *evidence.Evidence) *report.Window {
	w := &report.Window{DurationS: (e.Window.End - e.Window.Start).Seconds(), WarmupS: e.Window.Warmup.Seconds(),
		StartS: e.Window.Start.Seconds(), StartedAt: started(e), StartMono: (e.Header.StartMonotonic +
			e.Window.Start).Seconds(), WholeEpochs: e.Window.Epochs}
	if n, ok := e.Steps(); ok {
		w.Steps = &n
	}
	if v, ok := e.Get(metric.Restarts); ok && v.Center > 0 {
		// each replaced set of workers is the end of an epoch; without restarts epochs cannot be determined from
		// outside
		w.Epochs = new(int(math.Round(v.Center)))
	}
	if h := e.Facts.Hook; h != nil && stat.Finite(h.Steps, h.Epochs) {
		w.Epochs = new(int(math.Round(h.Epochs)))
	}
	return w
}

// started is when the watch began, "" where the recording does not say.
func started(e *evidence.Evidence) string {
	if e.Header.StartedAt.IsZero() {
		return ""
	}
	return e.Header.StartedAt.UTC().Format(time.RFC3339)
}

// comparedBy are the signals that runs are compared by, window by window.
var comparedBy = []string{metric.SamplesPerS.Name, metric.BatchesPerS.Name, metric.StepTime.Name, metric.InputWait.Name,
	metric.GPUBusy.Name, metric.DeviceTime.Name, metric.WorkerCPUBatch.Name, metric.WorkerBusy.Name,
	metric.MadeItem.Name}

// metrics repeats signals under their own names.
func metrics(e *evidence.Evidence, signals []metric.Desc) map[string]report.Metric {
	out := map[string]report.Metric{}
	for _, d := range signals {
		if v, ok := e.Get(d); ok && stat.Finite(v.Center, v.Lo, v.Hi) {
			m := report.Metric{Center: v.Center, Lo: v.Lo, Hi: v.Hi, Confidence: v.Confidence, N: v.N,
				Unit: string(d.Unit), Basis: basis(v.Basis)}
			if slices.Contains(comparedBy, d.Name) && len(e.Windows(d)) <= report.MaxWindows {
				m.Windows = e.Windows(d)
			}
			out[d.Name] = m
		}
	}
	return out
}

func basis(b metric.Basis) report.Basis {
	if b == "" {
		return report.Measured
	}
	return report.Basis(b)
}

func ranks(e *evidence.Evidence) []report.Rank {
	if p := e.Header.Job.Place; len(e.Ranks) < 2 && (p == nil || p.WorldSize == nil || *p.WorldSize < 2) {
		return nil // it is the only one of its job
	}
	var out []report.Rank
	for i, r := range e.Ranks {
		row := report.Rank{Rank: r.Name, PID: r.PID, Worst: i == 0}
		if r.InputWait != nil {
			row.InputWaitRatio = new(stat.Share(r.InputWait.Center))
		}
		if r.BatchRate != nil && stat.Finite(r.BatchRate.Center) {
			row.BatchesPerS = new(r.BatchRate.Center)
		}
		out = append(out, row)
	}
	return out
}

// called adds to a loader what the hook reported on the call that made it. Its settings are among the facts already.
func called(e *evidence.Evidence, l *report.Loader) {
	if !Hooked(e) {
		return
	}
	c := e.Reported().Loader
	l.Source, l.Dataset, l.Sampler, l.InOrder, l.Iterable = "hook", c.Dataset, c.Sampler, c.InOrder, c.Iterable
	l.Shards = c.Shards
	for _, i := range e.Reported().Slow {
		if stat.Finite(i.Seconds) {
			l.SlowItems = append(l.SlowItems, report.SlowItem{Index: i.Index, Seconds: i.Seconds, Times: i.Times})
		}
	}
	l.Location = At(c.File, c.Line)
}
