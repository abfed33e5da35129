package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

var syncsLimit = threshold("calls per step that wait for the GPU", 0.5, metric.Count,
	"derived: below it less than every second step waits, which is what the cure asks for")

var hostSyncPoints = diagnose.Rule{
	ID:     "host/sync-points",
	Title:  "The training loop waits for the GPU in each step",
	Needs:  []metric.Desc{metric.SyncRatio, metric.SyncsPerStep},
	Limits: limits(syncsLimit, gainLimit),
	Applies: func(p *diagnose.Pass) bool { // without a GPU there is nothing to wait for
		n, known := p.Maybe(metric.GPUCount)
		_, timed := p.Maybe(metric.SyncRatio)
		return timed || known && n >= 1 && diagnose.Training(p.Evidence)
	},
	Explains: []string{"host/main-thread-bound"},
	Eval: func(p *diagnose.Pass) {
		synced, each := share(p.Get(metric.SyncRatio)), p.Get(metric.SyncsPerStep)
		if synced < diagnose.Moderate.Value || each < p.Limit(syncsLimit) {
			if p.Reported().SyncsPartly {
				p.Abstain(diagnose.Untimed, diagnose.TimeThem)
			}
			return
		}
		idle, ok := deviceIdle(p)
		if !ok {
			p.Abstain("whether the GPU is busy while the training loop waits for it is unknown", "")
			return
		}
		score := min(max(idle-p.Stall(), 0), synced)
		f := report.Finding{
			Severity: cautious(score), Score: score,
			Summary: fmt.Sprintf("The training loop waits for the GPU %s of the time, %s per step, and the GPU has "+
				"nothing to do %s of the time for want of work",
				unit.Percent(synced), count2(each, "call"), unit.Percent(score)),
			Evidence: seen(p, metric.SyncRatio, metric.SyncsPerStep, metric.Starved, metric.GPUBusy, metric.InputWait,
				metric.HostTime),
			Recommendations: []report.Recommendation{{Setting: "calls that wait for the GPU",
				From: new(count2(each, "call") + " per step"), To: "one in 50 steps",
				Why: "keep losses and metrics on the device and fetch them at every 50th step; copy with " +
					"non_blocking=True",
				Caveat: "the log lags behind by as many steps; code that branches on a value of the GPU still has to " +
					"wait",
				Effect: speedup(p, 0, score, "the device")}},
			Unhelpful: unlessStarved(p, "calls that wait for the GPU",
				neitherMoreNorDeeper("the GPU does not wait for data in this time")),
		}
		if score < p.Limit(gainLimit) {
			f.Severity = report.Info
			f.Summary = fmt.Sprintf("The training loop waits for the GPU %s of the time, %s per step; the GPU is at "+
				"work meanwhile, so that costs little", unit.Percent(synced), count2(each, "call"))
			f.Recommendations = nil
		}
		if syncs := p.Reported().Syncs; len(syncs) > 0 {
			f.Location = diagnose.At(syncs[0].File, syncs[0].Line)
			if said := sitesSaid(p, syncs); said != "" {
				f.Summary += ": " + said
			}
		}
		p.Report(f)
	},
}

// deviceIdle is the share of time the GPU has nothing to do: by the job's own events, else by its counters.
func deviceIdle(p *diagnose.Pass) (float64, bool) {
	if v, ok := p.Maybe(metric.Starved); ok {
		return share(v), true
	}
	busy, ok := p.Maybe(metric.GPUBusy)
	return share(1 - busy), ok
}

// count2 is count for figures that need not be whole: "0.5 calls", "1 call".
func count2(n float64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return unit.Number(n) + " " + noun + "s"
}
