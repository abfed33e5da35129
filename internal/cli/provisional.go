package cli

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// When a watch is judged before its end. Cut off at 10 s, 112 of the 113 recordings of internal/replay have the class
// that they have whole (17 and 20 s), and at 15 s 112 have the same first finding too; of the 58 whose confidence is
// high by then, all have both.
const (
	firstInterim = 10 * time.Second
	soonEnough   = 15 * time.Second // from here on a verdict of high confidence ends a watch whose length nobody chose
	interimEvery = 5 * time.Second  // at first; as the watch goes on, each time half as long again as the time so far
	lastStretch  = time.Minute      // what is judged of a watch without an end, and from then on how often
)

// provisional judges what a watch has seen so far, beside it. Its zero value is not useful.
type provisional struct {
	show      func(words string) // what is known so far
	onInterim func(interim)      // nil, or who takes each interim report
	mayEnd    bool
	endless   bool                    // the watch has no end: its last stretch is judged, and nothing else is kept
	amend     func(*recording.Header) // completes a header by what is known now
	next      time.Duration
	interim   chan interim // one that is being made; nil: none is
	now       atomic.Bool  // one was asked for
}

// interim is a report on the watch up to a moment; nil where there was nothing to judge, and why.
type interim struct {
	at time.Duration
	*report.Report
	err error
}

// enough implements bounds.enough.
func (p *provisional) enough(at time.Duration, _ *job.Tree, rec *recording.Recorder) string {
	select {
	case g := <-p.interim:
		p.interim = nil
		return p.take(g)
	default:
	}
	if p.interim != nil || at < p.next && !p.now.Swap(false) {
		return ""
	}
	made := make(chan interim, 1) // nobody may be there to take it
	p.next, p.interim = at+max(interimEvery, at/2), made
	if p.endless { // judging a minute takes 0.1 s, as much as looking for ten seconds
		p.next = at + p.judged(at)
		rec.Forget(at - lastStretch)
	}
	soFar := rec.Snapshot()
	p.amend(&soFar.Header)
	soFar.End = &recording.End{At: at, Reason: recording.EndDuration}
	go func() {
		r, err := judge(soFar.From(at - p.judged(at)))
		made <- interim{at, r, err} // an error: too little was seen yet; the end of the watch says it if that stays so
	}()
	return ""
}

// judged is how much of a watch is judged at a moment.
func (p *provisional) judged(at time.Duration) time.Duration {
	if p.endless {
		return min(at, lastStretch)
	}
	return at
}

// take shows what an interim report says, and gives the reason to end the watch by it.
func (p *provisional) take(g interim) string {
	if p.onInterim != nil {
		p.onInterim(g)
	}
	if g.Report == nil || g.Verdict.Class == report.Inconclusive {
		return ""
	}
	p.show(fmt.Sprintf("so far %s (%s)", g.Verdict.Class, g.Verdict.Confidence))
	if p.mayEnd && g.at >= soonEnough && g.Verdict.Confidence == report.High {
		return recording.EndClear
	}
	return ""
}
