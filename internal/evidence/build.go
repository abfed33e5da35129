package evidence

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// FromRecording derives every signal it can from a recording. The error says that there is nothing to derive anything
// from; what is merely missing is absent from the evidence, with its reason. The recording is not changed and not kept.
func FromRecording(rec *recording.Recording) (*Evidence, error) {
	b, others, end, err := begin(rec)
	if err != nil {
		return nil, err
	}
	if b.Failure != "" { // first: it is why there may be little to see
		b.warn("the job %s", b.Failure)
	}
	b.warnOtherTrainings(others)
	b.warnAfter(end)
	r := b.top()
	if r == nil {
		// of which nothing was read, so that nothing is derived, and why is known
		r = &rank{Process: &watched.Process{Entity: "no trainer"}}
	}
	b.gpu(r)
	b.trainer(r)
	b.restarts(r)
	b.sampler(r)
	of, own := b.whileTraining(r)
	of.loader(own)
	of.workers(own)
	b.remote(r)
	b.code(r)
	b.reading(r)
	b.opens(r)
	b.dataset()
	b.machine()
	b.memory()
	b.disk()
	b.rates(r)
	b.steps(r)
	b.saving(r)
	b.freeData(r)
	b.setReported(r)
	b.checkOffMain(r)
	b.watch(r)
	b.warnings(r)
	b.facts(r)
	b.hookSettings()
	return b.ev, nil
}

// begin reads a recording, finds who takes part in it and the trainer that leads, and cuts the steady stretch into
// windows.
func begin(rec *recording.Recording) (b *builder, t watched.OtherTrainings, end float64, err error) {
	f, t, end, err := watched.Read(rec)
	if err != nil {
		return nil, t, 0, err
	}
	b = &builder{Watch: f, thin: map[string]float64{}}
	b.ev = &Evidence{Header: rec.Header, Window: b.Window, Unseen: slices.Clone(rec.Unseen)}
	for _, h := range recording.Each[recording.Hook](rec, recording.EventHook) {
		b.ev.Facts.NoLoader = b.ev.Facts.NoLoader || h.NoLoader
	}
	b.places, b.layout = b.readPlaces(), b.readLayout()
	for _, a := range b.Processes.Trainers {
		b.ranks = append(b.ranks, b.rankOf(a))
	}
	b.findGPUs()
	b.lead()
	return b, t, end, nil
}

// builder holds what is being made of one recording.
type builder struct {
	*watched.Watch
	ev     *Evidence
	ranks  []*rank // in the order of Evidence.Ranks
	gpus   gpuShare
	places []place           // of the dataset, the one that is read most first
	layout *recording.Layout // of the largest HDF5 dataset; nil where none was described

	thin map[string]float64 // of trainers whose hook reported too little to be used: seconds of the window
}

// center returns a signal that was taken before.
func (b *builder) center(d metric.Desc) (float64, bool) {
	v, ok := b.ev.Get(d)
	return v.Center, ok
}

// miss notes why signals are absent, where the recording itself does not say. The first reason stands.
func (b *builder) miss(why Reason, ds ...metric.Desc) {
	for _, d := range ds {
		b.ev.Miss(d, why)
	}
}

// warn tells the person something about the watch.
func (b *builder) warn(format string, args ...any) {
	b.ev.Warnings = append(b.ev.Warnings, fmt.Sprintf(format, args...))
}

// facts takes what is no number.
func (b *builder) facts(r *rank) {
	f := &b.ev.Facts
	f.Framework, f.Tokenizers = b.Rec.Header.Job.Framework, b.Rec.Header.Job.Tokenizers
	if n := b.Rec.Header.BatchSize; n > 0 {
		f.BatchSize = &n
	}
	f.GPUName = b.gpuName()
	if _, ok := b.center(metric.GPUBusy); !ok {
		f.GPUWhyNot = b.gpuWhyNot()
	}
	b.datasetFacts()
	if f.Fed = r.fed; f.Fed != nil {
		return // what follows are settings of a DataLoader
	}
	f.OtherLoaders = b.otherLoaders(r)
	f.Prefetch = b.prefetch(r)
	if b.Track(metric.LoaderNamed, r.Loader()) != nil {
		if f.Sharing = ByDescriptor; b.byName(r) {
			f.Sharing = ByName
		}
	}
	for _, w := range r.workerSet {
		if w.Method != "" {
			f.StartMethod = w.Method
		}
	}
	if r.replaced {
		f.Persistent = new(false)
	}
	f.PinMemory = b.pinMemory(r)
}

// pinMemory reports whether a pinning thread is there. Its absence shows only where PyTorch names its threads, which it
// does since it names its workers pt_data_worker (pull request 128448, June 2024). Before, a main thread that reads
// none of its batches has one, or far more seldom a prefetcher of the job's own.
func (b *builder) pinMemory(r *rank) *bool {
	yes := b.pinned(r)
	if slices.ContainsFunc(r.workerSet, func(w *watched.Process) bool { return w.Comm == "pt_data_worker" }) {
		return &yes
	}
	if !yes && !b.readsNone(r) {
		return nil
	}
	return new(true)
}
