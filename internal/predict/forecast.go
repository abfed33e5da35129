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
	RuledOut    func(Setting) bool // settings that must not be planned, whatever the model makes of them; nil: none
}

// Steps and resamples. 10,000 steps leave the rate of a loader whose batches vary by as much as their mean to within 2 % of what any other
// seed gives (forecast_test.go); 200 resamples put ten values beyond either end of a 90 % interval. Settings are compared over fewer
// steps, as they share their chances.
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

// Forecast is what the model expects of a setting.
type Forecast struct {
	Setting Setting
	Outcome

	StepsPerS   stat.Summary // steps per second over whole epochs; its center is Outcome.Rate
	SamplesPerS stat.Summary // the same in samples; N is 0 where the samples of a batch are not known
	Bounds      []Bound      // the ceilings in steps per second, the lowest first
	Limit       Term         // the lowest
	Next        Term         // the next one; "" where no other is known
	NewPrograms bool         // each epoch starts its workers as new programs, by spawn or forkserver, or in a way that was not seen

	rates []float64 // of the bootstrap, resample by resample; the same resample is the same for every setting
}

// told fills in what follows from the steps per second.
func (f *Forecaster) told(out Forecast) Forecast {
	if n := f.pipeline.Samples; n > 0 && !math.IsInf(n, 1) {
		out.SamplesPerS = out.StepsPerS
		out.SamplesPerS.Center, out.SamplesPerS.Lo, out.SamplesPerS.Hi = n*out.StepsPerS.Center, n*out.StepsPerS.Lo, n*out.StepsPerS.Hi
	}
	return out
}

// Seconds turns a rate into the seconds that n steps take. The zero Summary means that the rate is zero.
func Seconds(rate stat.Summary, n float64) stat.Summary {
	if !(rate.Lo > 0) {
		return stat.Summary{}
	}
	out := rate
	out.Center, out.Lo, out.Hi = n/rate.Center, n/rate.Hi, n/rate.Lo
	return out
}

// Forecaster predicts settings of one pipeline. All of its predictions share their chances, so that they can be compared closely.
type Forecaster struct {
	pipeline Pipeline
	options  Options
	engine   engine
	long     *chances
	brief    *chances   // of the search
	points   []point    // resampled inputs
	short    []*chances // and their chances
	plain    []*chances // as short, with the spreads as measured
	known    map[Setting]Forecast
}

// plainRuns is the number of short runs with the inputs as measured: what the resampled ones are compared with.
const plainRuns = 25

// NewForecaster prepares predictions.
func NewForecaster(p Pipeline, o Options) *Forecaster {
	o = o.filled()
	all := func(steps int) *chances { return newChances(o.Seed, p.extent(steps).total(), p.Fetch, p.Steps, p.Runs) }
	f := &Forecaster{pipeline: p, options: o, known: map[Setting]Forecast{}, long: all(o.Steps), brief: all(min(o.Steps, searchSteps))}
	dice, n := rand.New(rand.NewPCG(o.Seed, 4)), p.extent(resampleSteps).total()
	for i := range max(o.Resamples, 0) {
		seed := o.Seed + uint64(i) + 1
		fetch, fetchMean := p.Fetch.resample(dice)
		steps, stepMean := p.Steps.resample(dice)
		at := p.draw(dice)
		// Where an input has an interval, that is what is known of its mean: it comes from windows, which do not take neighbouring
		// batches for independent. Else the resampled times carry it.
		if !ranges(p.CPU) && !ranges(p.Wait) {
			at.cpu, at.wait = at.cpu*fetchMean, at.wait*fetchMean
		}
		if !ranges(p.FreeStep) {
			at.step *= stepMean
		}
		f.points = append(f.points, at)
		f.short = append(f.short, newChances(seed, n, fetch, steps, p.Runs))
		if i < plainRuns {
			f.plain = append(f.plain, newChances(seed, n, p.Fetch, p.Steps, p.Runs))
		}
	}
	return f
}

