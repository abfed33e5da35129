//go:build e2e && calibrate

package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/predict"
)

// workloads are those of testdata/jobs/calibrate.py, their class first, and then those on the stand-in GPU.
var workloads = append([]string{
	"cpu-short", "cpu-long", "io-short", "io-long", "mixed-short", "mixed-long", "bursty-short", "bursty-long",
}, deviceWorkloadNames()...)

// grid is a configuration of testdata/jobs/calibrate.py, or of testdata/jobs/device/train.py.
type grid struct {
	Workload   string `json:"workload"`
	Workers    int    `json:"workers"`
	Prefetch   int    `json:"prefetch"`
	Persistent bool   `json:"persistent"`
	Start      string `json:"start"` // method, in multiprocessing's words
}

func (g grid) name() string {
	if g.Workers == 0 {
		return g.Workload + " w=0"
	}
	kept := "restarted"
	if g.Persistent {
		kept = "persistent"
	}
	return fmt.Sprintf("%s w=%d p=%d %s %s", g.Workload, g.Workers, g.Prefetch, g.Start, kept)
}

func (g grid) class() string {
	class, _, _ := strings.Cut(strings.TrimPrefix(g.Workload, devicePrefix), "-")
	return class
}

func (g grid) setting() predict.Setting {
	if g.Workers == 0 {
		return predict.Setting{}
	}
	return predict.Setting{Workers: g.Workers, Prefetch: g.Prefetch, Persistent: g.Persistent}
}

// way is how a run is watched.
type way string

const (
	unwatched way = ""
	byLaunch  way = "launched"
	byPID     way = "attached"
)

// ways are how the run is watched that a configuration is predicted from: on the stand-in GPU both, each for a row of
// its own.
func (g grid) ways() []way {
	if onDevice(g.Workload) {
		return []way{byLaunch, byPID}
	}
	return []way{byLaunch}
}

// watched is the name of the configuration's run that is watched so.
func (g grid) watched(how way) string { return strings.TrimSuffix(g.name()+" "+string(how), " ") }

// base is the run that a configuration is predicted from: one worker and the rest as PyTorch has it, which is how a job
// that starves was often begun. What starting workers costs can only be known from a run that starts them in the same
// way; where it is paid once, fork will do.
func (g grid) base() grid {
	from := grid{Workload: g.Workload, Workers: 1, Prefetch: 2, Start: "fork"}
	if g.Workers > 0 && !g.Persistent {
		from.Start = g.Start
	}
	return from
}

// calibrationGrid is a part of workers 0–4 × prefetch_factor 1–8 × persistent_workers × start methods for each
// workload, drawn so that each value comes equally often: decks are dealt out, as long until none is what is predicted
// from and none comes twice.
func calibrationGrid() (all []grid) {
	for i, w := range workloads {
		if onDevice(w) {
			all = append(all, deviceGrid(w, rand.New(rand.NewPCG(20, uint64(i))))...)
			continue
		}
		other := "spawn" // beside fork
		if strings.HasSuffix(w, "-long") {
			other = "forkserver"
		}
		dice := rand.New(rand.NewPCG(20, uint64(i)))
		var part []grid
		for part == nil || slices.ContainsFunc(part, func(g grid) bool { return g == g.base() }) || twice(part) {
			part = deal(w, other, dice)
		}
		all = append(append(all, grid{Workload: w, Start: "fork"}), part...)
	}
	return all
}

// deal draws each number of workers twice.
func deal(workload string, other string, dice *rand.Rand) (part []grid) {
	prefetch := shuffled(dice, 1, 1, 2, 2, 4, 4, 8, 8)
	kept := shuffled(dice, true, true, true, true, false, false, false, false)
	start := shuffled(dice, "fork", "fork", "fork", "fork", other, other, other, other)
	for i := range prefetch {
		part = append(part, grid{Workload: workload, Workers: 1 + i/2, Prefetch: prefetch[i], Persistent: kept[i],
			Start: start[i]})
	}
	return part
}

func shuffled[T any](dice *rand.Rand, deck ...T) []T {
	dice.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

func twice(part []grid) bool {
	seen := map[grid]bool{}
	for _, g := range part {
		if seen[g] {
			return true
		}
		seen[g] = true
	}
	return false
}
