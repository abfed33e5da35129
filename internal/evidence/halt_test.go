package evidence

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// stopped is a watch of 20 s over a trainer and a worker, sampled 50 times a second, of which some are found stopped
// for a while.
func stopped(t *testing.T, from, to time.Duration, who ...string) *Evidence {
	t.Helper()
	rec := must.Get(recording.NewRecorder(recording.Header{Interval: 200 * time.Millisecond,
		SampleInterval: 20 * time.Millisecond}, nil))(t)
	const trainer, worker = "process/100.1", "process/101.1"
	rec.Event(recording.EventProcess, trainer, map[string]string{"role": "trainer", "pid": "100", "start_s": "1"})
	rec.Event(recording.EventProcess, worker, map[string]string{"role": "worker", "pid": "101", "start_s": "1",
		"trainer": trainer})
	samples, lost := 0.0, map[string]float64{}
	const length = 20 * time.Second
	for at := time.Duration(0); at <= length; at += 200 * time.Millisecond {
		rec.Tick(at)
		for _, entity := range []string{trainer, worker} {
			rec.Add(metric.ThreadSamples, entity, samples)
			rec.Add(metric.ThreadStopped, entity, lost[entity])
			rec.Add(metric.ThreadSleep, entity, samples-lost[entity])
			if at >= from && at < to && slices.Contains(who, entity) {
				lost[entity] += 10
			}
		}
		samples += 10
	}
	seen := must.Get(rec.Finish(recording.End{At: length, Reason: "duration"}))(t)
	e := must.Get(FromRecording(seen))(t)
	return e
}

func TestHaltsAreToldAndLeftOut(t *testing.T) {
	const trainer, worker = "process/100.1", "process/101.1"
	for name, c := range map[string]struct {
		from, to time.Duration
		who      []string
		says     string
		halted   time.Duration
		clean    float64 // seconds of the windows
		share    float64 // of the trainer's samples
	}{
		"nobody": {0, 0, nil, "", 0, 20, 0},
		"a worker for a while": {5 * time.Second, 9 * time.Second, []string{worker},
			"loader worker 101 was stopped or frozen from 4.5 s to 9.0 s", 4500 * time.Millisecond, 15.5, 0},
		"all to the end": {15 * time.Second, 30 * time.Second, []string{trainer, worker},
			"the job has been stopped or frozen since 14.5 s", 5500 * time.Millisecond, 14.5, 0.25},
		"shorter than a second": {5 * time.Second, 5800 * time.Millisecond, []string{trainer}, "", 0, 20, 0.04},
	} {
		t.Run(name, func(t *testing.T) {
			e := stopped(t, c.from, c.to, c.who...)
			if said := strings.Join(e.Warnings, "\n"); !strings.Contains(said, c.says) || c.says == "" &&
				strings.Contains(said, "stopped") {
				t.Errorf("warnings:\n%s", said)
			}
			if d := e.Window.Halted - c.halted; d < -time.Millisecond || d > time.Millisecond {
				t.Errorf("halted for %s, want %s", e.Window.Halted, c.halted)
			}
			if v, ok := e.Get(metric.WindowTime); !ok || v.Center < c.clean-0.01 || v.Center > c.clean+0.01 {
				t.Errorf("%.2f s are left (%t), want %.2f", v.Center, ok, c.clean)
			}
			if v, ok := e.Get(metric.TrainerStopped); !ok || v.Center < c.share-0.01 || v.Center > c.share+0.01 {
				t.Errorf("the trainer was stopped in %.3f of the samples (%t), want %.3f", v.Center, ok, c.share)
			}
		})
	}
}
