package tune

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// loop is a training loop that takes step for a batch, fed by workers that each make one in item, with restarts that
// take a part of the time.
type loop struct {
	step, item float64 // seconds
	cores      float64
	restarts   float64 // part of the time that persistent_workers would save
	waits      float64 // part that a deeper queue would save
	dies       int     // with so many workers or more
	left       time.Duration
	asked      []string
}

func (l *loop) loader(s Setting) float64 {
	rate := min(float64(max(s.Workers, 1)), l.cores) / l.item
	if !s.Persistent && s.Workers > 0 {
		rate *= 1 - l.restarts
	}
	return rate
}

func (l *loop) rate(s Setting) float64 {
	if s.Workers == 0 {
		return 1 / (l.item + l.step)
	}
	free := 1 / l.step
	if s.Prefetch <= predict.DefaultPrefetch {
		free *= 1 - l.waits
	}
	return min(l.loader(s), free)
}

func (l *loop) measure(how string, s Setting, most time.Duration, rate float64) Rate {
	l.asked = append(l.asked, how+" "+string('0'+rune(s.Workers)))
	l.left -= most
	if l.dies > 0 && s.Workers >= l.dies {
		return Rate{Why: "DataLoader worker exited unexpectedly", Memory: -1, Shm: -1}
	}
	return measuredAt(rate)
}

func (l *loop) Alone(s Setting, most time.Duration) Rate {
	return l.measure("alone", s, most, l.loader(s))
}
func (l *loop) InLoop(s Setting, most time.Duration) Rate {
	return l.measure("loop", s, most, l.rate(s))
}

func (l *loop) job(now Setting) Job {
	if l.left == 0 {
		l.left = 3 * time.Minute
	}
	return Job{Now: now, Rate: measuredAt(l.rate(now)).Summary, Free: measuredAt(1 / l.step).Summary, Most: 16,
		Epoch: 100, Fits: func(Setting) string { return "" }, Left: func() time.Duration { return l.left }}
}

func workers(n int) Setting {
	return Setting{Setting: predict.Setting{Workers: n, Prefetch: predict.DefaultPrefetch}}
}

func TestSearch(t *testing.T) {
	forecast := func(reach int) func(Setting) *report.Interval {
		return func(s Setting) *report.Interval {
			if s.Workers < reach {
				return &report.Interval{Center: 2, Lo: 1, Hi: 3}
			}
			return &report.Interval{Center: 90, Lo: 50, Hi: 200}
		}
	}
	for _, c := range []struct {
		name string
		loop loop
		now  Setting
		edit func(*Job)
		want Setting
		none bool // no other setting could be measured
		most int  // measurements
		say  string
	}{
		{name: "too few workers", loop: loop{step: 0.01, item: 0.035, cores: 16}, now: workers(1), want: workers(4),
			most: 8},
		{name: "none", loop: loop{step: 0.01, item: 0.035, cores: 16}, now: Setting{}, want: workers(4), most: 8},
		{name: "the forecast points there", loop: loop{step: 0.01, item: 0.035, cores: 16}, now: workers(1),
			want: workers(4), most: 5, edit: func(j *Job) { j.First, j.Forecast = 4, forecast(4) }},
		{name: "cores limit", loop: loop{step: 0.01, item: 0.035, cores: 2}, now: workers(1), want: workers(2),
			most: 8},
		{name: "the step limits", loop: loop{step: 0.1, item: 0.035, cores: 2}, now: workers(1), want: workers(1),
			most: 1, say: "data for free"},
		{name: "the choice keeps up already", loop: loop{step: 0.02, item: 0.035, cores: 4, waits: 0.1},
			now: workers(2), want: Setting{Setting: predict.Setting{Workers: 2, Prefetch: 4}}, most: 7},
		{name: "restarts", loop: loop{step: 0.01, item: 0.018, cores: 2, restarts: 0.5}, now: workers(2),
			want: Setting{Setting: predict.Setting{Workers: 2, Prefetch: 2, Persistent: true}}, most: 8},
		{name: "two workers die", loop: loop{step: 0.01, item: 0.035, cores: 16, dies: 2}, now: workers(1),
			want: workers(1), most: 5},
		{name: "no budget", loop: loop{step: 0.01, item: 0.035, cores: 16, left: time.Second}, now: workers(1),
			want: workers(1), none: true, say: "budget"},
		// with persistent_workers and without, and with a deeper queue
		{name: "nothing fits", loop: loop{step: 0.01, item: 0.035, cores: 16}, now: workers(1), want: workers(1),
			most: 4,
			edit: func(j *Job) {
				j.Fits = func(s Setting) string { return map[bool]string{true: "beyond /dev/shm"}[s.Workers > 1] }
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := c.loop.job(c.now)
			if c.edit != nil {
				c.edit(&job)
			}
			got := Search(&c.loop, job)
			chosen := got.Rows[got.Chosen]
			if chosen.Setting != c.want || got.Tried == c.none || !strings.Contains(got.Ended, c.say) {
				t.Errorf("chose %+v, tried %t, ended %q; want %+v, %t, %q\nasked for %q", chosen.Setting, got.Tried,
					got.Ended, c.want, !c.none, c.say, c.loop.asked)
			}
			if len(c.loop.asked) > c.most {
				t.Errorf("measured %d times, want %d at most: %q", len(c.loop.asked), c.most, c.loop.asked)
			}
			if best := job.Rate.Center; chosen.Present && !c.none && c.edit == nil && c.loop.dies == 0 && c.say == "" &&
				c.loop.rate(workers(16))*enough > best {
				t.Errorf("kept the present setting, and 16 workers give %.1f instead of %.1f", c.loop.rate(workers(16)),
					best)
			}
		})
	}
}