// ranges reports that a summary has an interval.
func ranges(s stat.Summary) bool { return s.N > 0 && s.Hi > s.Lo }

// Forecast predicts a setting, with its interval; false where too little is known.
func (f *Forecaster) Forecast(set Setting) (Forecast, bool) {
	if out, ok := f.known[set.plain()]; ok {
		return out, true
	}
	out, ok := f.Point(set)
	if !ok {
		return Forecast{}, false
	}
	out.rates = make([]float64, 0, len(f.points))
	for i, at := range f.points {
		out.rates = append(out.rates, f.rate(at, out.Setting, f.short[i], resampleSteps))
	}
	usual := make([]float64, 0, len(f.plain))
	for _, d := range f.plain {
		usual = append(usual, f.rate(f.pipeline.center(), out.Setting, d, resampleSteps))
	}
	out.StepsPerS = f.interval(out.Rate, out.rates, usual, out.NewPrograms)
	f.known[out.Setting] = f.told(out)
	return f.known[out.Setting], true
}

// Point predicts a setting without an interval.
func (f *Forecaster) Point(set Setting) (Forecast, bool) {
	return f.point(set, f.long, f.options.Steps)
}

func (f *Forecaster) point(set Setting, d *chances, steps int) (Forecast, bool) {
	set = set.plain()
	at := f.pipeline.center()
	c, ok := f.pipeline.costs(at, set)
	if !ok {
		return Forecast{}, false
	}
	out := Forecast{Setting: set, Outcome: f.simulate(c, at, set, d, steps), Bounds: f.pipeline.bounds(at, c, set),
		NewPrograms: f.pipeline.Epoch > 0 && set.startsPrograms()}
	out.StepsPerS = stat.Summary{Center: out.Rate, Lo: out.Rate, Hi: out.Rate, N: fewest(f.pipeline.FreeStep, f.pipeline.CPU, f.pipeline.Wait)}
	if len(out.Bounds) > 0 {
		out.Limit = out.Bounds[0].Term
	}
	if len(out.Bounds) > 1 {
		out.Next = out.Bounds[1].Term
	}
	return f.told(out), out.Rate > 0
}

// simulate runs about so many steps: whole epochs where they are short enough.
func (f *Forecaster) simulate(c costs, at point, set Setting, d *chances, steps int) Outcome {
	x := f.pipeline.extent(max(steps, 4*set.outstanding()))
	x.cold = !set.Persistent
	out := f.engine.simulate(c, set, d, x)
	// Chances whose number is not that of the steps have no mean of exactly 1, and the queue that a cut-off epoch leaves is no rate: the
	// bounds hold all the same.
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

func (f *Forecaster) rate(at point, set Setting, d *chances, steps int) float64 {
	c, ok := f.pipeline.costs(at, set)
	if !ok {
		return 0
	}
	return f.simulate(c, at, set, d, steps).Rate
}

// interval is how the resampled rates lie around those with the inputs as measured, around center, with the model's own error added.
func (f *Forecaster) interval(center float64, rates, usual []float64, newPrograms bool) stat.Summary {
	p := f.pipeline
	out := stat.Summary{Center: center, Lo: center, Hi: center, N: fewest(p.FreeStep, p.CPU, p.Wait)}
	if len(rates) == 0 || len(usual) == 0 || center <= 0 {
		return out
	}
	tail := (1 - f.options.Confidence) / 2
	middle := quantile(slices.Clone(usual), 0.5)
	lo, hi := quantile(slices.Clone(rates), tail)/middle, quantile(slices.Clone(rates), 1-tail)/middle
	out.Lo, out.Hi, out.Confidence = center*min(lo, 1), center*max(hi, 1), f.options.Confidence
	return f.options.Calibration.Widen(out, newPrograms)
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
	if len(ratios) == 0 {
		return stat.Summary{Center: center, Lo: center, Hi: center, N: after.StepsPerS.N}
	}
	return f.interval(center, ratios, []float64{quantile(slices.Clone(ratios), 0.5)}, before.NewPrograms || after.NewPrograms)
}
