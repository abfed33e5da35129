package evidence

import (
	"math"
	"testing"

	"github.com/pipetune/pipetune/internal/recording"
)

// TestHookPauses lets 4 s of training alternate with an evaluation of 2 s, in one piece or of two loaders, after an
// epoch or in the middle of one. The trainer computes a quarter of the time in training and three quarters in
// evaluations.
func TestHookPauses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		nested bool
		loops  int
		cut    float64 // seconds of the last evaluation that the watch does not see
	}{{"between epochs", false, 1, 0}, {"in the middle", true, 1, 0}, {"two in a row", true, 2, 0},
		{"the last not to its end", true, 1, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			l := trainAndHold(t, 0)
			l.loader(2, 96, 0, "dataset", "train.Test")
			training, evaluation := moment{run: 0.25, asleep: 0.75, gpu: -1}, moment{run: 0.75, asleep: 0.25, gpu: -1}
			l.samples = training
			evaluate := func(cut float64) func() {
				return func() {
					l.samples = evaluation
					for n := range tt.loops {
						l.begin(1+n, 0, 0)
						for range int((2-cut)/0.1/float64(tt.loops) + 0.5) {
							l.step(1+n, false, 0.025, 0.075)
						}
						if cut == 0 {
							l.end(1+n, 0)
						}
					}
					l.samples = training
				}
			}
			l.begin(0, 0, 0)
			const times = 6
			for i := range times {
				cut := 0.0
				if i == times-1 {
					cut = tt.cut
				}
				l.plain(0, 3.95, 0.01, 0.04)
				if tt.nested {
					l.step(0, true, 0.01, 0.04, evaluate(cut))
					continue
				}
				l.step(0, true, 0.01, 0.04)
				l.end(0, 0)
				evaluate(cut)()
				l.begin(0, 0, 0)
			}
			h := l.evidence().Facts.Hook
			if h == nil {
				t.Fatal("nothing was told")
			}
			if part := (times*2 - tt.cut) / (times*6 - tt.cut); math.Abs(h.Evaluating.Time-part) > 0.01 ||
				math.Abs(h.Evaluating.CPU-part*0.75) > 0.02 || h.Evaluating.Delay != 0 {
				t.Errorf("evaluations take %+v, want %g of the time", h.Evaluating, part)
			}
			want := Pauses{}
			if tt.nested {
				want = Pauses{Every: 80, Length: 2, CPU: 1.5}
			}
			if p := h.Pauses; math.Abs(p.Every-want.Every) > 0.1*want.Every || math.Abs(p.Length-want.Length) > 0.02 ||
				math.Abs(p.CPU-want.CPU) > 0.1 {
				t.Errorf("pauses %+v, want %+v", p, want)
			}
		})
	}
}

// TestHookPausesWithWorkers: what the workers of an evaluation compute is of its pause as well.
func TestHookPausesWithWorkers(t *testing.T) {
	l := launch(t, recording.Header{})
	l.loader(0, 88, 2, "persistent_workers", "1")
	l.loader(1, 95, 2, "dataset", "train.Held")
	l.bear("100.1", 2, 50)
	l.samples = moment{run: 0.25, asleep: 0.75, gpu: -1}
	l.begin(0, 0, 0)
	for range 6 {
		l.plain(0, 3.95, 0.01, 0.04)
		l.step(0, true, 0.01, 0.04, func() {
			l.begin(1, 0, 2)
			for range 20 {
				l.make(1, 1)
				l.step(1, false, 0.025, 0.075)
			}
			l.end(1, 0)
		})
	}
	p := l.evidence().Facts.Hook.Pauses
	if want := (Pauses{Every: 80, Length: 2, CPU: 2*0.25 + 20*0.050}); math.Abs(p.Every-want.Every) > 2 ||
		math.Abs(p.Length-want.Length) > 0.02 || math.Abs(p.CPU-want.CPU) > 0.1 {
		t.Errorf("pauses %+v, want %+v", p, want)
	}
}

// TestRateInParts tells two rates apart by readings that hold some of both, and abstains where each holds as much of
// both.
func TestRateInParts(t *testing.T) {
	windows, parts := []span{{0, 30}}, []span{{3.3, 5.1}, {13.3, 15.1}, {23.3, 25.1}}
	read := func(every float64, parts []span) *track {
		out := &track{entity: "process/1.1"}
		for at := 0.0; at <= 30; at += every {
			inside := (span{0, at}).within(parts)
			out.at, out.v = append(out.at, at), append(out.v, 0.9*inside+0.2*(at-inside))
		}
		return out
	}
	for _, every := range []float64{0.1, 0.5, 2, 3} {
		if got, ok := read(every, parts).rateIn(windows, parts); !ok || math.Abs(got-0.9) > 1e-9 {
			t.Errorf("read every %g s: %g %v, want 0.9", every, got, ok)
		}
	}
	if got, ok := read(10, parts).rateIn(windows, parts); ok {
		t.Errorf("readings as far apart as the parts tell %g", got)
	}
	if got, ok := (*track)(nil).rateIn(windows, parts); ok {
		t.Errorf("no readings tell %g", got)
	}
	if got, ok := read(0.5, parts).rateIn(windows, nil); ok {
		t.Errorf("no parts tell %g", got)
	}
}
