package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
)

// trainers is how many trainers the job has on this machine, at least one. num_workers and the size of a batch are of
// one of them; usable CPUs, memory and /dev/shm are there for all.
func trainers(p *diagnose.Pass) float64 {
	n, _ := p.Maybe(metric.Ranks)
	return max(n, 1)
}

// inEachTrainer follows a figure that each of several trainers has; "" for a single one.
func inEachTrainer(p *diagnose.Pass) string {
	if n := trainers(p); n > 1 {
		return fmt.Sprintf(" in each of %s trainers", whole(n))
	}
	return ""
}

// forAllTrainers follows a figure that is the sum over several trainers; "" for a single one.
func forAllTrainers(p *diagnose.Pass) string {
	if n := trainers(p); n > 1 {
		return fmt.Sprintf(" for all %s trainers together", whole(n))
	}
	return ""
}
