// Package tune looks for the smallest settings of a DataLoader that feed a training loop, by measuring: it decides
// which setting is measured next, and for how long the search goes on. Who measures is somebody else's (Bench), so the
// search needs no job.
//
// It promises to try few: it begins where the model's forecast points, halves what lies between too few and enough
// workers, and measures nothing whose forecast lies out of reach.
package tune

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/pipetune/pipetune/internal/predict"
	"github.com/pipetune/pipetune/internal/stat"
	"github.com/pipetune/pipetune/pkg/report"
)

// Setting is what a loader is given. The zero Batch is the size that it has.
type Setting struct {
	predict.Setting
	Pin   bool
	Batch int
}

// Rate is what was measured of a setting.
type Rate struct {
	stat.Summary        // batches per second; N 0: nothing was measured
	Memory, Shm  int64  // bytes that the machine had less of meanwhile, at most; below 0: not known
	Why          string // it was not measured, or ended early
}

// Bench measures a setting.
type Bench interface {
	// Alone goes over a loader with nobody taking its batches, for at most so long.
	Alone(Setting, time.Duration) Rate
	// InLoop has the training loop take its batches.
	InLoop(Setting, time.Duration) Rate
}

// Job is what is known of the job before the search.
type Job struct {
	Now      Setting
	Rate     stat.Summary                   // of the loop as it is
	Free     stat.Summary                   // with data for free; N 0: not known
	First    int                            // workers that the forecast chooses; 0: it has none
	Most     int                            // workers that the machine carries
	Epoch    int                            // batches; 0: not known
	Pins     bool                           // pin_memory may help: batches go to a GPU
	Batches  []int                          // batch sizes to measure as well
	Forecast func(Setting) *report.Interval // of its rate in the loop, in batches per second; nil: none is known
	Fits     func(Setting) string           // why a setting is not to be tried; "" where it may be
	Left     func() time.Duration           // of the budget; 0 or less: it is spent, or the search was called off
}

// Row is one setting, with what was forecast and measured of it.
type Row struct {
	Setting
	Alone, InLoop Rate
	Forecast      *report.Interval
	Present       bool // the setting as it is
}

// Result is what the search came to.
type Result struct {
	Rows   []Row
	Chosen int    // index of the row to take; that of the present setting where nothing brings more
	Tried  bool   // that is so: another setting was measured in the loop, or data for free brings nothing
	Ended  string // why the search ended before its end; ""
	// the loop as it is was slower when it was watched than beside the other settings
	Disturbed bool
	// the present setting was chosen, and this times its rate is what another may still bring, as far as was measured
	Open float64
}

// Unclear reports whether the present setting was chosen for want of figures that would tell, as on a machine that
// others use, too.
func (r Result) Unclear() bool { return r.Open > 1.10 }

// How long measuring takes, and what is close enough.
const (
	aloneFor = 6 * time.Second
	loopFor  = 10 * time.Second
	// loopSteps are two more than give an interval (stat.Ratio): the first with a setting may be of the one before.
	loopSteps = 8
	leastFor  = 2 * time.Second // that must be left of the budget to begin with another one
	// enough is the part of the best rate that a smaller setting must reach to be taken: what predictions go by too.
	enough = 0.97
	// shortEpoch is how long an epoch may take for the restart of its workers to be worth a try without.
	shortEpoch = 20 * time.Second
	deeper     = 2 // times the prefetch_factor that is tried where the loop still waits
)

type search struct {
	Job
	bench Bench
	rows  []Row
	ended string

	settled   bool // no other setting can bring more
	disturbed bool // the loop as it is was slower at first than beside the others
}

