package launch

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// puppet is a trainer that answers each order with rows that were made up.
type puppet struct {
	rows    chan hook.Row
	answers map[string][]hook.Row // by order
	ends    bool                  // it ends after the answers to a replay
	asked   []hook.Order
	deaf    error
}

func (p *puppet) Send(o hook.Order) error {
	if p.deaf != nil {
		return p.deaf
	}
	p.asked = append(p.asked, o)
	for _, row := range p.answers[o.Order] {
		p.rows <- row
	}
	if p.ends && o.Order == hook.OrderReplay {
		close(p.rows)
	}
	return nil
}

func (p *puppet) Rows() <-chan hook.Row { return p.rows }

func chunks(n int, steps int64, took time.Duration) (rows []hook.Row) {
	rows = append(rows, hook.Row{Row: hook.RowReplay, Kept: 8})
	for range n {
		rows = append(rows, hook.Row{Row: hook.RowChunk, Steps: steps, Time: took, Filled: true})
	}
	return rows
}

func newPuppet(steps int64, pace float64, replayed []hook.Row) *puppet {
	count := hook.Row{Row: hook.RowCount, Steps: steps,
		Time: time.Duration(float64(steps) / pace * float64(time.Second))}
	return &puppet{rows: make(chan hook.Row, 256), answers: map[string][]hook.Row{hook.OrderCount: {count},
		hook.OrderReplay: replayed}}
}

// measured runs puppets through, and returns what a recording keeps.
func measured(t *testing.T, over <-chan struct{}, puppets ...*puppet) (rows []recording.Replay) {
	t.Helper()
	var all []*replay
	for i, p := range puppets {
		all = append(all, &replay{control: p, rows: p.rows, entity: "process/" + string(rune('1'+i)) + ".1"})
	}
	replayAll(all, over, time.Now)
	r := must.Get(recording.NewRecorder(recording.Header{}, nil))(t)
	record(r, all, len(all), "nobody")
	rec := must.Get(r.Finish(recording.End{Reason: recording.EndDuration}))(t)
	for _, row := range recording.Each[recording.Replay](rec, recording.EventReplay) {
		rows = append(rows, row)
	}
	return rows
}

// TestRanksReplayFromTheSameStep: the one that is furthest ahead, and a second more at its pace.
func TestRanksReplayFromTheSameStep(t *testing.T) {
	a, b := newPuppet(100, 20, chunks(9, 20, time.Second)), newPuppet(103, 20, chunks(9, 20, time.Second))
	rows := measured(t, nil, a, b)
	for _, p := range []*puppet{a, b} {
		if diff := cmp.Diff([]hook.Order{{Order: hook.OrderCount}, {Order: hook.OrderReplay, From: 124,
			Keep: replayKeep}}, p.asked); diff != "" {
			t.Errorf("orders (-want +got):\n%s", diff)
		}
	}
	if len(rows) < 2*(1+replayChunks) || rows[0].Replayed != 2 || rows[0].Trainers != 2 || rows[0].Kept != 8 {
		t.Errorf("%d rows, the first %+v", len(rows), rows[0])
	}
}

func TestReplayEndsWhenTheRateIsKnown(t *testing.T) {
	steady, slow := chunks(100, 20, time.Second), chunks(100, 1, 10*time.Second)
	unsteady := chunks(100, 20, time.Second)
	for i := range unsteady {
		unsteady[i].Time = 500*time.Millisecond + time.Duration(i%7)*100*time.Millisecond
	}
	unfilled := chunks(100, 20, time.Second)
	for i := range unfilled {
		unfilled[i].Filled = false
	}
	for _, c := range []struct {
		name        string
		rows        []hook.Row
		least, most int
	}{
		{"steady", steady, 7, 7}, {"long steps", slow, 7, 13}, {"unsteady", unsteady, 9, 15},
		{"workers that never come to rest", unfilled, 20, 20},
	} {
		if rows := measured(t, nil, newPuppet(10, 20, c.rows)); len(rows) < c.least || len(rows) > c.most {
			t.Errorf("%s: %d chunks, want %d to %d", c.name, len(rows), c.least, c.most)
		}
	}
}

// TestReplayThatIsCutShort keeps what was measured, and says why there is no more.
func TestReplayThatIsCutShort(t *testing.T) {
	ending := newPuppet(10, 20, chunks(3, 20, time.Second))
	ending.ends = true
	deaf := newPuppet(10, 20, nil)
	deaf.deaf = errors.New("broken pipe")
	failing := newPuppet(10, 20, append(chunks(1, 3, time.Second), hook.Row{Row: hook.RowFailed, Why: "KeyError"}))
	interrupted := make(chan struct{})
	close(interrupted)
	for _, c := range []struct {
		name   string
		of     *puppet
		over   chan struct{}
		chunks int
		why    string
	}{
		{"ends", ending, nil, 3, "the training ended while"},
		{"deaf", deaf, nil, 0, "broken pipe"},
		{"fails", failing, nil, 1, "KeyError"},
		{"interrupted", newPuppet(10, 20, nil), interrupted, 0, "nobody"},
	} {
		rows := measured(t, c.over, c.of)
		if len(rows) != c.chunks+1 || !strings.Contains(rows[len(rows)-1].Why, c.why) {
			t.Errorf("%s: %+v, want %d chunks and %q", c.name, rows, c.chunks, c.why)
		}
	}
}
