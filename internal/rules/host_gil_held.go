package rules

import (
	"fmt"
	"slices"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var hostGILHeld = diagnose.Rule{
	ID:       "host/gil-held",
	Title:    "Another thread of the training process holds Python's global lock",
	Resource: report.MainProcess,
	Needs:    []metric.Desc{metric.GILWait},
	Explains: []string{"host/main-thread-bound"},
	Eval: func(p *diagnose.Pass) {
		waits := share(p.Get(metric.GILWait))
		score := min(waits, idleDevice(p)) // what lies behind the device's work holds nothing up
		if score < diagnose.Moderate.Value {
			return
		}
		f := report.Finding{
			Severity: report.Warning, Score: score,
			Summary: fmt.Sprintf("The main thread waits for Python's global lock (GIL) %s of the time: another thread "+
				"of its process runs Python meanwhile", unit.Percent(waits)),
			Evidence: seen(p, metric.GILWait, metric.HostTime, metric.MainCPU, metric.TrainerCPU, metric.PinBusy),
			Recommendations: []report.Recommendation{{
				Setting: "Python in other threads of the training process", From: new("beside the training loop"),
				To:     "in processes of their own, or in calls that release the lock",
				Why:    "one thread of a process at a time runs Python; a sampling profiler names who holds the lock",
				Effect: speedup(p, 0, waits, "the device"), Command: profile(p, "--gil --threads"),
			}},
			Unhelpful: unlessStarved(p, "the wait for the lock",
				neitherMoreNorDeeper("the lock is waited for in the training process")),
		}
		if diagnose.LoadsInAThread(p.Evidence) {
			f.Unhelpful = nil
			f.Recommendations = slices.Insert(f.Recommendations, 0, report.Recommendation{Setting: "num_workers",
				From: new(whole(0)), To: whole(1), Why: "a thread of the training process makes the batches; with a " +
					"worker it waits for them, and the Python of the dataset runs in a process of its own",
				Caveat: "what the thread does beside stays", Effect: speedup(p, 0, waits, "the device")})
		}
		if pins := p.Facts.PinMemory; pins != nil && *pins {
			f.Summary += "; the thread that pins batches is one that may"
		}
		p.Report(f)
	},
}
