package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// callSettings are the arguments of a DataLoader that rules recommend values for.
var callSettings = map[string]bool{"num_workers": true, "prefetch_factor": true, "persistent_workers": true, "pin_memory": true, "batch_size": true,
	"in_order": true, "multiprocessing_context": true, "collate_fn": true}

// locate gives a finding that recommends an argument of the training loop's DataLoader the place of that call, where the hook told it. A place
// that the rule itself knows stands.
func locate(e *evidence.Evidence, f *report.Finding) {
	h := e.Facts.Hook
	if f.Location != nil || h == nil || h.Loader.File == "" || h.Loader.Line < 1 {
		return
	}
	for _, c := range f.Recommendations {
		if callSettings[c.Setting] {
			f.Location = &report.Location{File: h.Loader.File, Line: h.Loader.Line}
			return
		}
	}
}
