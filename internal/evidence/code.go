package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// Code is a library whose code a worker executes.
type Code struct {
	Library string  // libjpeg, PIL, one of metric.NoLibrary
	Share   float64 // of the CPU time of the worker's main thread
}

// Name is what a report calls it.
func (c Code) Name() string {
	if c.Library == metric.CodeKernel {
		return "the kernel"
	}
	return c.Library
}

// EnoughCode is how many samples tell shares: of 400 a share of a half lies within 0.45 and 0.55 (19 times in 20).
const EnoughCode = 400

// code takes what the workers execute, of a trainer that they feed.
func (b *builder) code(r *rank) {
	if r.fed != nil || len(r.workerSet) == 0 {
		return
	}
	prefix := strings.Replace(r.Entity, "process/", "code/", 1) + "."
	all, kernel := 0.0, false
	var of []Code
	for _, t := range b.Tracks(metric.WorkerCode) {
		if library, own := strings.CutPrefix(t.Entity, prefix); own {
			growth, _ := t.Grow(b.Spans)
			kernel = kernel || library == metric.CodeKernel
			if n := stat.Sum(growth); n > 0 {
				of, all = append(of, Code{library, n}), all+n
			}
		}
	}
	if all < EnoughCode || !kernel { // without the kernel's part these are no shares of the time
		return
	}
	for i := range of {
		of[i].Share /= all
	}
	slices.SortFunc(of, func(x, y Code) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), strings.Compare(x.Library, y.Library))
	})
	b.ev.Facts.Code = of
}
