package predict

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
)

// Confidence is that of the intervals.
const Confidence = 0.9

// Options are how much is computed. The zero value is what is used.
type Options struct {
	Seed        uint64
	Steps       int // of the simulation; 0 = 10,000
	Resamples   int // of the bootstrap; 0 = 200, below zero none
	Calibration Calibration
}

// Steps and resamples. 10,000 steps leave the rate of a loader whose batches vary by as much as their mean to within
// 2 % of what any other seed gives (forecast_test.go); 200 resamples put ten values beyond either end of a 90 %
// interval. Settings are compared over fewer steps, as they share their draws.
const (
	usualSteps     = 10_000
	searchSteps    = 2000
	usualResamples = 200
	resampleSteps  = 500
)

// Forecast is what the model expects of a setting, with a remedy.
type Forecast struct {
	Setting Setting
	Remedy  Remedy
	Outcome

	StepsPerS stat.Summary // steps per second over whole epochs; its center is Outcome.Rate
	Bounds    []Bound      // the ceilings in steps per second, the lowest first
	Limit     Term         // the lowest
	Next      Term         // the next one; "" where no other is known
	Exposure  Exposure     // what its own error goes by; with an interval only

	// Rates with what is only known to lie in a range at either end: least with the longest step and the smallest
	// saving and the lock held longest, most with the shortest and the largest. Both are Outcome.Rate where nothing is
	// known as a range.
	Least, Most float64

	rates []float64 // of the bootstrap, resample by resample; the same resample is the same for every setting
}

// Forecaster predicts settings and remedies of one pipeline. All of its predictions share their draws, so that they
// can be compared closely, and each is made once.
type Forecaster struct {
	pipeline Pipeline
	options  Options
	engine   engine
	long     *draws
	brief    *draws   // of the search
	even     *draws   // of batches that do not vary
	points   []sample // resampled inputs
	plain    []*draws // of the resamples, with the spread as measured: what the others are compared with
	known    map[asked]Forecast
}

// sample is one resample of the inputs.
type sample struct {
	at    point
	draws *draws
}

// asked is what a forecast is of, and how closely.
type asked struct {
	set    Setting
	remedy Remedy
	detail detail
}

// detail is how closely a rate is predicted.
type detail uint8

const (
	quick    detail = iota // well enough to compare it with others
	likely                 // without an interval, which takes a hundredth of the time
	ranged                 // with what is known as a range only
	interval               // with an interval
)

// remedied is of how many resamples one is simulated with a remedy: how closely what is saved is known decides its
// interval.
const remedied = 4

// plainRuns is the number of short runs with the inputs as measured.
const plainRuns = 25

// NewForecaster prepares predictions. The resamples are drawn when the first interval is asked for.
func NewForecaster(p Pipeline, o Options) *Forecaster {
	if o.Steps <= 0 {
		o.Steps = usualSteps
	}
	if o.Resamples == 0 {
		o.Resamples = usualResamples
	}
	f := &Forecaster{pipeline: p, options: o, known: map[asked]Forecast{}}
	f.long = newDraws(o.Seed, p.extent(o.Steps).steps, p.Fetch)
	f.brief = newDraws(o.Seed, p.extent(f.searchSteps()).steps, p.Fetch)
	f.even = newDraws(o.Seed, 1, Spread{})
	return f
}

func (f *Forecaster) searchSteps() int { return min(f.options.Steps, searchSteps) }

// resample draws the inputs of the bootstrap.
func (f *Forecaster) resample() {
	p, o := f.pipeline, f.options
	if len(f.points) > 0 || o.Resamples < 0 {
		return
	}
	dice, n := rand.New(rand.NewPCG(o.Seed, 4)), p.extent(resampleSteps).steps
	for i := range o.Resamples {
		seed := o.Seed + uint64(i) + 1
		fetch, fetchMean := p.Fetch.resample(dice)
		at := p.draw(dice)
		// Where an input has an interval, that is what is known of its mean: it comes from windows, which do not take
		// neighbouring batches for independent. Else the resampled times carry it.
		if !ranges(p.CPU) && !ranges(p.Wait) {
			at.cpu, at.wait = at.cpu*fetchMean, at.wait*fetchMean
		}
		f.points = append(f.points, sample{at, newDraws(seed, n, fetch)})
		if i < plainRuns {
			f.plain = append(f.plain, newDraws(seed, n, p.Fetch))
		}
	}
}