// TestTheLoopIsMeasuredAgain: a loop that was watched while something else ran is no slower than the others for that.
func TestTheLoopIsMeasuredAgain(t *testing.T) {
	l := loop{step: 0.01, item: 0.035, cores: 2}
	job := l.job(workers(2))
	job.Rate = measuredAt(l.rate(workers(2)) / 2).Summary
	if got := Search(&l, job); !got.Rows[got.Chosen].Present || !got.Disturbed {
		t.Errorf("chosen %+v, disturbed %t: %q", got.Rows[got.Chosen], got.Disturbed, l.asked)
	}
	if got := Search(&l, l.job(workers(1))); got.Rows[got.Chosen].Workers != 2 || got.Disturbed {
		t.Errorf("chosen %+v, disturbed %t", got.Rows[got.Chosen], got.Disturbed)
	}
}

// TestChanceIsNoGain: a rate that is higher, and whose interval reaches into that of the present one, changes nothing.
func TestChanceIsNoGain(t *testing.T) {
	l := loop{step: 0.02, item: 0.035, cores: 4, waits: 0.1}
	job := l.job(workers(2))
	job.Rate.Hi = 1.2 * job.Rate.Center
	if got := Search(&l, job); !got.Rows[got.Chosen].Present || !got.Tried {
		t.Errorf("chosen %+v", got.Rows[got.Chosen])
	}
}

// TestTheBoundIsTold: where the most workers that are tried still leave the loop waiting, that is said.
func TestTheBoundIsTold(t *testing.T) {
	for _, c := range []struct {
		item float64
		want bool
	}{{0.3, true}, {0.15, false}} {
		l := loop{step: 0.025, item: c.item, cores: 99}
		j := l.job(Setting{Setting: predict.Setting{Workers: 3, Prefetch: 2, Persistent: true}})
		j.Most = 8
		if got := Search(&l, j); strings.Contains(got.Ended, "more than 8 workers are not tried") != c.want {
			t.Errorf("%+v: %d workers, %q", c, got.Rows[got.Chosen].Workers, got.Ended)
		}
	}
}

// TestNoiseIsNotNothing: where the intervals leave a gain open, that is the answer, and no further than data for free.
func TestNoiseIsNotNothing(t *testing.T) {
	for _, c := range []struct {
		spread, free float64
		want         float64
	}{{0.01, 30, 1.01}, {0.05, 30, 1.05}, {0.4, 30, 1.4}, {0.4, 12, 1.2}, {0.4, 10.1, 0}} {
		b := &noisy{loop: loop{step: 1 / c.free, item: 1 / 10.0, cores: 1}, spread: c.spread}
		j := b.job(Setting{Setting: predict.Setting{Workers: 1, Prefetch: 2, Persistent: true}})
		j.Free = stat.Summary{Center: c.free, Lo: c.free, Hi: c.free, Confidence: 0.95, N: 8}
		got := Search(b, j)
		if got.Chosen != 0 || math.Abs(got.Open-c.want) > 0.011 || got.Unclear() != (c.want > 1.1) {
			t.Errorf("%+v: chosen %d, %.3f open", c, got.Chosen, got.Open)
		}
	}
}

// TestFewStepsChooseNothing: a rate of so few steps that it has no interval is no reason for a change, and slow steps
// are measured for longer.
func TestFewStepsChooseNothing(t *testing.T) {
	l := &slow{loop: loop{step: 2, item: 8, cores: 4, left: time.Hour}}
	got := Search(l, l.job(workers(1)))
	if !got.Rows[got.Chosen].Present && got.Rows[got.Chosen].InLoop.N < 6 {
		t.Errorf("chosen %+v", got.Rows[got.Chosen])
	}
	if l.longest < 48*time.Second {
		t.Errorf("the loop of 8 s a step was measured for %s", l.longest)
	}
	l = &slow{loop: loop{step: 2, item: 8, cores: 4, left: 30 * time.Second}}
	if got := Search(l, l.job(workers(1))); !got.Rows[got.Chosen].Present || !got.Unclear() {
		t.Errorf("of too few steps chosen %+v, %.2f open", got.Rows[got.Chosen], got.Open)
	}
}

// slow is a loop of which only so many steps come as there is time for.
type slow struct {
	loop
	longest time.Duration
}

func (l *slow) InLoop(s Setting, most time.Duration) Rate {
	l.longest = max(l.longest, most)
	r := l.loop.InLoop(s, most)
	if r.N = int(most.Seconds() * r.Center); r.N < 6 {
		r.Lo, r.Hi, r.Confidence = r.Center, r.Center, 0
	}
	return r
}

// noisy is a loop whose rates are known only so far.
type noisy struct {
	loop
	spread float64
}

func (l *noisy) InLoop(s Setting, most time.Duration) Rate {
	r := l.loop.InLoop(s, most)
	r.Lo, r.Hi = (1-l.spread)*r.Center, (1+l.spread)*r.Center
	return r
}

func TestBatchSizesAreMeasuredAndNotChosen(t *testing.T) {
	l := loop{step: 0.01, item: 0.035, cores: 16}
	job := l.job(workers(1))
	job.Batches = []int{32, 64}
	got := Search(&l, job)
	sizes := 0
	for _, r := range got.Rows {
		if r.Batch > 0 && r.InLoop.N > 0 && r.Workers == 4 {
			sizes++
		}
	}
	if sizes != 2 || got.Rows[got.Chosen].Batch != 0 {
		t.Errorf("%d batch sizes were measured with the setting that was chosen; chosen %+v", sizes,
			got.Rows[got.Chosen])
	}
}
