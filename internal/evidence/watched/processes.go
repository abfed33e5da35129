package watched

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// Process is one process of the job.
type Process struct {
	recording.Process
	Entity      string
	Born, Died  float64 // seconds since the recording's start; born may be below 0, died is +Inf while alive
	BornInWatch bool
	Thread      bool // of a trainer
	loader      int  // of a trainer's DataLoaders, the one that a worker is of, or that a trainer's figures are of
	inTurns     bool // its set stands in the row of those of another loader
}

// processes is who takes part: trainers in order of rank, workers in order of birth, and everybody by entity.
type processes struct {
	Trainers []*Process
	Workers  []*Process
	Feeders  []*Process // who may feed a trainer and is no DataLoader worker
	All      map[string]*Process
}

// slackBirth is what a birth may seem later than the first sight of the process, by the 10 ms steps of the kernel's
// start times.
const slackBirth = 0.05

// readProcesses learns from the events who took part.
func readProcesses(rec *recording.Recording) processes {
	c := processes{All: map[string]*Process{}}
	started := rec.Header.StartMonotonic.Seconds()
	first := map[string]float64{}
	parents := map[int]bool{} // process numbers of those that started a trainer
	skew := 0.0
	for _, e := range rec.Events {
		at := e.At.Seconds()
		switch e.Kind {
		case recording.EventProcess:
			var now recording.Process
			e.Into(&now)
			a := c.All[e.Entity]
			if a == nil {
				a = &Process{Entity: e.Entity, Born: at, Died: math.Inf(1)}
				c.All[e.Entity], first[e.Entity] = a, at
				if now.Start > 0 && now.Start < 1e12 && started > 0 {
					a.Born = now.Start - started
					// Start times count from boot through suspensions, the monotonic clock does not: nobody is born
					// after first seen.
					if late := a.Born - at; late > slackBirth {
						skew = max(skew, late)
					}
				}
			}
			if a.Role == "launcher" && now.Role == "trainer" && parents[now.PID] {
				continue // its ranks have ended, and what is left of the job looks like one
			}
			e.Into(&a.Process)
			if a.Role == "trainer" {
				parents[now.Parent] = true
			}
		case recording.EventThread:
			if c.All[e.Entity] == nil {
				a := &Process{Entity: e.Entity, Thread: true, Born: at, Died: math.Inf(1)}
				c.All[e.Entity], first[e.Entity], a.Role = a, at, "feeder"
				e.Into(&a.Process)
			}
		case recording.EventWorkerOf:
			if a := c.All[e.Entity]; a != nil {
				a.loader = max(number(e.Attrs["loader"]), 0)
			}
		case recording.EventExit:
			if a := c.All[e.Entity]; a != nil && at < a.Died {
				a.Died = at
			}
		}
	}
	for _, entity := range rec.Header.Job.Trainers {
		if c.All[entity] == nil && entity != "" {
			a := &Process{Entity: entity, Born: math.Inf(-1), Died: math.Inf(1)}
			c.All[entity], first[entity], a.Role = a, 0, "trainer"
		}
	}
	for entity, a := range c.All {
		a.Born = min(a.Born-skew, first[entity])
		a.BornInWatch = a.Born > 0 && first[entity] > 0 && !a.Thread // which may be as old as its trainer
		switch a.Role {
		case "trainer":
			a.Accelerator = cmp.Or(a.Accelerator, rec.Header.Job.Accelerator)
			c.Trainers = append(c.Trainers, a)
		case "worker":
			c.Workers = append(c.Workers, a)
		case "feeder":
			c.Feeders = append(c.Feeders, a)
		}
	}
	slices.SortFunc(c.Trainers, func(a, b *Process) int {
		return cmp.Or(cmp.Compare(number(a.Rank), number(b.Rank)), strings.Compare(a.Entity, b.Entity))
	})
	for _, workerSet := range [][]*Process{c.Workers, c.Feeders} {
		slices.SortFunc(workerSet, func(a, b *Process) int {
			return cmp.Or(cmp.Compare(a.Born, b.Born), strings.Compare(a.Entity, b.Entity))
		})
	}
	for _, w := range c.Workers {
		if w.Trainer == "" && len(c.Trainers) == 1 {
			w.Trainer = c.Trainers[0].Entity
		}
	}
	return c
}