// Search measures until the smallest setting within 3 % of the best is known.
func Search(b Bench, j Job) Result {
	s := &search{Job: j, bench: b}
	present := s.row(j.Now)
	s.rows[present].Present, s.rows[present].InLoop = true, Rate{Summary: j.Rate, Memory: -1, Shm: -1}
	s.alone(j.Now)
	if s.Free.N > 0 && enough*s.Free.Hi <= s.Rate.Center {
		s.settled, s.ended = true, "data for free brings less than 3 %, so no setting of the loader can bring more"
	} else {
		s.finals(s.variants(s.workers()))
	}
	s.again()
	for _, n := range j.Batches {
		set := s.rows[s.choose()].Setting
		set.Batch = n
		s.inLoop(set)
	}
	tried := s.settled || slices.ContainsFunc(s.rows, func(r Row) bool {
		return !r.Present && r.Batch == 0 && r.InLoop.N > 0
	})
	if r := s.rows[s.choose()]; s.ended == "" && s.Free.N > 0 && r.Workers >= s.Most && r.InLoop.Hi < enough*s.Free.Lo {
		s.ended = fmt.Sprintf("more than %d workers are not tried on the usable CPUs, and the loop still waits with "+
			"them: if they wait rather than compute, more may bring more", s.Most)
	}
	return Result{Rows: s.rows, Chosen: s.choose(), Tried: tried, Ended: s.ended, Open: s.open(),
		Disturbed: s.disturbed}
}

// open is how many times as fast a setting may be that was measured in the loop and not chosen: no faster than with
// data for free. 0 where a setting was chosen, or none can be faster.
func (s *search) open() (most float64) {
	if s.choose() != 0 || s.settled || s.Rate.Center <= 0 {
		return 0
	}
	for _, r := range s.rows {
		if r.InLoop.N == 0 || r.Present || r.Batch != 0 {
			continue
		}
		rate := r.InLoop.Hi
		if s.Free.N > 0 {
			rate = min(rate, s.Free.Hi)
		}
		most = max(most, rate/s.Rate.Center)
	}
	return most
}

// row finds or makes the row of a setting.
func (s *search) row(set Setting) int {
	if i := slices.IndexFunc(s.rows, func(r Row) bool { return r.Setting == set }); i >= 0 {
		return i
	}
	r := Row{Setting: set}
	if s.Forecast != nil && set.Batch == 0 {
		r.Forecast = s.Forecast(set)
	}
	s.rows = append(s.rows, r)
	return len(s.rows) - 1
}

// over reports whether the budget is spent.
func (s *search) over() bool {
	if s.Left() >= leastFor {
		return false
	}
	if s.ended == "" {
		s.ended = "the budget was spent, or the search called off, before all was tried"
	}
	return true
}

// alone measures a setting alone, once, and returns what is expected of it in the loop.
func (s *search) alone(set Setting) float64 {
	i := s.row(set)
	r := &s.rows[i]
	switch {
	case r.Alone.N > 0 || r.Alone.Why != "":
	case s.Fits(set) != "":
		r.Alone = Rate{Why: "not tried: " + s.Fits(set), Memory: -1, Shm: -1}
	case s.over():
	default:
		r.Alone = s.bench.Alone(set, min(aloneFor, s.Left()))
	}
	return s.expected(*r)
}

// expected is what a row gives in the loop: what was measured there, else no more than the loader gives alone and the
// step takes.
func (s *search) expected(r Row) float64 {
	switch {
	case r.InLoop.N > 0:
		return r.InLoop.Center
	case r.Alone.N == 0 || r.Alone.Center <= 0:
		return 0
	case s.Free.N == 0:
		return r.Alone.Center
	case r.Workers == 0: // loading and the step take turns
		return 1 / (1/r.Alone.Center + 1/s.Free.Center)
	}
	return min(r.Alone.Center, s.Free.Center)
}

// reaches reports whether the forecast leaves it open that a setting gives a rate.
func (s *search) reaches(set Setting, rate float64) bool {
	if s.Forecast == nil {
		return true
	}
	x := s.Forecast(set)
	return x == nil || x.Hi >= enough*rate
}

// with is the present setting with so many workers.
func (s *search) with(workers int) Setting {
	set := s.Now
	set.Workers = workers
	if workers == 0 {
		return Setting{Pin: set.Pin}
	}
	if set.Prefetch == 0 {
		set.Prefetch = predict.DefaultPrefetch
	}
	set.Persistent = set.Persistent || s.restarts()
	return set
}

// restarts reports whether epochs are so short that starting workers anew may count. It holds the loop up between
// epochs, which no rate of a loader alone shows, so that the search goes by workers that live on, and the loop tells
// whether that was needed.
func (s *search) restarts() bool {
	return s.Epoch > 0 && s.Rate.Center > 0 && float64(s.Epoch)/s.Rate.Center <= shortEpoch.Seconds()
}

