package launch

import (
	"fmt"
	"math"
	"time"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// How long a job is handed its last batches again.
const (
	replayKeep     = 8                // batches of each loop
	replayAhead    = time.Second      // from now until all trainers begin at the same step
	replayLeast    = 3 * time.Second  // of undisturbed steps
	replayChunks   = 6                // of them, a second each: stat.Ratio gives no interval for fewer
	replayWithin   = 0.02             // half of the rate's interval, as a part of it, that is close enough
	replayMost     = 10 * time.Second // of undisturbed steps
	replayPatience = time.Minute      // in all: of steps of ten seconds six are enough
	replyPatience  = 30 * time.Second // for a first answer, which comes with the next batch
)

// control gives orders to a trainer; a *hook.Control, but for tests.
type control interface {
	Send(hook.Order) error
	Rows() <-chan hook.Row
}

// replay is one trainer that is handed its last batches again.
type replay struct {
	control control
	entity  string
	rows    <-chan hook.Row // nil once it is gone
	count   hook.Row
	kept    hook.Row
	chunks  []hook.Row
	why     string // no more comes
}

// headroom hands the trainers of the job their last batches again and records how long their steps take then.
func (j *Job) headroom(r *recording.Recorder, trainers int) {
	var all []*replay
	for _, a := range j.receiver.Controls() {
		all = append(all, &replay{control: a, entity: a.Entity, rows: a.Rows()})
	}
	none := "no trainer took a batch from a loader of torch.utils.data, so none could be handed out again"
	if j.Ended() || j.Interrupted() {
		all, none = nil, "the job ended, or was asked to, before its batches could be handed out again"
	}
	j.acted = len(all) > 0
	replayAll(all, j.over, time.Now)
	record(r, all, max(trainers, len(all)), none)
}

// record writes what came of it.
func record(r *recording.Recorder, all []*replay, trainers int, none string) {
	replayed := 0
	for _, t := range all {
		if len(t.chunks) > 0 {
			replayed++
		}
	}
	for _, t := range all {
		for _, c := range t.chunks {
			r.Event(recording.EventReplay, t.entity, recording.Attrs(recording.Replay{Steps: c.Steps,
				Seconds: c.Time.Seconds(), Filled: c.Filled, Void: c.Void, Kept: t.kept.Kept, Copied: t.kept.Copied,
				Replayed: replayed, Trainers: trainers}))
		}
		if t.why != "" {
			none = ""
			r.Event(recording.EventReplay, t.entity, recording.Attrs(recording.Replay{Why: t.why}))
		}
	}
	if replayed == 0 && none != "" {
		r.Event(recording.EventReplay, "", recording.Attrs(recording.Replay{Why: none}))
	}
}

// replayAll has all trainers begin at the same step, so that ranks that wait for each other all have data for free, and
// collects their chunks until each has enough. over ends it.
func replayAll(all []*replay, over <-chan struct{}, now func() time.Time) {
	begun := now()
	ask(all, hook.Order{Order: hook.OrderCount})
	collect(all, over, begun.Add(replyPatience), now, func(t *replay) bool { return t.count.Row != "" })
	if closed(over) {
		return
	}
	from, pace := int64(0), 0.0
	for _, t := range all {
		if t.count.Row == "" && t.rows != nil {
			t.drop("it asked for no batch for " + replyPatience.String())
		}
		from = max(from, t.count.Steps)
		if s := t.count.Time.Seconds(); s > 0 {
			pace = max(pace, float64(t.count.Steps)/s)
		}
	}
	if len(all) > 1 {
		from += int64(math.Ceil(pace*replayAhead.Seconds())) + 1
	}
	ask(all, hook.Order{Order: hook.OrderReplay, From: from, Keep: replayKeep})
	collect(all, over, now().Add(replayPatience), now, (*replay).enough)
	for _, t := range all {
		if len(t.chunks) == 0 && t.why == "" && !closed(over) {
			t.why = fmt.Sprintf("its steps were not done within %s", replayPatience)
		}
	}
}

// ask sends an order to all who are there.
func ask(all []*replay, o hook.Order) {
	for _, t := range all {
		if t.rows != nil {
			if err := t.control.Send(o); err != nil {
				t.drop("the training ended, or took no orders: " + err.Error())
			}
		}
	}
}

func (t *replay) drop(why string) {
	if t.rows = nil; t.why == "" {
		t.why = why
	}
}

// collect takes rows until each trainer that is there has enough.
func collect(all []*replay, over <-chan struct{}, until time.Time, now func() time.Time, enough func(*replay) bool) {
	for _, t := range all {
		for t.rows != nil && !enough(t) {
			select {
			case row, ok := <-t.rows:
				t.take(row, ok)
			case <-over:
				return
			case <-time.After(until.Sub(now())):
				return
			}
		}
	}
}

func (t *replay) take(row hook.Row, ok bool) {
	switch {
	case !ok:
		t.drop("the training ended while it was handed its last batches again")
	case row.Row == hook.RowCount:
		t.count = row
	case row.Row == hook.RowReplay:
		t.kept = row
	case row.Row == hook.RowChunk:
		t.chunks = append(t.chunks, row)
	case row.Row == hook.RowFailed:
		t.drop("handing out batches failed: " + row.Why)
	}
}

// enough reports whether the rate is known closely, or was measured for long enough. Chunks before the workers had
// filled their queue are waited for, and taken where there are no others for too long.
func (t *replay) enough() bool {
	var steps, seconds []float64
	good, all := time.Duration(0), time.Duration(0)
	for i, c := range t.chunks {
		if all += c.Time; i > 0 && c.Filled && !c.Void {
			good += c.Time
			steps, seconds = append(steps, float64(c.Steps)), append(seconds, c.Time.Seconds())
		}
	}
	s := stat.Ratio(steps, seconds)
	close := s.Confidence > 0 && s.Hi-s.Lo <= 2*replayWithin*s.Center
	return len(steps) >= replayChunks && good >= replayLeast && (close || good >= replayMost) || all >= 2*replayMost &&
		len(t.chunks) > 2*replayChunks
}
