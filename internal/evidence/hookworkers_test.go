package evidence

import (
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// TestHookCrew lets training's workers compute 80 % of the time and an evaluation's two persistent ones wait for work,
// but for a tenth of the watch in which they compute and training's wait: shares, costs and memory are of training's,
// once the hook reports whose workers they are.
func TestHookCrew(t *testing.T) {
	for _, reported := range []bool{true, false} {
		l := launch(t, recording.Header{})
		l.loader(0, 88, 2, "persistent_workers", "1")
		l.loader(1, 95, 2, "persistent_workers", "1", "dataset", "train.Held")
		train := l.bear("100.1", 2, 50)
		held := l.bear("100.1", 2, 50)
		if reported {
			for n, workers := range [][]string{train, held} {
				for _, w := range workers {
					l.r.Event(recording.EventHook, "process/"+w, map[string]string{"state": "worker",
						"loop": l.loop(n)})
				}
			}
		}
		// The simulation moves one worker set; the others stand by beside it.
		l.workers["100.1"] = train
		work, rest := moment{wait: 0.2, asleep: 0.8, idle: 0.2, work: 0.8, rss: 500 << 20, gpu: -1},
			moment{idle: 1, rss: 100 << 20}
		l.samples = work
		others := rest
		aside := held
		l.also = func() {
			for _, w := range aside {
				l.worker("process/"+w, l.tick, l.simulation.samples, others)
			}
		}
		l.begin(0, 0, 0)
		for range 9 {
			l.plain(0, 2.65, 0.01, 0.04)
			l.step(0, true, 0.01, 0.04, func() {
				l.workers["100.1"], aside, l.samples, others = held, train, moment{wait: 0.25, asleep: 0.75, work: 1,
					rss: 100 << 20, gpu: -1}, moment{idle: 1, rss: 500 << 20}
				l.begin(1, 0, 0)
				for range 3 {
					l.step(1, false, 0.025, 0.075)
				}
				l.end(1, 0)
				l.workers["100.1"], aside, l.samples, others = train, held, work, rest
			})
		}
		e := l.evidence()
		if got, ok := e.Get(metric.NumWorkers); !ok || got.Center != 2 {
			t.Errorf("told %v: %v workers", reported, got.Center)
		}
		busy, _ := e.Get(metric.WorkerBusy)
		private, _ := e.Get(metric.WorkerRSS)
		_, joint := e.Get(metric.IdleWhileWaits)
		_, blocked := e.Get(metric.HeadOfLine)
		if good := busy.Center > 0.68 && busy.Center < 0.76 && private.Center == 500<<20 && !joint &&
			!blocked; good != reported {
			t.Errorf("told %v: workers are busy %.2f of the time, with %g bytes; paired samples %v %v", reported,
				busy.Center, private.Center, joint, blocked)
		}
	}
}