// number reads a rank; what has none comes last.
func number(rank string) int {
	if n, err := strconv.Atoi(rank); err == nil && n >= 0 {
		return n
	}
	return math.MaxInt
}

// Of returns the workers of one trainer, in order of birth: those of the loader that its figures are of.
func (c processes) Of(trainer *Process) []*Process { return c.ofLoader(trainer, trainer.loader) }

// OfAll returns the workers of all of a trainer's loaders, in order of birth.
func (c processes) OfAll(trainer *Process) []*Process {
	return slices.DeleteFunc(slices.Clone(c.Workers), func(w *Process) bool { return w.Trainer != trainer.Entity })
}

func (c processes) ofLoader(trainer *Process, number int) []*Process {
	return slices.DeleteFunc(c.OfAll(trainer), func(w *Process) bool { return w.loader != number })
}

// Loader returns the entity under which a trainer and the loader that its figures are of are sampled together.
func (a *Process) Loader() string { return a.loaderEntity(a.loader) }

// Pin returns the entity of a trainer's pinning thread.
func (a *Process) Pin() string { return "pin/" + strings.TrimPrefix(a.Entity, "process/") }

// Taker is a thread of the job's own that takes batches for the main thread.
func (a *Process) Taker() string { return "taker/" + strings.TrimPrefix(a.Entity, "process/") }

// beginAtBirth lets the counters of processes born in the watch begin at zero, so that their first part counts too.
func (f *Watch) beginAtBirth() {
	for _, d := range metric.Raw() {
		if d.Kind != metric.Counter || d.Name == metric.HookClock.Name { // a clock begins nowhere
			continue
		}
		for _, t := range f.Tracks(d) {
			if a := f.Processes.All[t.Entity]; a != nil && a.BornInWatch {
				t.Begin(a.Born)
			}
		}
	}
}

// OtherTrainings is what is left out of a watch in which trainers ran one after the other, as a script runs one
// training and then the next: they are no ranks of one job, and figures of all of them together are of none.
type OtherTrainings struct {
	Life          Span // of the trainers that are left, within the watch
	Before, After int  // trainers that ended before these, and that began after them
}

// keepLongestTraining keeps the trainers of the longest training. Those that overlap are one training.
func (f *Watch) keepLongestTraining(end float64) OtherTrainings {
	c := &f.Processes
	type training struct {
		life     Span
		trainers []*Process
	}
	lives := stat.Each(len(c.Trainers), func(i int) training {
		return training{f.lifeOf(c.Trainers[i], end), c.Trainers[i : i+1]}
	})
	slices.SortStableFunc(lives, func(x, y training) int { return cmp.Compare(x.life.From, y.life.From) })
	var all []training
	longest := 0
	for _, one := range lives {
		n := len(all) - 1
		if n >= 0 && one.life.Overlap(all[n].life) > min(LateNotice, one.life.Length()/2, all[n].life.Length()/2) {
			all[n].trainers = slices.Concat(all[n].trainers, one.trainers)
			all[n].life.To = max(all[n].life.To, one.life.To)
		} else {
			all = append(all, one)
		}
	}
	if len(all) < 2 {
		return OtherTrainings{Life: Span{0, end}}
	}
	for i, x := range all {
		if x.life.Length() > all[longest].life.Length() {
			longest = i
		}
	}
	out := OtherTrainings{Life: all[longest].life}
	for i, x := range all {
		if i < longest {
			out.Before += len(x.trainers)
		} else if i > longest {
			out.After += len(x.trainers)
		}
	}
	c.Trainers = slices.DeleteFunc(slices.Clone(c.Trainers), func(a *Process) bool {
		return !slices.Contains(all[longest].trainers, a)
	})
	return out
}

// lifeOf is from when to when a trainer trained within the watch: from the first batch that the hook reported, else
// from when it was first sampled. One that was never sampled may have trained all the time.
func (f *Watch) lifeOf(a *Process, end float64) Span {
	samples := f.Track(metric.ThreadSamples, a.Entity)
	if samples == nil {
		return Span{0, end}
	}
	from, to := samples.At[0], min(samples.Last(), a.Died, end)
	if clock := f.Track(metric.HookClock, a.Entity); clock != nil {
		from = max(from, clock.At[0])
	}
	return Span{max(from, 0), max(to, from, 0)}
}
