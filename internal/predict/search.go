package predict

import (
	"cmp"
	"math"
	"slices"
)

// Found is what a search came to.
type Found struct {
	Now    Forecast // the present setting
	Best   Forecast // the fastest that fits
	Chosen Forecast // the smallest that is within 3 % of it; Now where that is
	Clamp  Clamp    // what kept num_workers from being larger, where larger would have helped; else NoClamp
}

// WorkersNeeded looks for the smallest num_workers within 3 % of the best that fits, all else being as in set. Where
// it was not measured how batches vary the number follows from their mean: a spread that is assumed asks for no
// workers. It stays within the moderate plan's workers per usable core; of those that mostly wait it goes to the
// aggressive plan's where there are as many already.
func (f *Forecaster) WorkersNeeded(set Setting, anyShm bool) (found Found, ok bool) {
	for _, perCore := range []float64{waiting, 2 * waiting} {
		r := Reach{Memory: memoryShare, PerCore: 1, Waiting: perCore, AnyShm: anyShm, Only: &set}
		found, ok = f.search(r, f.asMeasured())
		if !ok || found.Clamp != ByCPUs || found.Chosen.Setting.Workers > set.Workers {
			break
		}
	}
	return found, ok
}

// asMeasured leaves out how batches vary where that was not measured.
func (f *Forecaster) asMeasured() Remedy { return Remedy{Even: !f.pipeline.Fetch.Measured()} }

// KeepsUp returns the fewest workers, up to most, with which the loader is as fast as it is, to within what is worth
// a change, and at least one more than the mean of a batch needs: what comes later may vary more.
func (f *Forecaster) KeepsUp(most int) (int, bool) {
	now, ok := f.Point(f.pipeline.Setting, Remedy{})
	if !ok {
		return 0, false
	}
	set, spare := now.Setting, false
	for set.Workers = 1; set.Workers <= most; set.Workers++ {
		if f.lowest(set) < enough*now.Rate {
			continue
		}
		if !spare {
			spare = true
			continue
		}
		if one, ok := f.Point(set, Remedy{}); ok && one.Rate >= enough*now.Rate {
			return set.Workers, true
		}
	}
	return 0, false
}

// search looks for the smallest setting within 3 % of the best that fits, with a remedy; false where nothing can be
// predicted. Settings whose bounds lie below what is worth a change are not simulated.
func (f *Forecaster) search(r Reach, how Remedy) (Found, bool) {
	now, ok := f.ask(f.pipeline.Setting, how, quick)
	if !ok {
		return Found{}, false
	}
	found := Found{Now: now, Best: now}
	tried := []Forecast{now}
	for _, set := range f.candidates(r) {
		if set == now.Setting || f.lowest(set) < enough*found.Best.Rate {
			continue
		}
		one, ok := f.ask(set, how, quick)
		if !ok {
			continue
		}
		tried = append(tried, one)
		if one.Rate > found.Best.Rate {
			found.Best = one
		}
	}
	found.Chosen = found.Now
	if now.Rate < enough*found.Best.Rate {
		found.Chosen = f.smallest(tried, enough*found.Best.Rate)
		found.Chosen = f.needed(found.Chosen, enough*found.Best.Rate, r, how)
	}
	found.Clamp = f.clamp(found.Chosen, r)
	return found, true
}

// needed takes back each change that is not needed for the rate: a setting as it is costs nothing to keep.
func (f *Forecaster) needed(chosen Forecast, rate float64, r Reach, how Remedy) Forecast {
	now := f.pipeline.Setting.plain()
	for _, k := range changes(now, chosen.Setting) {
		if now.Workers == 0 || chosen.Setting.Workers == 0 {
			break
		}
		set := k.set(chosen.Setting, now)
		one, ok := f.ask(set, how, quick)
		if ok && one.Rate >= rate && f.pipeline.allows(set, r) {
			chosen = one
		}
	}
	return chosen
}

// candidates are the settings that fit: the most workers first, so that the best is found early and what cannot reach
// it is passed over.
func (f *Forecaster) candidates(r Reach) (all []Setting) {
	p := f.pipeline
	variants := f.variants(r)
	for w := f.most(r); w > 0; w-- {
		for _, set := range variants {
			set.Workers = w
			if set = set.plain(); p.allows(set, r) {
				all = append(all, set)
			}
		}
	}
	if !p.Kept && r.Only == nil && p.allows(Setting{}, r) {
		all = append(all, Setting{})
	}
	return all
}

