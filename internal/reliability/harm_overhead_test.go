//go:build reliability

package reliability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

var overheadTrials = []trial{
	{
		id: "H1", fault: "a watch beside a job that keeps all CPUs busy",
		made: "16 workers that decode pictures, ticks of 100 ms; stretches without, with and without a watch, 5 times",
		long: true, target: "at most 1 % of one CPU; 64 MiB alone, 128 MiB with helpers; the job at most 1 % slower, " +
			"or by no more than its pace changes by itself (medians)", run: overhead,
	},
	{
		id: "H2", fault: "a watch beside a job that maps and unmaps memory",
		made: "a thread in the trainer times mmap, touch and munmap of 4 MiB, with memory that is touched beside it",
		long: true, target: "the worst stall of a stretch (median of 7) is at most 3 ms, or twice that without a " +
			"watch; the quietest is within 3 ms of the quietest without", run: stalls,
	},
}

// watched runs diagnose beside a job for so long, and returns what it took.
func (s *stand) watched(job *command, seconds float64) cost {
	s.Helper()
	p := s.pipetune(watchOf(job, fmt.Sprintf("%gs", seconds), "-q", "-o", s.in("report.json")))
	readings := p.meter(200*time.Millisecond, nil)
	p.ends(5*time.Minute, 0)
	return s.costOf(readings)
}

// overhead compares a job's own count of batches per second with a watch and without.
func overhead(s *stand) {
	seconds := s.setting("RELIABILITY_H1_SECONDS", 60)
	const rounds = 5
	watch := s.in("stopwatch.jsonl")
	job := s.start("job", []string{
		s.python, s.testdata("jobs/cpu_decode.py"), "--workers", "16", "--batch-size", "4", "--data", s.in("data"),
		"--stopwatch", watch, "--seconds", fmt.Sprintf("%.0f", seconds*rounds*4+600),
	})
	batches := func() (n float64) {
		text, _ := os.ReadFile(watch) // it may not be there yet
		for line := range bytes.Lines(text) {
			var r struct{ Batches float64 }
			if json.Unmarshal(line, &r) == nil {
				n = max(n, r.Batches)
			}
		}
		return n
	}
	s.until(10*time.Minute, "the job trains", func() bool { return batches() >= 20 })
	var slower, own, cpu []float64
	var alone, all int64
	pace := func(do func()) float64 {
		from, began := batches(), time.Now()
		do()
		return (batches() - from) / time.Since(began).Seconds()
	}
	idle := func() { time.Sleep(time.Duration(seconds * float64(time.Second))) }
	before := pace(idle)
	for range rounds {
		with := pace(func() {
			c := s.watched(job, seconds)
			cpu, alone, all = append(cpu, c.share), max(alone, c.peak), max(all, c.rss)
		})
		after := pace(idle)
		slower, own = append(slower, 1-2*with/(before+after)), append(own, math.Abs(1-after/before))
		before = after
	}
	noise := centre(own) // as the slow-down is a median: the worst of five would excuse nearly anything
	s.measured("%.2f %% of one CPU (median of %d); %.1f MiB alone, %.1f MiB with helpers; job slower by %.2f %% "+
		"(median), its own pace changes by %.2f %% (median) between stretches of %.0f s",
		100*centre(cpu), rounds, mib(alone), mib(all), 100*centre(slower), 100*noise, seconds)
	s.atMost(100*centre(cpu), 1, "%.2f %% of one CPU")
	if mib(alone) > 64 || mib(all) > 128 {
		s.missed("%.1f MiB alone, %.1f MiB with helpers", mib(alone), mib(all))
	}
	if m := centre(slower); m > 0.01 && m > noise {
		s.missed("the job was slower by %.2f %%, more than its pace changes by itself", 100*m)
	}
}

// stalls compares the worst stalls of stretches with a watch and without.
func stalls(s *stand) {
	gib := s.setting("RELIABILITY_H2_GIB", 8)
	var memory unix.Sysinfo_t
	must.Do(s, unix.Sysinfo(&memory))
	gib = min(gib, float64(memory.Freeram)*float64(memory.Unit)/4/(1<<30))
	library := s.in("stall.so")
	s.library(library, string(must.Get(os.ReadFile(s.testdata("reliability/stall.c")))(s)), "-O2")
	const stretch, rounds = 10.0, 7
	job := s.start("job", []string{s.python, s.testdata("reliability/stall.py"), library, fmt.Sprintf("%.2f", gib)})
	job.awaitLines(1)
	// Every line is the worst stall since the one before, reported each second: "moment microseconds".
	worst := func(from, to float64) (us float64) {
		for line := range strings.Lines(string(job.output())) {
			var at, value float64
			if n, err := fmt.Sscan(line, &at, &value); n == 2 && err == nil && at > from+1 && at <= to {
				us = max(us, value)
			}
		}
		return us
	}
	var with, without []float64
	for range rounds {
		from := monotonic(s).Seconds()
		time.Sleep(time.Duration(stretch * float64(time.Second)))
		to := monotonic(s).Seconds()
		without = append(without, worst(from, to))
		s.watched(job, stretch)
		with = append(with, worst(to, monotonic(s).Seconds()))
	}
	a, b := centre(without), centre(with)
	least, leastWith := slices.Min(without), slices.Min(with)
	s.measured("%.1f GiB touched; worst stall of %.0f s: %.2f ms without a watch, %.2f ms with one (medians of %d); "+
		"of the quietest %.2f and %.2f ms",
		gib, stretch, a/1e3, b/1e3, rounds, least/1e3, leastWith/1e3)
	if a == 0 || b == 0 {
		s.Errorf("no stall was told: %.300s", job.output())
	}
	// What a watch does it does in each stretch, and other programs do not: the quietest of each kind are held to 3 ms
	// of each other. Reading smaps of so much memory would add 6 ms per GiB.
	if leastWith > least+3000 || b > max(3000, 2*a) {
		s.missed("worst stall %.2f ms with a watch, %.2f ms without; of the quietest stretches %.2f and %.2f ms", b/1e3,
			a/1e3, leastWith/1e3, least/1e3)
	}
}
