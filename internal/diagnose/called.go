package diagnose

import (
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/pkg/report"
)

// RecreatedEachEpoch reports whether the job constructs the DataLoader of the training loop per epoch.
// persistent_workers cannot help then.
func RecreatedEachEpoch(e *evidence.Evidence) bool { return Hooked(e) && e.Facts.Hook.Loader.Anew }

// called adds to a loader what the hook told of the call that made it. Its settings are among the facts already.
func called(e *evidence.Evidence, l *report.Loader) {
	if !Hooked(e) {
		return
	}
	c := e.Facts.Hook.Loader
	l.Source, l.Dataset, l.Sampler, l.InOrder, l.Iterable = "hook", c.Dataset, c.Sampler, c.InOrder, c.Iterable
	for _, i := range e.Facts.Hook.Slow {
		if finite(i.Seconds) {
			l.SlowItems = append(l.SlowItems, report.SlowItem{Index: i.Index, Seconds: i.Seconds, Times: i.Times})
		}
	}
	if c.File != "" && c.Line > 0 {
		l.Location = &report.Location{File: c.File, Line: c.Line}
	}
}