// variants are what settings may be beside their number of workers.
func (f *Forecaster) variants(r Reach) (all []Setting) {
	if r.Only != nil {
		return []Setting{*r.Only}
	}
	p := f.pipeline
	now := p.Setting.plain()
	now.Workers = max(now.Workers, 1)
	now = now.plain() // with the default of what no workers had not
	prefetches := append(slices.Clone(r.Prefetches), now.Prefetch)
	slices.Sort(prefetches)
	prefetches = slices.Compact(prefetches)
	unordered := []bool{now.Unordered}
	if r.Unordered && !now.Unordered {
		unordered = append(unordered, true)
	}
	persistent := []bool{now.Persistent}
	if !now.Persistent && p.Epoch != 0 && !p.Anew {
		persistent = append(persistent, true)
	}
	for _, kept := range persistent {
		for _, loose := range unordered {
			for _, prefetch := range prefetches {
				all = append(all, Setting{Prefetch: prefetch, Persistent: kept, Unordered: loose})
			}
		}
	}
	return all
}

// allows reports whether a setting is within reach.
func (p Pipeline) allows(set Setting, r Reach) bool {
	return p.Limit(set, r) == NoClamp && (r.RuledOut == nil || !r.RuledOut(set))
}

// most is the largest number of workers worth looking at: what the machine carries, and of that no more than twice
// what the bounds ask for and a few, which is for what variance takes of them; never fewer than there are.
func (f *Forecaster) most(r Reach) int {
	set := f.pipeline.Setting.plain()
	limit, now := f.pipeline.most(r), min(set.Workers, ceiling)
	set.Workers = limit
	highest := f.lowest(set)
	for w := 1; 2*w+spare < limit; w++ {
		set.Workers = w
		if f.lowest(set) >= highest {
			return max(2*w+spare, now)
		}
	}
	return max(limit, now)
}

// spare is how many workers beyond twice the bounds' number are tried.
const spare = 4

// lowest is the lowest bound of a setting; +Inf where none is known.
func (f *Forecaster) lowest(set Setting) float64 { return f.pipeline.lowest(f.pipeline.center(), set) }

// smallest is the setting that reaches the rate with the fewest workers, with the fewest changes, and with the least
// memory, in this order: workers cost memory and CPU for all of the training, a change costs somebody's attention
// once, and a queue is cheap once it fits.
func (f *Forecaster) smallest(tried []Forecast, rate float64) Forecast {
	reached := slices.DeleteFunc(slices.Clone(tried), func(x Forecast) bool { return x.Rate < rate })
	return slices.MinFunc(reached, func(a, b Forecast) int {
		return cmp.Or(
			cmp.Compare(f.size(a.Setting), f.size(b.Setting)),
			cmp.Compare(len(changes(f.pipeline.Setting, a.Setting)), len(changes(f.pipeline.Setting, b.Setting))),
			cmp.Compare(f.pipeline.Memory(a.Setting).Total(), f.pipeline.Memory(b.Setting).Total()),
			cmp.Compare(a.Setting.Prefetch, b.Setting.Prefetch),
			cmp.Compare(b.Rate, a.Rate),
		)
	})
}

// size is the number of workers; where their memory and the batches' are known, the workers that the setting's memory
// would pay for, whole ones.
func (f *Forecaster) size(set Setting) float64 {
	p := f.pipeline
	if p.WorkerBytes > 0 && p.BatchBytes > 0 {
		one := Setting{Workers: 1, Prefetch: DefaultPrefetch}
		return math.Ceil(p.Memory(set).Total() / p.Memory(one).Total())
	}
	return float64(set.Workers)
}

// clamp names what forbids one worker more, where the workers still limit.
func (f *Forecaster) clamp(chosen Forecast, r Reach) Clamp {
	if chosen.Limit != Workers {
		return NoClamp
	}
	set := chosen.Setting
	set.Workers++
	return f.pipeline.Limit(set, r)
}
