package probe

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// What an interruption kept from being measured does not ask for a larger budget.
func TestInterruptionIsTheReason(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := testSession(t, rawSample(t, 4096, 64, "a"), Options{Budget: 2 * time.Second, NoCold: true})
	var after []string
	r, err := s.run(ctx, func(step Step, _ time.Duration) {
		if step.Probe == report.ProbeRead {
			cancel()
		}
		if ctx.Err() == nil {
			after = append(after, step.Probe)
		}
	})
	if err != nil || len(r.Rows.Measurements()) == 0 || !r.Interrupted {
		t.Fatalf("%v, %d figures, interrupted %v", err, len(r.Rows.Measurements()), r.Interrupted)
	}
	if a := r.Abstained; len(a) != 1 || a[0].Reason != "the run was interrupted" || a[0].Cure != "" ||
		!slices.Contains(a[0].Missing, report.ProbeRead) || !slices.Contains(a[0].Missing, report.ProbeScaling) ||
		slices.Contains(a[0].Missing, after[0]) {
		t.Errorf("abstained %+v after %v", a, after)
	}
	s.short(ctx, stat.Summary{N: 1}, "reads")
	if w := s.result.Warnings[len(s.result.Warnings)-1]; !strings.Contains(w, "interrupted") ||
		strings.Contains(w, "--budget") {
		t.Errorf("warning: %s", w)
	}
}

func TestLargerBudget(t *testing.T) {
	for budget, want := range map[time.Duration]time.Duration{
		time.Millisecond: time.Minute, 30 * time.Second: time.Minute, 58300 * time.Millisecond: 117 * time.Second,
		time.Minute: 2 * time.Minute, 5 * time.Minute: 10 * time.Minute,
	} {
		if got := newSession(nil, rawSample(t, 4096, 1, "a"), Options{Budget: budget}).larger(); got != want {
			t.Errorf("after %v: %v, want %v", budget, got, want)
		}
	}
}

// The first round is a warm-up, unless it was long and the time is over by its end.
func TestRepeatKeepsToItsTime(t *testing.T) {
	for took, want := range map[time.Duration]int{20 * time.Millisecond: 2, 3 * time.Second: 1} {
		now, calls := time.Unix(0, 0), 0
		s := newSession(nil, rawSample(t, 4096, 1, "a"), Options{})
		s.clock = func() time.Time { return now }
		v, rounds, err := s.repeat(t.Context(), begin(s.clock, 10*time.Millisecond), func() (round, error) {
			calls++
			now = now.Add(took)
			return round{Units: 1, Seconds: took.Seconds()}, nil
		})
		if err != nil || calls != want || len(rounds) != 1 || v.Center != took.Seconds() {
			t.Errorf("rounds of %v: %d calls, %d counted, %v, %v", took, calls, len(rounds), v, err)
		}
	}
}

// What could not be read is in none of a round's figures, so that the round stands.
func TestCrowdKeepsRoundsWithFailures(t *testing.T) {
	s := testSession(t, rawSample(t, 4096, 8, "a"), Options{})
	c := &workerGroup{session: s}
	got := []loaded{{Pass: pass{Items: 3, Seconds: 1},
		Failures: []dataset.Failure{{Item: 2, Class: dataset.Corrupt, Text: "cut"}}}}
	again, err := c.replaceDead(t.Context(), make([]load, 1), got, make([]error, 1))
	if err != nil || again || len(s.sound(&s.sample, []int{1, 2, 3})) != 2 {
		t.Errorf("again %v, %v; item 2 is left out: %v", again, err, s.sound(&s.sample, []int{1, 2, 3}))
	}
}

// Damage is distinguished by its wording, and the figures in it are none of that.
func TestDamageIsNamedByItsWords(t *testing.T) {
	s := newSession(nil, rawSample(t, 4096, 1, "a"), Options{})
	for i, text := range []string{"JPEG: 30 bytes are missing", "BMP: a kind that is not read",
		"JPEG: 7 bytes are missing"} {
		s.blame(string(rune('a'+i)), dataset.Corrupt, text, false)
	}
	if u := s.result.Unread; len(u) != 2 || u[0].Count != 2 || u[1].Count != 1 || !strings.Contains(u[1].Reason,
		"BMP") {
		t.Errorf("%+v", u)
	}
	for i := range 2 * mostDamages {
		s.blame("x"+string(rune('a'+i)), dataset.Corrupt, "in way "+string(rune('a'+i)), false)
	}
	var files int64
	for _, u := range s.result.Unread {
		files += u.Count
	}
	if rows := len(s.result.Unread); rows != mostDamages+1 || files != 3+2*mostDamages {
		t.Errorf("%d rows of %d files: %+v", rows, files, s.result.Unread)
	}
}

// Items among others of their file are counted as items, each once; a file of which nothing can be read is a file.
func TestItemsAreNoFiles(t *testing.T) {
	s := newSession(nil, rawSample(t, 4096, 8, "a", "b"), Options{})
	bad := []dataset.Failure{{Item: 2, Class: dataset.Corrupt, Text: "item 2: cut"},
		{Item: 3, Class: dataset.Corrupt, Text: "item 3: cut"},
		{Item: -1, File: 1, Class: dataset.Corrupt, Text: "cut"}}
	s.note(&s.sample, bad)
	s.note(&s.sample, bad[:2])
	if u := s.result.Unread; len(u) != 2 || u[0].Items != 2 || u[0].Count != 1 || u[1].Items != 0 || u[1].Count != 1 {
		t.Errorf("%+v", u)
	}
	s = newSession(nil, rawSample(t, 4096, 1, "a", "b"), Options{})
	s.note(&s.sample, []dataset.Failure{{Item: 1, Class: dataset.Corrupt, Text: "cut"}})
	if u := s.result.Unread; len(u) != 1 || u[0].Items != 0 || u[0].Count != 1 {
		t.Errorf("the only item of a file: %+v", u)
	}
}
