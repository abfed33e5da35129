package evidence

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// moment is the true state of a simulated job over one tick. Shares are of the tick's samples.
type moment struct {
	// the trainer's main thread: for a batch, on a CPU, in nanosleep, in locks; for the rest it waits for a child
	wait, run, asleep, locked float64
	others                    float64 // CPUs of its other threads
	idle, work, disk          float64 // each worker: for work, on a CPU, for storage; the rest is "other"
	delay, inLock             float64 // each worker: ready without a CPU, in a lock of its own
	beside                    float64 // CPU time of each worker's other threads, in CPUs
	gil                       float64 // share of the time in which the main thread waits for Python's global lock
	lost                      float64 // share of the time in which who takes its batches is not followed
	head, ahead               float64 // paired samples
	batches                   float64 // per second
	queued                    float64 // tensors
	gpu                       float64 // utilization; below 0 is not read
	trainerReads              float64 // bytes per second
	programs                  float64 // CPUs that the programs a worker runs use, while it sleeps for them
	workerReads               float64 // bytes per second and worker
	workerFetches             float64 // bytes per second and worker, from storage
	rss                       float64 // bytes, each worker
}

// simulation writes what the samplers would have recorded of a job in a given state. Counters need not be whole here,
// so that figures come out exactly.
type simulation struct {
	t       *testing.T
	r       *recording.Recorder
	tick    float64
	samples float64 // per tick
	tensors float64 // per batch
	at      float64
	sums    map[string]float64
	workers map[string][]string // living workers by trainer's id
	pins    bool
	takes   string // who takes the batches: "main", "taker", which was found, or "somebody"; "": nothing tells
	births  int
	writes  string                // whose main thread's writes are counted
	written float64               // bytes per second it writes
	remote  func(samples float64) // counts waits on connections, of a tick
}

// startTicks of simulated processes are hundredths of a second since boot; the watch starts at 1000 s.
const bootSeconds = 1000

func simulate(t *testing.T, header recording.Header) *simulation {
	t.Helper()
	header.StartMonotonic = bootSeconds * time.Second
	header.Interval, header.SampleInterval = 100*time.Millisecond, 20*time.Millisecond
	r := must.Get(recording.NewRecorder(header, nil))(t)
	return &simulation{t: t, r: r, tick: 0.1, samples: 5, tensors: 2, sums: map[string]float64{},
		workers: map[string][]string{}}
}

// withWorkers simulates a trainer with workers that were there before the watch.
func withWorkers(t *testing.T, workers int, header recording.Header) *simulation {
	t.Helper()
	s := simulate(t, header)
	s.trainer("100.1")
	s.bear("100.1", workers, 50)
	return s
}

// twoWorkers simulates one with two.
func twoWorkers(t *testing.T, header recording.Header) *simulation {
	t.Helper()
	return withWorkers(t, 2, header)
}

// trainer adds a trainer that was there before the watch.
func (s *simulation) trainer(id string, attrs ...string) {
	s.r.Event(recording.EventProcess, "process/"+id, s.attrs(id, bootSeconds-60, append([]string{"role", "trainer"},
		attrs...)))
	s.workers[id] = nil
	s.r.Add(metric.LoaderWorkers, "loader/"+id, 0)
}

// bear adds workers of a trainer, born so many seconds ago.
func (s *simulation) bear(trainer string, n int, ago float64, attrs ...string) (ids []string) {
	for range n {
		s.births++
		id := fmt.Sprintf("%d.%d", 2000+s.births, s.births)
		attrs := append([]string{"role", "worker", "trainer", "process/" + trainer, "start_method", "fork"}, attrs...)
		s.r.Event(recording.EventProcess, "process/"+id, s.attrs(id, bootSeconds+s.at-ago, attrs))
		s.workers[trainer] = append(s.workers[trainer], id)
		ids = append(ids, id)
	}
	return ids
}

// bury ends all workers of a trainer.
func (s *simulation) bury(trainer string) {
	for _, id := range s.workers[trainer] {
		s.r.Event(recording.EventExit, "process/"+id, nil)
	}
	s.workers[trainer] = nil
}

// gap stops pipetune for so many seconds.
func (s *simulation) gap(seconds float64) {
	s.at += seconds
	s.r.Tick(time.Duration(s.at * 1e9))
	s.r.Event(recording.EventGap, "", map[string]string{"lasted_s": strconv.FormatFloat(seconds, 'f', -1, 64)})
}

