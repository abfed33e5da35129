package evidence

import (
	"slices"

	"github.com/pipetune/pipetune/internal/metric"
)

// facts takes what is no number.
func (b *builder) facts() {
	f := &b.ev.Facts
	f.Framework, f.Tokenizers = b.rec.Header.Job.Framework, b.rec.Header.Job.Tokenizers
	if n := b.rec.Header.BatchSize; n > 0 {
		f.BatchSize = &n
	}
	f.GPUName = b.gpuName()
	if _, ok := b.center(metric.GPUBusy); !ok {
		f.GPUWhyNot = b.gpuWhyNot()
	}
	b.datasetFacts()
	r := b.top()
	if r == nil {
		return
	}
	if f.Fed = r.fed; f.Fed != nil {
		return // what follows are settings of a DataLoader
	}
	f.Prefetch = b.prefetch(r)
	if named := b.h.of(metric.LoaderNamed, r.loader()).within(b.steady); len(named) > 0 {
		if f.Sharing = ByDescriptor; named[len(named)-1] > 0 {
			f.Sharing = ByName
		}
	}
	for _, w := range r.workerSet {
		if w.Method != "" {
			f.StartMethod = w.Method
		}
	}
	for _, s := range b.starts(r.process, b.processes.of(r.process)) {
		if !s.initial {
			f.Persistent = new(false)
		}
	}
	f.PinMemory = b.pinMemory(r)
}

// pinMemory reports whether a pinning thread is there. Its absence shows only where PyTorch names its threads, which it
// does since it names its workers pt_data_worker (pull request 128448, June 2024). Before, a main thread that reads
// none of its batches has one, or far more seldom a prefetcher of the job's own.
func (b *builder) pinMemory(r *rank) *bool {
	yes := b.pinned(r)
	if slices.ContainsFunc(r.workerSet, func(w *process) bool { return w.Comm == "pt_data_worker" }) {
		return &yes
	}
	if !yes && !b.readsNone(r) {
		return nil
	}
	return new(true)
}