// ranges reports that a summary has an interval.
func ranges(s stat.Summary) bool { return s.N > 0 && s.Hi > s.Lo }

// Forecast predicts a setting with a remedy, with its interval; false where too little is known.
func (f *Forecaster) Forecast(set Setting, r Remedy) (Forecast, bool) { return f.ask(set, r, interval) }

// Point is Forecast without an interval.
func (f *Forecaster) Point(set Setting, r Remedy) (Forecast, bool) { return f.ask(set, r, likely) }

// Ranged is Forecast without an interval, but with Least and Most.
func (f *Forecaster) Ranged(set Setting, r Remedy) (Forecast, bool) { return f.ask(set, r, ranged) }

func (f *Forecaster) ask(set Setting, r Remedy, d detail) (Forecast, bool) {
	key := asked{set.plain(), r, d}
	out, ok := f.known[key]
	switch {
	case ok:
		return out, true
	case d == quick:
		out, ok = f.point(key.set, r, f.brief, f.searchSteps())
	case d == likely:
		out, ok = f.point(key.set, r, f.long, f.options.Steps)
	case d == ranged:
		if out, ok = f.ask(set, r, likely); ok {
			f.ends(&out)
		}
	default:
		if out, ok = f.ask(set, r, ranged); ok {
			f.resampled(&out)
		}
	}
	if ok {
		f.known[key] = out
	}
	return out, ok
}

// point predicts a setting at the centers of the inputs.
func (f *Forecaster) point(set Setting, r Remedy, d *draws, steps int) (Forecast, bool) {
	if r.Even {
		d = f.even
	}
	out := Forecast{Setting: set, Remedy: r}
	out.Outcome, out.Bounds = f.run(r.at(f.pipeline.center(), r.Saved), set, d, steps)
	out.Least, out.Most = out.Rate, out.Rate
	out.StepsPerS = stat.Summary{Center: out.Rate, Lo: out.Rate, Hi: out.Rate, N: f.behind()}
	if len(out.Bounds) > 0 {
		out.Limit = out.Bounds[0].Term
	}
	if len(out.Bounds) > 1 {
		out.Next = out.Bounds[1].Term
	}
	return out, out.Rate > 0
}

// rate is that of a setting at a point of the inputs.
func (f *Forecaster) rate(at point, set Setting, d *draws, steps int) float64 {
	one, _ := f.run(at, set, d, steps)
	return one.Rate
}

// ends adds to a prediction what of its inputs is known as a range only.
func (f *Forecaster) ends(out *Forecast) {
	p, r := f.pipeline, out.Remedy
	if !p.StepRange && p.Lock.N == 0 && p.Untried <= 0 && !r.open() {
		return
	}
	worst, best := p.center(), p.center()
	worst.taking = p.Untried
	if p.StepRange {
		worst.step, best.step = p.FreeStep.Hi, p.FreeStep.Lo
	}
	worst.lock, best.lock = p.lockOf(p.Lock.Hi), p.lockOf(p.Lock.Lo)
	rate := func(at point, saved float64) float64 {
		return f.rate(r.at(at, saved), out.Setting, f.brief, f.searchSteps())
	}
	usual := rate(p.center(), r.Saved) / out.Rate
	out.Least, out.Most = min(rate(worst, r.SavedLo)/usual, out.Rate), max(rate(best, r.SavedHi)/usual, out.Rate)
}

// resampled adds to a prediction the chance that its inputs leave.
func (f *Forecaster) resampled(out *Forecast) {
	f.resample()
	r := out.Remedy
	out.rates = make([]float64, 0, len(f.points))
	for i, x := range f.points {
		if r != (Remedy{}) && i >= len(f.points)/remedied {
			break
		}
		out.rates = append(out.rates, f.rate(r.at(x.at, r.Saved), out.Setting, x.draws, resampleSteps))
	}
	middle := r.at(f.pipeline.center(), r.Saved)
	usual := make([]float64, 0, len(f.plain))
	for _, d := range f.plain {
		usual = append(usual, f.rate(middle, out.Setting, d, resampleSteps))
	}
	out.Exposure = f.exposure(middle, out.Setting)
	within := stat.Summary{Center: out.Rate, Lo: out.Least, Hi: out.Most}
	out.StepsPerS = f.interval(within, out.rates, usual, out.Exposure)
}