// workers finds the fewest workers within 3 % of the best.
func (s *search) workers() Setting {
	most := max(s.Most, s.Now.Workers, 1)
	at := min(max(cmp.Or(s.First, s.Now.Workers, 1), 1), most)
	best := s.alone(s.with(at))
	for at < most && !(s.Free.N > 0 && best >= enough*s.Free.Center) {
		more := min(2*at, most)
		rate := s.alone(s.with(more))
		if enough*rate < best {
			break
		}
		at, best = more, rate
	}
	least := 0 // workers that are too few
	for at-least > 1 {
		mid := (least + at) / 2
		if s.reaches(s.with(mid), best) && s.alone(s.with(mid)) >= enough*best {
			at = mid
		} else {
			least = mid
		}
	}
	return s.with(at)
}

// variants are the settings that are worth a try in the loop: the one with the fewest workers, with what else may help
// it.
func (s *search) variants(chosen Setting) []Setting {
	list := []Setting{chosen}
	if chosen.Persistent && !s.Now.Persistent {
		set := chosen
		set.Persistent = false // the smaller change, if it will do
		list = append(list, set)
	}
	if s.Pins && !chosen.Pin {
		set := list[0]
		set.Pin = true
		list = append(list, set)
	}
	if more := list[0]; len(list) < 2 && more.Workers > 0 && more.Workers < s.Most {
		more.Workers++
		list = append(list, more)
	}
	return list
}

// finals measures settings in the loop, and the first that brings anything with a deeper queue where the loop still
// waits.
func (s *search) finals(list []Setting) {
	best := 0.0
	for _, set := range list {
		best = max(best, s.inLoop(set))
	}
	set := list[0]
	if enough*best <= s.Rate.Center { // more workers bring nothing, so they stay as they are
		set = s.Now
	}
	if s.Free.N > 0 && best > 0 && best < enough*s.Free.Center && set.Workers > 0 {
		set.Prefetch = deeper * max(set.Prefetch, predict.DefaultPrefetch)
		s.inLoop(set)
	}
}

// again measures the loop as it is once more beside a setting that is faster, as other programs may have taken more of
// the machine, or less, since it was watched. The faster of both is what the gain is held against.
func (s *search) again() {
	if s.choose() == 0 || s.over() {
		return
	}
	if r := s.bench.InLoop(s.Now, s.loopFor()); r.N > 0 && r.Center > s.Rate.Center {
		s.disturbed = r.Lo > s.Rate.Hi
		s.Rate, s.rows[0].InLoop.Summary = r.Summary, r.Summary
	}
}

// loopFor is how long the loop is measured with a setting: longer where steps are so slow that few of them come.
func (s *search) loopFor() time.Duration {
	long := loopFor
	if s.Rate.Center > 0 {
		long = max(long, time.Duration(loopSteps/s.Rate.Center*float64(time.Second)))
	}
	return min(long, s.Left())
}

func (s *search) inLoop(set Setting) float64 {
	i := s.row(set)
	if r := &s.rows[i]; r.InLoop.N == 0 && r.InLoop.Why == "" && s.Fits(set) == "" && !s.over() {
		r.InLoop = s.bench.InLoop(set, s.loopFor())
	}
	return s.rows[i].InLoop.Center
}

// choose is the smallest setting within 3 % of the best of those whose rate in the loop has an interval; the present
// one where the best brings no more, or no more than chance.
func (s *search) choose() int {
	best, chosen := s.Rate.Center, 0
	known := func(r Row) bool { return r.Batch == 0 && r.InLoop.Confidence > 0 }
	for _, r := range s.rows {
		if known(r) && r.InLoop.Lo > s.Rate.Hi {
			best = max(best, r.InLoop.Center)
		}
	}
	if s.Rate.Center >= enough*best {
		return 0
	}
	for i, r := range s.rows {
		if known(r) && r.InLoop.Center >= enough*best && (chosen == 0 ||
			size(r, s.rows[0]) < size(s.rows[chosen], s.rows[0])) {
			chosen = i
		}
	}
	return chosen
}

// size orders settings: by workers, then by what is changed beside them, then by the depth of the queue.
func size(r, now Row) string {
	changed := 0
	for _, differs := range []bool{r.Persistent != now.Persistent, r.Pin != now.Pin,
		r.Prefetch != now.Prefetch} {
		if differs {
			changed++
		}
	}
	return fmt.Sprintf("%6d %d %6d", r.Workers, changed, r.Prefetch)
}
