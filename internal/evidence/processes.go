package evidence

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

// process is one process of the job.
type process struct {
	told
	entity      string
	born, died  float64 // seconds since the recording's start; born may be below 0, died is +Inf while alive
	bornInWatch bool
	thread      bool // of a trainer
}

// told is what events say of a process; see recording.EventProcess. What a later one leaves out stays.
type told struct {
	Role        string  `json:"role"`
	Trainer     string  `json:"trainer"` // entity of a worker's trainer
	Rank        string  `json:"rank"`
	Method      string  `json:"start_method"`
	Comm        string  `json:"comm"`
	Accelerator string  `json:"accelerator"` // kind of device that it has open: cuda, rocm, dxg; "" none was seen
	PID         int     `json:"pid"`
	Parent      int     `json:"ppid"`
	Affinity    float64 `json:"affinity"` // cores; 0 = unknown
	Start       float64 `json:"start_s"`  // since boot
}

// processes is who takes part: trainers in order of rank, workers in order of birth, and everybody by entity.
type processes struct {
	trainers []*process
	workers  []*process
	feeders  []*process // who may feed a trainer and is no DataLoader worker
	all      map[string]*process
}

// slackBirth is what a birth may seem later than the first sight of the process, by the 10 ms steps of the kernel's
// start times.
const slackBirth = 0.05

