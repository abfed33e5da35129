package predict

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/pipetune/pipetune/internal/stat"
)

// Options are how much is computed. The zero value is what is used.
type Options struct {
	Seed        uint64
	Steps       int     // of the simulation; 0 = 10,000
	Resamples   int     // of the bootstrap; 0 = 200, below zero none
	Confidence  float64 // of intervals; 0 = 0.9
	Calibration Calibration
}

// Steps and resamples. 10,000 steps leave the rate of a loader whose batches vary by as much as their mean to within
// 2 % of what any other seed gives (forecast_test.go); 200 resamples put ten values beyond either end of a 90 %
// interval. Settings are compared over fewer steps, as they share their draws.
const (
	usualSteps      = 10_000
	searchSteps     = 2000
	usualResamples  = 200
	resampleSteps   = 500
	usualConfidence = 0.9
)

func (o Options) filled() Options {
	if o.Steps <= 0 {
		o.Steps = usualSteps
	}
	if o.Resamples == 0 {
		o.Resamples = usualResamples
	}
	if !(o.Confidence > 0 && o.Confidence < 1) {
		o.Confidence = usualConfidence
	}
	return o
}

// Forecast is what the model expects of a setting, with a remedy.
type Forecast struct {
	Setting Setting
	Remedy  Remedy
	Outcome

	StepsPerS stat.Summary // steps per second over whole epochs; its center is Outcome.Rate
	Bounds    []Bound      // the ceilings in steps per second, the lowest first
	Limit     Term         // the lowest
	Next      Term         // the next one; "" where no other is known
	Kind      Kind         // what its own error goes by

	// Rates with what is only known to lie in a range at either end: least with the longest step and the smallest
	// saving, most with the shortest and the largest. Both are Outcome.Rate where nothing is known as a range.
	Least, Most float64

	rates []float64 // of the bootstrap, resample by resample; the same resample is the same for every setting
}

// Forecaster predicts settings and remedies of one pipeline. All of its predictions share their draws, so that they
// can be compared closely.
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
	single   map[asked]Forecast // without an interval
}

// sample is one resample of the inputs.
type sample struct {
	at    point
	draws *draws
}

// asked is what a forecast is of.
type asked struct {
	set    Setting
	remedy Remedy
}

// remedied is of how many resamples one is simulated with a remedy: how closely what is saved is known decides its
// interval.
const remedied = 4

// plainRuns is the number of short runs with the inputs as measured.
const plainRuns = 25

// NewForecaster prepares predictions. The resamples are drawn when the first interval is asked for.
func NewForecaster(p Pipeline, o Options) *Forecaster {
	o = o.filled()
	f := &Forecaster{pipeline: p, options: o, known: map[asked]Forecast{}, single: map[asked]Forecast{}}
	f.long = newDraws(o.Seed, p.extent(o.Steps).total(), p.Fetch)
	f.brief = newDraws(o.Seed, p.extent(min(o.Steps, searchSteps)).total(), p.Fetch)
	f.even = newDraws(o.Seed, 1, Spread{})
	return f
}

