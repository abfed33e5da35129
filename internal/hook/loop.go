package hook

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
)

// loop is one DataLoader of a trainer, or several that its hook reports by one number, with the workers that make their
// batches.
type loop struct {
	trainer *process
	name    string // "<pid>.<start>.<n>", what follows the slash of its entities
	number  int
	folder  string // the one the job worked in, as reported

	made     *recording.Loader
	steps    *stepTotals // nil: none were reported
	stepsSeq int64
	work     *workTotals // of all who make its batches; nil: none were reported
	waits    spread
	fetches  spread

	sites      map[recording.Site]*site
	siteList   []*site
	slow       []slowItem // slowest first
	epochs     map[int]*epochMessage
	newest     int // the highest number of an epoch reported
	recordedTo int // epochs below this number are recorded, or were left out

	news     time.Duration // when it was last reported
	recorded recorded
}

// recorded is what the recording under way has of a loop.
type recorded struct {
	made           bool
	at             time.Duration // when its totals were last recorded; 0: never
	waits, fetches spread
	slow           int // events
}

// trains says whether it is asked while gradients are enabled.
func (lp *loop) trains() bool { return lp.steps != nil && lp.steps.GradSteps > 0 }

// time is what its trainer spent in it.
func (lp *loop) time() time.Duration {
	if lp.steps == nil {
		return 0
	}
	return plus(lp.steps.StepTime, plus(lp.steps.Create, lp.steps.Drain))
}

// site is a line of the person's source, for one loop.
type site struct {
	recording.Site
	siteCalls
	recorded siteCalls
}

// addSite adds calls from a line.
func (l *ledger) addSite(lp *loop, key recording.Site, more siteCalls) {
	s := lp.sites[key]
	if s == nil {
		if len(lp.siteList) >= maxSites {
			l.drop(noteSites, lp.trainer)
			return
		}
		s = &site{Site: key}
		lp.sites[key] = s
		lp.siteList = append(lp.siteList, s)
	}
	s.Calls, s.Time = plus(s.Calls, more.Calls), plus(s.Time, more.Time)
}

// spreadClasses is the number of classes of durations: 20 a decade of microseconds, the last one from 8.9 hours on.
const spreadClasses = 212

// spread counts durations by class.
type spread [spreadClasses]int64

func (s *spread) add(micros []int64) {
	for _, t := range micros {
		s[spreadClass(t)]++
	}
}

// spreadClass is k for durations from 10^(k/20) to 10^((k+1)/20) microseconds, 0 also for shorter ones.
func spreadClass(micros int64) int {
	return min(int(20*math.Log10(float64(max(micros, 1)))+1e-9), spreadClasses-1)
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

// noteSlow adds what one process reported on its slowest items, with their means; before is what it reported last.
func (lp *loop) noteSlow(slow, before [][3]int64) {
	for _, t := range slow {
		micros, times := product(t[1], t[2]), t[2]
		for _, b := range before {
			if b[0] == t[0] {
				micros, times = max(micros-product(b[1], b[2]), 0), max(times-b[2], 0)
			}
		}
		i := slices.IndexFunc(lp.slow, func(s slowItem) bool { return s.index == t[0] })
		if i < 0 {
			i = len(lp.slow)
			lp.slow = append(lp.slow, slowItem{index: t[0]})
		}
		lp.slow[i].micros, lp.slow[i].times = plus(lp.slow[i].micros, micros), plus(lp.slow[i].times, times)
	}
	slices.SortStableFunc(lp.slow, func(a, b slowItem) int { return cmp.Compare(b.mean(), a.mean()) })
	lp.slow = lp.slow[:min(len(lp.slow), maxSlow)]
}
