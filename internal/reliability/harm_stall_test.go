//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

var stallTrials = []trial{
	{
		id: "H2", fault: "a watch beside a job that maps and unmaps memory",
		made: "a thread in the trainer times mmap, touch and munmap of 4 MiB, with memory that is touched beside it",
		long: true, target: "the worst stall of a stretch (median of 7) is at most 3 ms, or twice that without a " +
			"watch; the quietest is within 3 ms of the quietest without", run: stalls,
	},
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
		s.pipetune(watchOf(job, fmt.Sprintf("%gs", stretch), "-q", "-o", s.in("report.json"))).ends(5*time.Minute, 0)
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
