package cli

import (
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// When a watch is judged before its end. Cut off at 10 s, 112 of the 113 recordings of internal/replay have the class that they have whole (17 and
// 20 s), and at 15 s 112 have the same first finding too; of the 58 whose confidence is high by then, all have both.
const (
	firstGlance = 10 * time.Second
	soonEnough  = 15 * time.Second // from here on a verdict of high confidence ends a watch whose length nobody chose
	glanceEvery = 5 * time.Second  // at first; as the watch goes on, each time half as long again as the time so far
)

// provisional judges what a watch has seen so far, beside it. Its zero value is not useful.
type provisional struct {
	show   func(words string) // what is known so far
	mayEnd bool
	amend  func(*recording.Header) // completes a header by what is known now
	next   time.Duration
	glance chan glance // one that is being made; nil: none is
}

// glance is a report on the watch up to a moment; nil where there was nothing to judge.
type glance struct {
	at time.Duration
	*report.Report
}

// enough implements bounds.enough.
func (p *provisional) enough(at time.Duration, _ *job.Tree, rec *recording.Recorder) string {
	select {
	case g := <-p.glance:
		p.glance = nil
		return p.heed(g)
	default:
	}
	if at < p.next || p.glance != nil {
		return ""
	}
	p.next = at + max(glanceEvery, at/2)
	soFar, made := rec.Snapshot(), make(chan glance, 1) // nobody may be there to take it
	p.amend(&soFar.Header)
	soFar.End = &recording.End{At: at, Reason: recording.EndDuration}
	p.glance = made
	go func() {
		r, err := judge(soFar)
		if err != nil { // too little was seen yet; the end of the watch says it if that stays so
			r = nil
		}
		made <- glance{at, r}
	}()
	return ""
}

// heed shows what a glance tells, and gives the reason to end the watch by it.
func (p *provisional) heed(g glance) string {
	if g.Report == nil || g.Verdict.Class == report.Inconclusive {
		return ""
	}
	p.show(fmt.Sprintf("so far %s (%s)", g.Verdict.Class, g.Verdict.Confidence))
	if p.mayEnd && g.at >= soonEnough && g.Verdict.Confidence == report.High {
		return recording.EndClear
	}
	return ""
}
