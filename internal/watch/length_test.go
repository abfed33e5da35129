package watch

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/pkg/report"
)

// firstSeconds is what a recording would be had it ended after so long, with the warm-up of such a watch.
func firstSeconds(rec *recording.Recording, length time.Duration) *recording.Recording {
	out := *rec
	out.Header.Warmup = DefaultWarmup(length)
	out.Series = nil
	for _, s := range rec.Series {
		s.Points = slices.DeleteFunc(slices.Clone(s.Points), func(p recording.Point) bool { return p.At > length })
		if len(s.Points) > 0 {
			out.Series = append(out.Series, s)
		}
	}
	out.Events = slices.DeleteFunc(slices.Clone(rec.Events), func(e recording.Event) bool { return e.At > length })
	if rec.End != nil {
		end := *rec.End
		end.At = length
		out.End = &end
	}
	return &out
}

// The shortest watch that is allowed leaves enough after its warm-up to be judged: of a job that trains steadily it
// does not say that it was too short.
func TestTheShortestWatchIsLongEnough(t *testing.T) {
	for _, name := range []string{"one-worker", "loader-keeps-up"} {
		file := must.Get(os.Open("../../testdata/recordings/" + name + ".jsonl"))(t)
		r, err := rules.Judge(firstSeconds(must.Get(recording.Read(file))(t), Least))
		must.Do(t, file.Close())
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict.Class == report.Inconclusive || r.Window.DurationS < LeastSteady.Seconds() {
			t.Errorf("%s: %s after a warm-up of %.2f s, %.2f s are left: %s", name, r.Verdict.Class, r.Window.WarmupS,
				r.Window.DurationS, r.Verdict.Statement)
		}
	}
}

func TestDefaultWarmup(t *testing.T) {
	for duration, want := range map[time.Duration]time.Duration{
		4 * time.Second: 0, 6 * time.Second: 500 * time.Millisecond, 12 * time.Second: 2 * time.Second,
		30 * time.Second: 5 * time.Second, time.Hour: 5 * time.Second} {
		if got := DefaultWarmup(duration); got != want {
			t.Errorf("%v: %v, want %v", duration, got, want)
		}
		if got := DefaultWarmup(duration); duration >= Least && duration-got < LeastSteady+edges {
			t.Errorf("%v: %v leaves %v", duration, got, duration-got)
		}
	}
}