// behind is the number of windows or readings that a rate rests on: the fewest of an input that is known.
func (f *Forecaster) behind() int {
	n := 0
	for _, s := range []stat.Summary{f.pipeline.FreeStep, f.pipeline.CPU, f.pipeline.Wait} {
		if s.N > 0 && (n == 0 || s.N < n) {
			n = s.N
		}
	}
	return n
}

// Cap is the lowest bound of a setting with a remedy where each cost is at the cheaper end of its interval, and no
// other program takes cores; +Inf where none is known.
func (f *Forecaster) Cap(set Setting, r Remedy) float64 {
	return f.pipeline.lowest(r.at(f.pipeline.cheapest(), r.SavedHi), set)
}

// run simulates about so many steps of a setting at a point of the inputs: whole epochs where they are short enough.
// The rate is 0 where too little is known. Draws whose number is not that of the steps have no mean of exactly 1, and
// the queue that a cut-off epoch leaves is no rate: the bounds hold all the same.
func (f *Forecaster) run(at point, set Setting, d *draws, steps int) (out Outcome, bounds []Bound) {
	c, ok := f.pipeline.costs(at, set)
	if !ok {
		return out, nil
	}
	x := f.pipeline.extent(max(steps, 4*set.outstanding()))
	x.cold = !set.Persistent
	out, bounds = f.engine.simulate(c, set, d, x), f.pipeline.bounds(c, set)
	if len(bounds) > 0 {
		out.Rate, out.Steady = min(out.Rate, bounds[0].Rate), min(out.Steady, bounds[0].Rate)
	}
	return out, bounds
}

// extent is about so many steps: whole epochs where they are short enough, else the beginning of one.
func (p Pipeline) extent(steps int) extent {
	if p.Pause.Simulated() {
		steps = max(steps, int(math.Ceil(2*p.Pause.Every)))
	}
	x := extent{epoch: max(p.Epoch, 0), steps: steps}
	if x.epoch > 0 && x.epoch <= x.steps {
		x.steps -= x.steps % x.epoch
	}
	return x
}

// interval is how the resampled rates lie around those with the inputs as measured, beyond what is known as a range
// only, and with the model's own error added.
func (f *Forecaster) interval(within stat.Summary, rates, usual []float64, x Exposure) stat.Summary {
	out := within
	out.N = f.behind()
	if len(rates) == 0 || len(usual) == 0 || within.Center <= 0 {
		return out
	}
	confidence := Confidence // in float64, which leaves as many of 200 values beyond one end as beyond the other
	tail := (1 - confidence) / 2
	middle := quantile(slices.Clone(usual), 0.5)
	lo, hi := quantile(slices.Clone(rates), tail)/middle, quantile(slices.Clone(rates), 1-tail)/middle
	out.Lo, out.Hi = within.Lo*min(lo, 1), within.Hi*max(hi, 1)
	out.Confidence = confidence
	return f.options.Calibration.Widen(out, x)
}

// Gain is how many times as fast as before a setting is, resample by resample: what both have in common cancels.
func (f *Forecaster) Gain(before, after Forecast) stat.Summary {
	if before.Rate <= 0 {
		return stat.Summary{}
	}
	var ratios []float64
	for i := range min(len(before.rates), len(after.rates)) {
		if before.rates[i] > 0 {
			ratios = append(ratios, after.rates[i]/before.rates[i])
		}
	}
	center := after.Rate / before.Rate
	within := stat.Summary{Center: center, Lo: center, Hi: center}
	if before.Least > 0 && before.Most > 0 {
		ends := []float64{after.Least / before.Least, after.Most / before.Most}
		within.Lo, within.Hi = min(center, slices.Min(ends)), max(center, slices.Max(ends))
	}
	if len(ratios) == 0 {
		within.N = after.StepsPerS.N
		return within
	}
	usual := []float64{quantile(slices.Clone(ratios), 0.5)}
	x := after.Exposure // what was before was seen, at the pace of then
	x.Siblings = max(x.Siblings-before.Exposure.Siblings, 0)
	return f.interval(within, ratios, usual, x)
}
