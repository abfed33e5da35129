package evidence

import (
	"math"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// second is another DataLoader of a simulated trainer, with workers that are as idle all the time, or in its turns. It
// hands over so many batches a second, which are known from a tick on, and the trainer waits for it for a part of that
// time.
type second struct {
	idle, batches, waits float64
	counted              int
	inTurns              bool // 5 s of it, and 5 s of the first
}

// beside simulates a trainer that goes over a loader of two workers, and over another one of three.
func beside(t *testing.T, first moment, other second) *Evidence {
	s := withWorkers(t, 2, recording.Header{})
	own := s.workers["100.1"]
	others := s.bear("100.1", 3, 20)
	for _, w := range others {
		s.r.Event(recording.EventWorkerOf, "process/"+w, map[string]string{"loader": "1"})
	}
	const loader = "loader/100.1.1"
	handed := 0.0
	for i := range 300 {
		s.workers["100.1"] = own
		first, other := first, other
		switch {
		case other.inTurns && i/50%2 == 0:
			other.idle, other.waits, other.batches = 1, 0, 0
		case other.inTurns:
			first = moment{idle: 1, wait: other.waits, run: 1 - other.waits, gpu: -1}
		}
		s.run(0.1, first)
		s.count(metric.LoaderBatches, "loader/100.1", s.tick*first.batches)
		for _, w := range others {
			s.worker("process/"+w, s.tick, s.samples, moment{idle: other.idle, work: (1 - other.idle) / 3})
		}
		s.r.Add(metric.LoaderWorkers, loader, 3)
		s.count(metric.LoaderSamples, loader, s.samples)
		s.count(metric.LoaderWaiting, loader, s.samples*first.wait)
		s.count(metric.LoaderWaitsHere, loader, s.samples*other.waits)
		s.count(metric.LoaderAliveSum, loader, s.samples*3)
		s.count(metric.LoaderIdleSum, loader, s.samples*3*other.idle)
		if handed += s.tick * other.batches; i >= other.counted {
			s.r.Add(metric.LoaderTensors, loader, handed)
			s.r.Add(metric.LoaderBatches, loader, handed)
			s.r.Add(metric.LoaderTensorsPer, loader, 1)
		}
	}
	return s.evidence()
}

// TestLoaderThatIsNotInUse is as that of an evaluation, with persistent workers that wait for its turn.
func TestLoaderThatIsNotInUse(t *testing.T) {
	e := beside(t, inputBound, second{idle: 1})
	want(t, e, map[metric.Desc]float64{metric.NumWorkers: 2, metric.WorkerIdle: inputBound.idle, metric.Restarts: 0,
		metric.BatchesPerS: inputBound.batches})
	near(t, e, 0.1, map[metric.Desc]float64{metric.IdleWhileWaits: inputBound.idle})
	if o := e.Facts.OtherLoaders; o.N != 0 || o.LeastStep != 0 {
		t.Errorf("beside it: %+v", o)
	}
}

// TestLoaderThatLimitsTheOther: of two that are gone over in each step, figures are of the one whose workers work most;
// with that one for free, a step takes as long as the other's workers work for it.
func TestLoaderThatLimitsTheOther(t *testing.T) {
	first := inputBound
	e := beside(t, first, second{idle: 0.02, batches: first.batches})
	near(t, e, 0.01, map[metric.Desc]float64{metric.NumWorkers: 3, metric.WorkerIdle: 0.02,
		metric.BatchesPerS: first.batches})
	o := e.Facts.OtherLoaders
	if want := (1 - first.idle) / first.batches; o.N != 1 || math.Abs(o.LeastStep-want) > 0.01*want {
		t.Errorf("beside it: %+v, want a step of %v", o, want)
	}
	if math.Abs(o.CPUs-2*first.work) > 0.02 {
		t.Errorf("its workers use %v CPUs, want %v", o.CPUs, 2*first.work)
	}
}

// TestLoaderWhoseBatchesAreCountedLate is no evaluation's: what a starved loader hands over is often known late, and
// its first reading then has all of it.
func TestLoaderWhoseBatchesAreCountedLate(t *testing.T) {
	fast := inputBound
	fast.idle = 0.9
	for name, counted := range map[string]int{"late": 200, "never": 300} {
		e := beside(t, fast, second{batches: fast.batches, waits: fast.wait, counted: counted})
		near(t, e, 0.02, map[metric.Desc]float64{metric.NumWorkers: 3, metric.InputWait: fast.wait})
		if e.Facts.OtherLoaders.N != 1 {
			t.Errorf("%s: %+v", name, e.Facts.OtherLoaders)
		}
	}
}

// TestLoaderOfFewBatches works more, as that of an evaluation may on a job that waits for its device, and does not
// lead. What is waited for it is an evaluation's: figures of training are of the rest of the time.
func TestLoaderOfFewBatches(t *testing.T) {
	e := beside(t, inputBound, second{batches: 0.2 * inputBound.batches, waits: 0.2})
	near(t, e, 0.01, map[metric.Desc]float64{metric.NumWorkers: 2, metric.WorkerIdle: inputBound.idle,
		metric.BatchesPerS: inputBound.batches / 0.8, metric.InputWait: (inputBound.wait - 0.2) / 0.8})
}

// TestLoaderInTurns hands over as many batches as training does, or nobody knows how many: as its workers work when the
// others do not, it is an evaluation's.
func TestLoaderInTurns(t *testing.T) {
	for name, counted := range map[string]int{"as many": 0, "uncounted": 300} {
		other := second{idle: 0.2, waits: 0.5, batches: 0.9 * inputBound.batches, counted: counted, inTurns: true}
		e := beside(t, inputBound, other)
		near(t, e, 0.05, map[metric.Desc]float64{metric.NumWorkers: 2, metric.InputWait: inputBound.wait,
			metric.EvalWait: other.waits / 2, metric.Evaluation: 0.5})
		if e.Facts.OtherLoaders.N != 0 {
			t.Errorf("%s: %+v", name, e.Facts.OtherLoaders)
		}
	}
}

// TestHookFollowsTheTrainingLoopsLoader: of two loaders told apart, outside figures are of the one that the hook says
// is waited for, though the other's workers work more, and what a batch reads is of that one's batches.
func TestHookFollowsTheTrainingLoopsLoader(t *testing.T) {
	l := launch(t, recording.Header{})
	l.loader(0, 10, 1)
	l.loader(1, 16, 1)
	workers := l.bear("100.1", 2, 50)
	l.workers["100.1"] = workers[:1]
	l.samples = inputBound // its worker is idle for a tenth of the time
	for n, w := range workers {
		l.r.Event(recording.EventHook, "process/"+w, map[string]string{"state": "worker", "loop": l.loop(n)})
	}
	l.r.Event(recording.EventWorkerOf, "process/"+workers[1], map[string]string{"loader": "1"})
	const loader = "loader/100.1.1"
	l.also = func() {
		l.worker("process/"+workers[1], l.tick, l.simulation.samples,
			moment{idle: 0.3, work: 0.5, workerReads: 50 << 20})
		l.r.Add(metric.LoaderWorkers, loader, 1)
		l.count(metric.LoaderSamples, loader, l.simulation.samples)
		l.count(metric.LoaderAliveSum, loader, l.simulation.samples)
		l.count(metric.LoaderIdleSum, loader, 0.3*l.simulation.samples)
		l.count(metric.LoaderBatches, loader, 20*l.tick)
	}
	l.begin(0, 0, 1)
	l.begin(1, 0, 1)
	l.both(600, [2]float64{0.005, 0.025}, 0.02)
	e := l.evidence()
	near(t, e, 0.01, map[metric.Desc]float64{metric.NumWorkers: 1, metric.WorkerIdle: 0.3, metric.BatchesPerS: 20,
		metric.InputWait: 0.6, metric.ReadsPerBatch: 50 << 20 / 65536 / 20})
}

// TestEvaluationInTurns starts workers anew for training and for an evaluation, the first cut short by the watch's
// beginning and the last by its end: batches, waits and workers of the evaluation are not training's.
func TestEvaluationInTurns(t *testing.T) {
	evaluates := moment{wait: 0.9, run: 0.1, idle: 0.5, work: 0.1, batches: 5, gpu: -1}
	for name, sets := range map[string][]float64{ // how long each, seconds
		"begins and ends with training":   {4, 4, 8, 4, 8, 4, 4},
		"begins and ends with evaluation": {2, 8, 4, 8, 4, 8, 1},
		"one evaluation":                  {8, 4, 16},
	} {
		t.Run(name, func(t *testing.T) {
			s := withWorkers(t, 2, recording.Header{})
			evaluating := strings.HasSuffix(name, "with evaluation")
			trained, evaluated := 0.0, 0.0
			for i, seconds := range sets {
				if i > 0 {
					s.bury("100.1")
					s.bear("100.1", 2, 0)
				}
				m, of := inputBound, &trained
				if evaluating == (i%2 == 0) {
					m, of = evaluates, &evaluated
				}
				for range int(seconds / s.tick) {
					s.run(s.tick, m)
					s.count(metric.LoaderBatches, "loader/100.1", s.tick*m.batches)
					*of += s.tick
				}
			}
			e := s.evidence()
			all := trained + evaluated
			near(t, e, 0.01, map[metric.Desc]float64{metric.BatchesPerS: inputBound.batches, metric.NumWorkers: 2,
				metric.WorkerIdle: inputBound.idle, metric.InputWait: inputBound.wait})
			near(t, e, 0.08, map[metric.Desc]float64{metric.Evaluation: evaluated / all,
				metric.EvalWait: evaluates.wait * evaluated / all})
			if call := e.Facts.OtherLoaders.Evaluation; call == nil || *call.NumWorkers != 2 || *call.Persistent {
				t.Errorf("the evaluation's loader: %+v", call)
			}
		})
	}
}
