package watch

import (
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

// When a watch is judged before its end. Cut off at 10 s, 112 of the 113 recordings of internal/replay have the class
// that they have whole (17 and 20 s), and at 15 s 112 have the same first finding too; of the 58 whose confidence is
// high by then, all have both.
const (
	firstInterim = 10 * time.Second // where the reports themselves are shown
	soonEnough   = 15 * time.Second // from here on a verdict of high confidence ends a watch whose length nobody chose
	// LastStretch is what is judged of a watch without an end, and from then on how often.
	LastStretch = time.Minute
)

// provisional judges what a watch has seen so far, beside it. Its zero value is not useful.
type provisional struct {
	Options
	amend   func(*recording.Header) // completes a header by what is known now
	next    time.Duration
	interim chan Interim // one that is being made; nil: none is
}

// Interim is what the watch shows up to a moment.
type Interim struct {
	At      time.Duration
	Verdict *report.Verdict // nil where there was nothing to judge
	Report  *report.Report  // nil likewise, or where only the verdict was asked for
	Err     error           // why there was nothing to judge
}

// enough is the reason to end the watch now, "" to go on.
func (p *provisional) enough(at time.Duration, rec *recording.Recorder) string {
	select {
	case g := <-p.interim:
		p.interim = nil
		return p.take(g, at)
	default:
	}
	if p.interim != nil || at < p.next && (p.Now == nil || !p.Now()) || at >= p.Duration {
		return ""
	}
	made := make(chan Interim, 1)             // nobody may be there to take it
	p.next, p.interim = at+p.judged(at), made // a report on a minute takes 0.1 s, as much as looking for ten seconds
	if p.Duration == Endless {
		rec.Forget(at - LastStretch)
	}
	soFar := rec.Snapshot()
	p.amend(&soFar.Header)
	soFar.End = &recording.End{At: at, Reason: recording.EndDuration}
	go func() { made <- judge(soFar.From(at-p.judged(at)), at, p.Judge != nil) }()
	return ""
}

// judge judges a recording, and reports on it where that is asked for. Too little to judge by is no error here: the end
// of the watch says it if that stays so.
func judge(rec *recording.Recording, at time.Duration, whole bool) Interim {
	out := Interim{At: at}
	if !whole {
		out.Verdict, out.Err = rules.Verdict(rec)
		return out
	}
	if out.Report, out.Err = rules.Judge(rec); out.Err == nil {
		out.Verdict = out.Report.Verdict
	}
	return out
}

// judged is how much of a watch is judged at a moment.
func (p *provisional) judged(at time.Duration) time.Duration {
	if p.Duration == Endless {
		return min(at, LastStretch)
	}
	return at
}

// take hands on what an interim report says, and gives the reason to end the watch by it.
func (p *provisional) take(g Interim, at time.Duration) string {
	if p.Judge != nil {
		p.Judge(g)
	}
	if g.Verdict == nil || g.Verdict.Class == report.Inconclusive {
		return ""
	}
	if p.Words != nil {
		p.Words(fmt.Sprintf("so far %s (%s)", g.Verdict.Class, g.Verdict.Confidence), at)
	}
	if p.MayEnd && g.At >= soonEnough && g.Verdict.Confidence == report.High {
		return recording.EndClear
	}
	return ""
}
