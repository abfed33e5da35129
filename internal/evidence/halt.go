package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// halt is a stretch in which the job could not go on, because the trainer or a loader worker was stopped by a signal or frozen with its
// cgroup. Nothing that happens meanwhile tells of the job's pace: a trainer waits for the batch of a stopped worker as it would for a slow one.
type halt struct {
	span
	who  string
	open bool   // it lasted to the end of the watch
	why  string // of a standstill: what the workers do meanwhile
}

const (
	// leastHalt is the shortest stretch that is left out, in seconds: a debugger's touch of a tenth is not, and stays in the share of looks.
	leastHalt = 1.0
	// stopNotice is how late a stop is noticed at the most, in seconds: the state is read with every 25th look at a thread that sleeps, and some
	// 50 looks are taken a second.
	stopNotice = 0.5
	// haltSteps is the share of a step between two readings from which on the whole step counts.
	haltSteps = 0.5
	// oneHalt joins halts of different processes, in seconds: those of one freeze are noticed one after the other.
	oneHalt = 2 * stopNotice
)

// readHalts returns the halts of the trainers and their workers in order of time, those that overlap as one.
func readHalts(rec *recording.Recording, h history, c cast, end float64) []halt {
	var all []halt
	for _, a := range slices.Concat(c.trainers, c.workers) {
		who := "the job"
		if a.role == "worker" {
			who = fmt.Sprintf("loader worker %d", a.pid)
		}
		for _, s := range haltsOf(h.of(metric.LooksStopped, a.entity)) {
			s = span{max(s.from-stopNotice, 0), s.to}
			// Readings are up to a second apart at the slowest pace.
			open := rec.End != nil && s.to >= min(h.of(metric.LooksStopped, a.entity).last(), end)-1
			if open {
				s.to = max(s.to, end)
			}
			all = append(all, halt{span: s, who: who, open: open})
		}
	}
	slices.SortStableFunc(all, func(a, b halt) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	merged := make([]halt, 0, len(all))
	for _, x := range all {
		n := len(merged) - 1
		if n < 0 || x.from > merged[n].to+oneHalt {
			merged = append(merged, x)
			continue
		}
		m := &merged[n]
		m.to, m.open = max(m.to, x.to), m.open || x.open
		switch {
		case m.who == x.who || m.who == "the job" || strings.Contains(m.who, x.who):
		case x.who == "the job":
			m.who = x.who
		case strings.Count(m.who, ",") < 3:
			m.who += ", " + x.who
		}
	}
	return merged
}

// haltsOf returns the stretches in which a counter of seconds spent stopped kept pace with the clock.
func haltsOf(stopped *track) (out []span) {
	if stopped == nil {
		return nil
	}
	for i := 1; i < len(stopped.at); i++ {
		step := span{stopped.at[i-1], stopped.at[i]}
		if grown := stopped.v[i] - stopped.v[i-1]; grown < haltSteps*step.length() || step.length() <= 0 {
			continue
		}
		if n := len(out) - 1; n >= 0 && out[n].to == step.from {
			out[n].to = step.to
		} else {
			out = append(out, step)
		}
	}
	return slices.DeleteFunc(out, func(s span) bool { return s.length() < leastHalt })
}

// leftOut returns what no rate may be averaged over: the gaps of the watch and the halts of the job, in order.
func leftOut(gaps []span, halts []halt) []span {
	out := slices.Clone(gaps)
	for _, x := range halts {
		out = append(out, x.span)
	}
	slices.SortFunc(out, func(a, b span) int {
		if a.from < b.from {
			return -1
		}
		return 1
	})
	return out
}

// halted is how much of a stretch the halts take, in seconds.
func halted(halts []halt, s span) (lost float64) {
	for _, x := range halts {
		lost += x.overlap(s)
	}
	return lost
}

// warnHalts tells who was stopped and since when.
func (b *builder) warnHalts() {
	const told = 3
	for i, x := range b.halts {
		if i == told {
			b.warn("it was stopped or frozen %d times more", len(b.halts)-told)
			return
		}
		if x.who == "" {
			b.warn("no batch has passed since %.1f s of the watch, and the trainer waits for one%s; that time is left out", x.from, x.why)
		} else if x.open {
			b.warn("%s has been stopped or frozen since %.1f s of the watch; that time is left out", x.who, x.from)
		} else {
			b.warn("%s was stopped or frozen from %.1f s to %.1f s of the watch; that time is left out", x.who, x.from, x.to)
		}
	}
}
