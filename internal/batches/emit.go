package batches

import (
	"math"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// Emit records the counts. samples is how many joint samples of the trainer and its workers were taken
// while these worked.
func (f *Loader) Emit(sink recording.Sink, entity string, samples uint64) {
	for _, w := range f.workers {
		if w.fdErr != nil {
			sink.Unseen(metric.LoaderTensors.Name, entity, w.fdErr.Error(),
				"run pipetune as the user of the job, or as root")
			break
		}
	}
	switch {
	case f.sighted:
		sink.Add(metric.LoaderTensors, entity, math.Floor(f.tensors))
		if n := f.period.tensors; n > 0 {
			sink.Add(metric.LoaderTensorsPer, entity, float64(n))
			sink.Add(metric.LoaderBatches, entity, math.Floor(f.batches))
		} else if f.tensors >= undecidedTensors && samples >= undecidedSamples {
			sink.Unseen(metric.LoaderTensorsPer.Name, entity, "neither sizes nor numbers of the tensors repeat "+
				"clearly enough to tell how many make a batch",
				"watch longer")
		}
		named := 0.0
		if f.folder != "" {
			named = 1
		}
		sink.Add(metric.LoaderNamed, entity, named)
		var count int
		for _, w := range f.workers {
			count += w.ledger.heldCount
		}
		sink.Add(metric.LoaderQueued, entity, float64(count))
		if f.batchBytes > 0 {
			sink.Add(metric.LoaderBatchBytes, entity, float64(f.batchBytes))
		}
	case f.pickled.writesPerBatch > 0:
		const why = "batches hold no torch tensors: they are pickled through a pipe; batches are counted by the " +
			"workers' write calls"
		sink.Unseen(metric.LoaderTensors.Name, entity, why, "return tensors from the dataset or its collate_fn")
		sink.Unseen(metric.LoaderQueued.Name, entity, why, "return tensors from the dataset or its collate_fn")
		sink.Add(metric.LoaderBatches, entity, f.pickled.batches)
		sink.Add(metric.LoaderBatchBytes, entity, float64(f.pickled.bytes))
	case samples >= unsightedSamples:
		sink.Unseen(metric.LoaderTensors.Name, entity, "no tensor on its way was seen, and the workers' write calls "+
			"do not show what a batch is",
			"watch longer")
	}
}

// When to say that something cannot be determined, which may turn out otherwise later: after so many tensors and 12 s
// of samples, or after 20 s of samples.
const (
	undecidedTensors = 100
	undecidedSamples = 600
	unsightedSamples = 1000
)