// resample draws the inputs of the bootstrap.
func (f *Forecaster) resample() {
	p, o := f.pipeline, f.options
	if len(f.points) > 0 || o.Resamples < 0 {
		return
	}
	dice, n := rand.New(rand.NewPCG(o.Seed, 4)), p.extent(resampleSteps).total()
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

// Forecast predicts a setting, with its interval; false where too little is known.
func (f *Forecaster) Forecast(set Setting) (Forecast, bool) { return f.ForecastWith(set, Remedy{}) }

// ForecastWith predicts a setting with a remedy, with its interval; false where too little is known.
func (f *Forecaster) ForecastWith(set Setting, r Remedy) (Forecast, bool) {
	key := asked{set.plain(), r}
	if out, ok := f.known[key]; ok {
		return out, true
	}
	out, ok := f.Point(set, r)
	if !ok {
		return Forecast{}, false
	}
	f.resample()
	out.rates = make([]float64, 0, len(f.points))
	for i, x := range f.points {
		if r != (Remedy{}) && i >= len(f.points)/remedied {
			break
		}
		out.rates = append(out.rates, f.rate(r.at(x.at, r.Saved), out.Setting, x.draws, resampleSteps))
	}
	usual := make([]float64, 0, len(f.plain))
	for _, d := range f.plain {
		usual = append(usual, f.rate(f.middle(r), out.Setting, d, resampleSteps))
	}
	if f.pipeline.StepRange || r.open() {
		worst, best := f.pipeline.center(), f.pipeline.center()
		if f.pipeline.StepRange {
			worst.step, best.step = f.pipeline.FreeStep.Hi, f.pipeline.FreeStep.Lo
		}
		steps := min(f.options.Steps, searchSteps)
		usual := f.rate(f.middle(r), out.Setting, f.brief, steps) / out.Rate
		out.Least = min(f.rate(r.at(worst, r.SavedLo), out.Setting, f.brief, steps)/usual, out.Rate)
		out.Most = max(f.rate(r.at(best, r.SavedHi), out.Setting, f.brief, steps)/usual, out.Rate)
	}
	within := stat.Summary{Center: out.Rate, Lo: out.Least, Hi: out.Most}
	out.StepsPerS = f.interval(within, out.rates, usual, out.Kind)
	f.known[key] = out
	return out, true
}

// middle is the point of the inputs' centers, with a remedy.
func (f *Forecaster) middle(r Remedy) point { return r.at(f.pipeline.center(), r.Saved) }

// Point predicts a setting with a remedy without an interval: it takes a hundredth of the time.
func (f *Forecaster) Point(set Setting, r Remedy) (Forecast, bool) {
	key := asked{set.plain(), r}
	out, ok := f.single[key]
	if !ok {
		if out, ok = f.point(set, r, f.long, f.options.Steps); ok {
			f.single[key] = out
		}
	}
	return out, ok
}

func (f *Forecaster) point(set Setting, r Remedy, d *draws, steps int) (Forecast, bool) {
	set = set.plain()
	if r.Even {
		d = f.even
	}
	at := f.middle(r)
	c, ok := f.pipeline.costs(at, set)
	if !ok {
		return Forecast{}, false
	}
	out := Forecast{Setting: set, Remedy: r, Outcome: f.simulate(c, at, set, d, steps),
		Bounds: f.pipeline.bounds(at, c, set)}
	out.Least, out.Most = out.Rate, out.Rate
	out.StepsPerS = stat.Summary{Center: out.Rate, Lo: out.Rate, Hi: out.Rate, N: f.behind()}
	if len(out.Bounds) > 0 {
		out.Limit = out.Bounds[0].Term
	}
	if len(out.Bounds) > 1 {
		out.Next = out.Bounds[1].Term
	}
	switch {
	case f.pipeline.Epoch > 0 && set.startsPrograms():
		out.Kind = NewPrograms
	case out.Limit == CPUs:
		out.Kind = CPULimited
	}
	return out, out.Rate > 0
}

// behind is the number of windows or readings that a rate rests on.
func (f *Forecaster) behind() int {
	return fewest(f.pipeline.FreeStep, f.pipeline.CPU, f.pipeline.Wait)
}

// Cap is the lowest bound of a setting with a remedy where each cost is at the cheaper end of its interval, and no
// other program takes cores; +Inf where none is known.
func (f *Forecaster) Cap(set Setting, r Remedy) float64 {
	return f.pipeline.lowest(r.at(f.pipeline.cheapest(), r.SavedHi), set.plain())
}

// simulate runs about so many steps: whole epochs where they are short enough.
func (f *Forecaster) simulate(c costs, at point, set Setting, d *draws, steps int) Outcome {
	x := f.pipeline.extent(max(steps, 4*set.outstanding()))
	x.cold = !set.Persistent
	out := f.engine.simulate(c, set, d, x)
	// Draws whose number is not that of the steps have no mean of exactly 1, and the queue that a cut-off epoch
	// leaves is no rate: the bounds hold all the same.
	if bounds := f.pipeline.bounds(at, c, set); len(bounds) > 0 {
		out.Rate, out.Steady = min(out.Rate, bounds[0].Rate), min(out.Steady, bounds[0].Rate)
		out.Epoch = max(out.Epoch, float64(x.epoch)/out.Rate)
	}
	return out
}

// extent is about so many steps: whole epochs where they are short enough, else the beginning of one.
func (p Pipeline) extent(steps int) extent {
	if p.Pause.there() {
		steps = max(steps, int(math.Ceil(2*p.Pause.Every)))
	}
	x := extent{epoch: max(p.Epoch, 0), steps: steps}
	if x.epoch > 0 && x.epoch <= x.steps {
		x.epochs, x.steps = x.steps/x.epoch, 0
	}
	return x
}

func (f *Forecaster) rate(at point, set Setting, d *draws, steps int) float64 {
	c, ok := f.pipeline.costs(at, set)
	if !ok {
		return 0
	}
	return f.simulate(c, at, set, d, steps).Rate
}

// interval is how the resampled rates lie around those with the inputs as measured, beyond what is known as a range
// only, and with the model's own error added.
func (f *Forecaster) interval(within stat.Summary, rates, usual []float64, k Kind) stat.Summary {
	out := within
	out.N = f.behind()
	if len(rates) == 0 || len(usual) == 0 || within.Center <= 0 {
		return out
	}
	tail := (1 - f.options.Confidence) / 2
	middle := quantile(slices.Clone(usual), 0.5)
	lo, hi := quantile(slices.Clone(rates), tail)/middle, quantile(slices.Clone(rates), 1-tail)/middle
	out.Lo, out.Hi = within.Lo*min(lo, 1), within.Hi*max(hi, 1)
	out.Confidence = f.options.Confidence
	return f.options.Calibration.Widen(out, k)
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
	return f.interval(within, ratios, usual, max(before.Kind, after.Kind))
}
