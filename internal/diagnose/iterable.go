package diagnose

import (
	"strconv"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/pkg/report"
)

// What to mind where the number of workers changes. An iterable dataset is copied into each worker, and each copy
// gives all of it unless the dataset's own code takes a share (torch.utils.data.IterableDataset): samples per second
// rise, and so does the number of times that training sees each sample.
const (
	replayed      = "the dataset is iterable: each worker goes over all of it unless it takes its share by torch.utils.data.get_worker_info, and of one in shards no more workers than shards get any; compare the samples of an epoch"
	mayBeIterable = "an IterableDataset has to share itself out between workers"
)

// sharing is what to mind of more workers; "" where the dataset is known to be asked by index, which the workers
// share in any case.
func sharing(e *evidence.Evidence) string {
	switch h := e.Facts.Hook; {
	case h == nil || h.Loader.Class == "":
		return mayBeIterable
	case h.Loader.Iterable:
		return replayed
	}
	return ""
}

// mindSharing adds to a finding that recommends more workers what that does to an iterable dataset.
func mindSharing(e *evidence.Evidence, f *report.Finding) {
	if e.Bench != nil {
		return
	}
	for i := range f.Recommendations {
		if c := &f.Recommendations[i]; c.Setting == string(predict.NumWorkers) && !fewer(*c) {
			c.Caveat = also(c.Caveat, sharing(e))
		}
	}
}

// fewer tells whether a recommendation is known to lower a number.
func fewer(c report.Recommendation) bool {
	if c.From == nil {
		return false
	}
	from, err := strconv.ParseFloat(*c.From, 64)
	to, err2 := strconv.ParseFloat(c.To, 64)
	return err == nil && err2 == nil && to < from
}