func (s *simulation) attrs(id string, start float64, pairs []string) map[string]string {
	pid, _, _ := strings.Cut(id, ".")
	a := map[string]string{"pid": pid, "start_s": strconv.FormatFloat(start, 'f', 2, 64)}
	for i := 0; i+1 < len(pairs); i += 2 {
		a[pairs[i]] = pairs[i+1]
	}
	return a
}

// count lets a counter grow and records it.
func (s *simulation) count(d metric.Desc, entity string, by float64) {
	key := d.Name + " " + entity
	s.sums[key] += by
	s.r.Add(d, entity, s.sums[key])
}

// run lets the job be in a state for so many seconds. The first reading is taken at the start of it.
func (s *simulation) run(seconds float64, m moment, trainers ...string) {
	for n := int(seconds/s.tick + 0.5); n > 0; n-- {
		if s.at == 0 {
			s.r.Tick(0)
			s.step(0, m, trainers)
		}
		s.at += s.tick
		s.r.Tick(time.Duration(s.at*1e9 + 0.5))
		s.step(1, m, trainers)
	}
}

// step records one tick; part 0 records the counters as they are.
func (s *simulation) step(part float64, m moment, trainers []string) {
	if len(trainers) == 0 {
		trainers = []string{"100.1"}
	}
	dt := s.tick * part
	samples := s.samples * part
	cpu := 0.0
	for _, id := range trainers {
		workerSet := s.workers[id]
		process, loader := "process/"+id, "loader/"+id
		waitedIn := metric.ThreadQueuePoll
		if s.pins {
			waitedIn = metric.ThreadFutexTimed
			s.count(metric.ThreadSamples, "pin/"+id, samples)
			s.count(metric.ThreadQueuePoll, "pin/"+id, samples*m.wait)
			s.count(metric.ThreadRunning, "pin/"+id, samples*m.gil) // which it holds
		}
		// Part of the wait is taking batches: the samples see the main thread run meanwhile.
		taking := 0.0
		if len(workerSet) > 0 && !s.pins && s.takes != "taker" {
			taking = min(m.batches*(receiveBatch+receiveTensor*s.tensors), m.wait)
		}
		s.count(metric.ThreadSamples, process, samples)
		s.count(waitedIn, process, samples*(m.wait-taking))
		s.count(metric.ThreadRunning, process, samples*(m.run+taking))
		s.count(metric.ThreadSleep, process, samples*m.asleep)
		s.count(metric.ThreadGIL, process, samples*m.gil)
		s.count(metric.ThreadHostRunning, process, samples*(m.run+taking+m.gil))
		s.takeBatches(id, dt, samples, m)
		s.count(metric.ThreadStopped, process, 0)
		s.count(metric.ThreadWaitChild, process, samples*(1-m.wait-m.run-m.asleep-m.locked-m.gil))
		s.count(metric.ProcCPU, process, dt*(m.run+m.others))
		s.count(metric.ProcMainCPU, process, dt*m.run)
		s.count(metric.ProcReadChars, process, dt*m.trainerReads)
		cpu += m.run + m.others
		alive := float64(len(workerSet))
		s.r.Add(metric.LoaderWorkers, loader, alive)
		joint, none := samples, 0.0
		if alive == 0 {
			joint, none = 0, samples
		}
		if s.births > 0 {
			s.count(metric.LoaderSamples, loader, joint)
			s.count(metric.LoaderNoWorkers, loader, none)
			s.count(metric.LoaderWaiting, loader, joint*(m.wait-taking))
			s.count(metric.LoaderAliveSum, loader, joint*alive)
			s.count(metric.LoaderIdleSum, loader, joint*alive*m.idle)
			s.count(metric.LoaderWaitAlive, loader, joint*alive*m.wait)
			s.count(metric.LoaderWaitIdle, loader, joint*alive*m.wait*m.idle)
			s.count(metric.LoaderBlocked, loader, joint*m.head)
			s.count(metric.LoaderAhead, loader, joint*m.ahead)
			s.count(metric.LoaderTensors, loader, dt*m.batches*s.tensors)
			s.r.Add(metric.LoaderTensorsPer, loader, s.tensors)
			s.r.Add(metric.LoaderQueued, loader, m.queued)
			s.r.Add(metric.LoaderBatchBytes, loader, 1<<20)
		}
		for _, w := range workerSet {
			s.worker("process/"+w, dt, samples, m)
			cpu += m.work + m.beside + m.programs
		}
	}
	s.count(metric.CPUBusy, "host", dt*(cpu+0.5)) // half a core for somebody else
	s.count(metric.CPUIdle, "host", dt*max(8-cpu-0.5, 0))
	s.count(metric.CPUIowait, "host", 0)
	s.count(metric.CPUSteal, "host", 0)
	s.r.Add(metric.CPUUsable, "host", 8)
	s.r.Add(metric.CPUPresent, "host", 8)
	if s.writes != "" {
		s.count(metric.ProcMainWriteChars, s.writes, dt*s.written)
	}
	if s.remote != nil {
		s.remote(samples)
	}
	if m.gpu >= 0 {
		s.r.Add(metric.GPUUtil, "gpu/A", m.gpu)
		s.r.Add(metric.GPUJobMemory, "gpu/A", 1<<30)
	}
}

