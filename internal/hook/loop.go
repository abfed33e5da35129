package hook

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// loop is one DataLoader of a trainer, or several that its hook tells by one number, with the workers that make their batches.
type loop struct {
	trainer *process
	name    string // "<pid>.<start>.<n>", what follows the slash of its entities
	number  int
	folder  string // the one the job worked in, as told

	made     *loaderMade
	madeSaid bool

	steps      stepValues
	stepsSeq   int64
	stepsTold  bool
	batchBytes int64
	work       workValues
	workTold   bool
	waits      spread
	fetches    spread

	sites      map[siteKey]*site
	siteList   []*site
	slow       []slowItem // slowest first
	slowSaid   int        // events recorded
	epochs     map[int]*epoch
	newest     int // the highest number of an epoch told of
	recordedTo int // epochs below this number are recorded, or were left out

	news     time.Duration // when it was last told of
	recorded time.Duration // when its totals were last recorded; 0: never
}

// trains says whether it is asked while gradients are enabled.
func (lp *loop) trains() bool { return lp.steps[stepGrad] > 0 }

// time is what its trainer spent in it, in nanoseconds.
func (lp *loop) time() int64 {
	return plus(lp.steps[stepTime], plus(lp.steps[stepCreate], lp.steps[stepDrain]))
}

// account is what one process told of one loader: its newest totals, so that what came since can be added to the loop's.
type account struct {
	loop  *loop // nil until it is known whose batches they are
	seq   int64
	work  workValues
	slow  [][3]int64
	times []int64 // of batches told before the loop was known, in microseconds, at most maxHeld
	sites map[siteKey]*siteSeen
}

const maxHeld = 4096

// siteKey tells lines apart.
type siteKey struct {
	kind, what, file, function string
	line                       int
}

// site is a line of the person's source, for one loop.
type site struct {
	key   siteKey
	calls int64
	time  int64
	said  bool // EventSite recorded
	fresh bool // changed since it was recorded
}

// siteSeen is what one process told of a line.
type siteSeen struct {
	seq, calls, time int64
}

// spreadClasses is the number of classes of durations: 20 a decade of microseconds, the last one from 8.9 hours on.
const spreadClasses = 212

// spread counts durations by class.
type spread struct {
	counts [spreadClasses]int64
	fresh  [spreadClasses]bool
}

func (s *spread) add(micros []int64) {
	for _, t := range micros {
		k := spreadClass(t)
		s.counts[k]++
		s.fresh[k] = true
	}
}

// spreadClass is k for durations from 10^(k/20) to 10^((k+1)/20) microseconds, 0 also for shorter ones.
func spreadClass(micros int64) int {
	if micros <= 1 {
		return 0
	}
	return min(int(20*math.Log10(float64(micros))+1e-9), spreadClasses-1)
}

// slowItem is one of a loop's slowest items.
type slowItem struct {
	index      int64
	micros     int64 // of all times it was measured
	times      int64
	said       int64 // times as recorded; 0: not recorded
	saidMicros int64 // mean as recorded
}

func (s slowItem) mean() int64 { return s.micros / max(s.times, 1) }

const (
	maxSlow  = 64  // kept of a loop
	slowTop  = 20  // recorded on entering them
	slowEach = 400 // events of a loop
)

// noteSlow adds what one process told of its slowest items, with their means; before is what it told last.
func (lp *loop) noteSlow(told, before [][3]int64) {
	for _, t := range told {
		micros, times := product(t[1], t[2]), t[2]
		for _, b := range before {
			if b[0] == t[0] {
				micros, times = max(micros-product(b[1], b[2]), 0), max(times-b[2], 0)
			}
		}
		i := slices.IndexFunc(lp.slow, func(s slowItem) bool { return s.index == t[0] })
		if i < 0 {
			lp.slow = append(lp.slow, slowItem{index: t[0], micros: micros, times: times})
			continue
		}
		lp.slow[i].micros, lp.slow[i].times = plus(lp.slow[i].micros, micros), plus(lp.slow[i].times, times)
	}
	slices.SortStableFunc(lp.slow, func(a, b slowItem) int { return cmp.Compare(b.mean(), a.mean()) })
	if len(lp.slow) > maxSlow {
		lp.slow = lp.slow[:maxSlow]
	}
}

// epoch is one time over a loader.
type epoch struct {
	told epochTold
	seq  int64
}
