package evidence

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
)

// Code is a library whose code a worker executes.
type Code struct {
	Library string  // libjpeg, PIL, metric.CodePython, metric.CodeOther
	Share   float64 // of the worker's samples: of its CPU time but for what it was in the kernel
}

// enoughCode is how many samples tell shares: of 100 a share of a half lies within 0.4 and 0.6 (19 times in 20).
const enoughCode = 100

// code takes what the worker that was sampled executes.
func (b *builder) code(r *rank) {
	prefix := strings.Replace(r.entity, "process/", "code/", 1) + "."
	all := 0.0
	var of []Code
	for _, t := range b.h.all(metric.WorkerCode) {
		if library, own := strings.CutPrefix(t.entity, prefix); own {
			growth, _ := t.grow(b.spans)
			if n := sum(growth); n > 0 {
				of, all = append(of, Code{library, n}), all+n
			}
		}
	}
	if all < enoughCode {
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