// takeBatches records who takes the batches, and the locks that the main thread waits in.
func (s *simulation) takeBatches(id string, dt, samples float64, m moment) {
	process, read, locked := "process/"+id, 0.0, m.locked
	switch s.takes {
	case "main":
		read = 500 * m.batches
	case "taker": // the wait for a batch is one in a lock, too
		locked += m.wait
		s.count(metric.ThreadSamples, "taker/"+id, samples*(1-m.lost))
		s.count(metric.LoaderWaiting, "loader/"+id, -samples*m.lost*m.wait)
		s.count(metric.ThreadQueuePoll, process, -samples*m.wait)
	}
	if s.takes != "" {
		s.count(metric.ProcMainReadChars, process, dt*read)
	}
	s.count(metric.ThreadFutex, process, samples*locked)
}

func (s *simulation) worker(entity string, dt, samples float64, m moment) {
	s.count(metric.ThreadSamples, entity, samples)
	s.count(metric.ThreadQueuePoll, entity, samples*m.idle)
	s.count(metric.ThreadRunning, entity, samples*(m.work+m.delay))
	s.count(metric.ThreadFutex, entity, samples*m.inLock)
	s.count(metric.ThreadDisk, entity, samples*m.disk)
	s.count(metric.ThreadOther, entity, samples*(1-m.idle-m.work-m.disk-m.delay-m.inLock))
	s.count(metric.ProcCPU, entity, dt*(m.work+m.beside))
	s.count(metric.ProcMainCPU, entity, dt*m.work)
	s.count(metric.ProcRunDelay, entity, dt*m.delay)
	s.count(metric.ProcEndedCPU, entity, dt*m.programs)
	s.count(metric.ProcReadChars, entity, dt*m.workerReads)
	s.count(metric.ProcReadCalls, entity, dt*m.workerReads/65536)
	s.count(metric.ProcReadBytes, entity, dt*m.workerFetches)
	s.r.Add(metric.ProcRSS, entity, m.rss)
	s.r.Add(metric.ProcShared, entity, m.rss/4)
	s.r.Add(metric.ProcThreads, entity, 3)
}

// recording ends the watch.
func (s *simulation) recording(reason string) *recording.Recording {
	return must.Get(s.r.Finish(recording.End{At: time.Duration(s.at*1e9 + 0.5), Reason: reason}))(s.t)
}

// edit changes the readings of a signal.
func edit(rec *recording.Recording, of metric.Desc, change func([]recording.Point) []recording.Point) {
	for i := range rec.Series {
		if rec.Series[i].Metric == of.Name {
			rec.Series[i].Points = change(rec.Series[i].Points)
		}
	}
}

// withoutTensors ends the watch of batches that pass no shared memory.
func (s *simulation) withoutTensors() *recording.Recording {
	rec := s.recording("duration")
	for _, d := range []metric.Desc{metric.LoaderTensors, metric.LoaderTensorsPer} {
		edit(rec, d, func([]recording.Point) []recording.Point { return nil })
	}
	return rec
}

// evidence ends the watch and derives.
func (s *simulation) evidence() *Evidence { return s.derive(s.recording("duration")) }

func (s *simulation) derive(rec *recording.Recording) *Evidence {
	return must.Get(FromRecording(rec))(s.t)
}
