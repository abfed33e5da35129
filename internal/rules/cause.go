package rules

import (
	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// cause is what most rules about loading find: something that takes a part of the loading time, and a change that gives
// between lo and hi of that time back.
type cause struct {
	part      float64 // of the loading time
	lo, hi    float64
	storage   bool // the change takes the wait for storage away, and with it the rate that storage allows
	summary   string
	at        *report.Location
	change    report.Recommendation
	seen      []report.Evidence
	unhelpful []report.Unhelpful
}

// finding scores a cause by what of the trainer's wait it accounts for, and predicts what the change brings where the
// loader's costs are known.
func (c cause) finding(p *diagnose.Pass) report.Finding {
	c.change.Effect = saving(p, c.lo, c.hi, c.storage)
	return report.Finding{Score: starved(p) * c.part, Summary: c.summary, Location: c.at, Evidence: c.seen,
		Recommendations: []report.Recommendation{c.change}, Unhelpful: c.unhelpful}
}

func (c cause) report(p *diagnose.Pass) { p.Report(c.finding(p)) }

// storageCause is the cause of rules that would take the wait for storage away: at least half of it goes.
func storageCause(waits float64, summary string, change report.Recommendation, seen []report.Evidence) cause {
	return cause{part: waits, lo: waits / 2, hi: waits, storage: true, summary: summary, change: change, seen: seen}
}

// saving is the effect of loading without between lo and hi of its time, and where unthrottled also without the rate
// that storage allows; nil where its costs are too little known.
func saving(p *diagnose.Pass, lo, hi float64, unthrottled bool) *report.Effect {
	if loader, ok := p.Loader(); ok {
		return loader.Saving(lo, hi, unthrottled)
	}
	return nil
}

// timing is an item's time before and after a change of how the dataset is stored: what the measured halves of rules go
// by.
type timing struct {
	before, after stat.Summary
	basis         report.Basis
}

// saved is the share of an item's time that the change saves: the finding's score.
func (t timing) saved() float64 { return savedShare(t.before.Center, t.after.Center) }

// effect is that in items per second of one worker.
func (t timing) effect() *report.Effect { return quicker(t.before, t.after, t.basis, "") }

// report reports a finding that leads to such a change, as its first recommendation, where that saves enough.
func (t timing) report(p *diagnose.Pass, f report.Finding, changes ...report.Recommendation) {
	if f.Score = t.saved(); f.Score >= diagnose.Moderate.Value {
		changes[0].Effect = t.effect()
		f.Recommendations = changes
		p.Report(f)
	}
}

// cautious grades a share that may have another explanation: at most a warning.
func cautious(share float64) report.Severity {
	if diagnose.Grade(share) == report.Info {
		return report.Info
	}
	return report.Warning
}

// gradeOutside grades the share of a cause outside the loader: at most a warning while data is ready in time.
func gradeOutside(p *diagnose.Pass, share float64) report.Severity {
	if p.Stall() < diagnose.Moderate.Value {
		return cautious(share)
	}
	return diagnose.Grade(share)
}