// readProcesses learns from the events who took part.
func readProcesses(rec *recording.Recording) processes {
	c := processes{all: map[string]*process{}}
	started := rec.Header.StartMonotonic.Seconds()
	first := map[string]float64{}
	parents := map[int]bool{} // process numbers of those that started a trainer
	skew := 0.0
	for _, e := range rec.Events {
		at := e.At.Seconds()
		switch e.Kind {
		case recording.EventProcess:
			var now told
			e.Into(&now)
			a := c.all[e.Entity]
			if a == nil {
				a = &process{entity: e.Entity, born: at, died: math.Inf(1)}
				c.all[e.Entity], first[e.Entity] = a, at
				if now.Start > 0 && now.Start < 1e12 && started > 0 {
					a.born = now.Start - started
					// Start times count from boot through suspensions, the monotonic clock does not: nobody is born
					// after first seen.
					if late := a.born - at; late > slackBirth {
						skew = max(skew, late)
					}
				}
			}
			if a.Role == "launcher" && now.Role == "trainer" && parents[now.PID] {
				continue // its ranks have ended, and what is left of the job looks like one
			}
			e.Into(&a.told)
			if a.Role == "trainer" {
				parents[now.Parent] = true
			}
		case recording.EventThread:
			if c.all[e.Entity] == nil {
				a := &process{entity: e.Entity, told: told{Role: "feeder"}, thread: true, born: at, died: math.Inf(1)}
				c.all[e.Entity], first[e.Entity] = a, at
				e.Into(&a.told)
			}
		case recording.EventExit:
			if a := c.all[e.Entity]; a != nil && at < a.died {
				a.died = at
			}
		}
	}
	for _, entity := range rec.Header.Job.Trainers {
		if c.all[entity] == nil && entity != "" {
			c.all[entity], first[entity] = &process{entity: entity, told: told{Role: "trainer"}, born: math.Inf(-1),
				died: math.Inf(1)}, 0
		}
	}
	for entity, a := range c.all {
		a.born = min(a.born-skew, first[entity])
		a.bornInWatch = a.born > 0 && first[entity] > 0 && !a.thread // which may be as old as its trainer
		switch a.Role {
		case "trainer":
			a.Accelerator = cmp.Or(a.Accelerator, rec.Header.Job.Accelerator)
			c.trainers = append(c.trainers, a)
		case "worker":
			c.workers = append(c.workers, a)
		case "feeder":
			c.feeders = append(c.feeders, a)
		}
	}
	slices.SortFunc(c.trainers, func(a, b *process) int {
		return cmp.Or(cmp.Compare(number(a.Rank), number(b.Rank)), strings.Compare(a.entity, b.entity))
	})
	for _, workerSet := range [][]*process{c.workers, c.feeders} {
		slices.SortFunc(workerSet, func(a, b *process) int {
			return cmp.Or(cmp.Compare(a.born, b.born), strings.Compare(a.entity, b.entity))
		})
	}
	for _, w := range c.workers {
		if w.Trainer == "" && len(c.trainers) == 1 {
			w.Trainer = c.trainers[0].entity
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

// of returns the workers of one trainer, in order of birth.
func (c processes) of(trainer *process) []*process {
	return slices.DeleteFunc(slices.Clone(c.workers), func(w *process) bool { return w.Trainer != trainer.entity })
}

// loader returns the entity under which a trainer and its loader are sampled together.
func (a *process) loader() string { return "loader/" + strings.TrimPrefix(a.entity, "process/") }

// pin returns the entity of a trainer's pinning thread.
func (a *process) pin() string { return "pin/" + strings.TrimPrefix(a.entity, "process/") }

// taker is a thread of the job's own that takes batches for the main thread.
func (a *process) taker() string { return "taker/" + strings.TrimPrefix(a.entity, "process/") }

// beginAtBirth lets the counters of processes born in the watch begin at zero, so that their first part counts too.
func (f *frame) beginAtBirth() {
	for _, d := range metric.Raw() {
		if d.Kind != metric.Counter || d.Name == metric.HookClock.Name { // a clock begins nowhere
			continue
		}
		for _, t := range f.all(d) {
			if a := f.processes.all[t.entity]; a != nil && a.bornInWatch {
				t.begin(a.born)
			}
		}
	}
}

// otherTrainings is what is left out of a watch in which trainers ran one after the other, as a script runs one
// training and then the next: they are no ranks of one job, and figures of all of them together are of none.
type otherTrainings struct {
	life          span // of the trainers that are left, within the watch
	before, after int  // trainers that ended before these, and that began after them
}

// keepLongestTraining keeps the trainers of the longest training. Those that overlap are one training.
func (f *frame) keepLongestTraining(end float64) otherTrainings {
	c := &f.processes
	type training struct {
		life     span
		trainers []*process
	}
	lives := stat.Each(len(c.trainers), func(i int) training {
		return training{f.lifeOf(c.trainers[i], end), c.trainers[i : i+1]}
	})
	slices.SortStableFunc(lives, func(x, y training) int { return cmp.Compare(x.life.from, y.life.from) })
	var all []training
	longest := 0
	for _, one := range lives {
		n := len(all) - 1
		if n >= 0 && one.life.overlap(all[n].life) > min(lateNotice, one.life.length()/2, all[n].life.length()/2) {
			all[n].trainers = slices.Concat(all[n].trainers, one.trainers)
			all[n].life.to = max(all[n].life.to, one.life.to)
		} else {
			all = append(all, one)
		}
	}
	if len(all) < 2 {
		return otherTrainings{life: span{0, end}}
	}
	for i, x := range all {
		if x.life.length() > all[longest].life.length() {
			longest = i
		}
	}
	out := otherTrainings{life: all[longest].life}
	for i, x := range all {
		if i < longest {
			out.before += len(x.trainers)
		} else if i > longest {
			out.after += len(x.trainers)
		}
	}
	c.trainers = slices.DeleteFunc(slices.Clone(c.trainers), func(a *process) bool {
		return !slices.Contains(all[longest].trainers, a)
	})
	return out
}

// lifeOf is from when to when a trainer trained within the watch: from the first batch that the hook reported, else
// from when it was first sampled. One that was never sampled may have trained all the time.
func (f *frame) lifeOf(a *process, end float64) span {
	samples := f.of(metric.ThreadSamples, a.entity)
	if samples == nil {
		return span{0, end}
	}
	from, to := samples.at[0], min(samples.last(), a.died, end)
	if clock := f.of(metric.HookClock, a.entity); clock != nil {
		from = max(from, clock.at[0])
	}
	return span{max(from, 0), max(to, from, 0)}
}
