//go:build reliability

package reliability

import (
	"fmt"
	"slices"
)

var stormTrials = []trial{
	{
		id: "H8", fault: "DataLoader workers begin and end again and again with the hook inside", long: true,
		made: "8 workers × 1,000 epochs by fork, and 1,000 (RELIABILITY_EPOCHS) by spawn and forkserver, " +
			"persistent_workers on and off",
		target: "no hang (no epoch over 10 times the median, and over 2 s: less is the scheduler's doing), output, " +
			"stderr and status as bare",
		run: func(s *stand) {
			// By spawn, 8 workers that import PyTorch take 2 CPUs seconds: 1,000 epochs are hours for each of the
			// methods.
			storms(s, 1000, int(s.setting("RELIABILITY_EPOCHS", 1000)))
		},
	},
	{
		id: "H8-short", fault: "as H8", made: "8 workers × 20 epochs by fork, 3 by spawn and forkserver, " +
			"persistent_workers on and off",
		target: "as H8", run: func(s *stand) { storms(s, 20, 3) },
	},
}

// storms runs jobs whose workers begin in each way for so many epochs, by new programs for so many, launched, and once
// bare: what a job prints does not depend on how its workers begin.
func storms(s *stand, forked, programs int) {
	type shape struct {
		method     string
		persistent bool
		epochs     int
	}
	shapes := []shape{{"fork", false, forked}, {"fork", true, forked}, {"spawn", false, programs},
		{"spawn", true, programs}, {"forkserver", false, programs}, {"forkserver", true, programs}}
	argv := func(c shape) []string {
		j := steady{batches: 16 * c.epochs, epoch: 16, workers: 8, more: []string{"--method", c.method}}
		if c.persistent {
			j.more = append(j.more, "--persistent")
		}
		return j.argv(s)
	}
	bares := map[int]*command{}
	for _, j := range shapes {
		name := fmt.Sprintf("%s, persistent %t, %d epochs", j.method, j.persistent, j.epochs)
		if bares[j.epochs] == nil {
			bares[j.epochs] = s.start("bare", argv(shape{"fork", true, j.epochs}))
		}
		times := s.in("times.json")
		launched := s.launch(s.in("report.json"), append(argv(j), "--times", times))
		if !s.same(name, bares[j.epochs], launched) {
			continue
		}
		ended := fromJSON[noted](s, times).Ended
		var took []float64
		for i := 1; i < len(ended); i++ {
			took = append(took, ended[i]-ended[i-1])
		}
		usual, longest := centre(took), slices.Max(took)
		s.measured("%s: median epoch %.2f s, longest %.2f s", name, usual, longest)
		// The first epoch of persistent workers begins them, which by spawn takes seconds: it is no hang.
		if later := slices.Max(append(took[1:], 0)); later > max(10*usual, 2) {
			s.missed("%s: an epoch took %.2f s, %.0f times the median; it ended, so it was no deadlock", name, later,
				later/usual)
		}
	}
}
