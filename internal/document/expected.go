package document

import (
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// mostExpected is how many changes are drawn beside the present rate.
const mostExpected = 6

// expectedSection draws what changes are predicted to bring beside what is now and what free data would give.
func expectedSection(r *report.Report) Section {
	p := &Ranges{Title: "Predicted against now"}
	rate := ""
	add := func(name string, e report.Effect) {
		if rate == e.Metric && len(p.Rows) <= mostExpected {
			p.Rows = append(p.Rows, Range{name, effectText(e), e.After, e.Lo, e.Hi, Working})
		}
	}
	for _, f := range r.Findings {
		if e := f.Effect(); e != nil && rate == "" && rateNouns[e.Metric] != "" {
			rate = e.Metric
		}
	}
	now, known := r.Metrics[rate]
	if !known {
		return Section{}
	}
	p.Rows = []Range{{"now", unit.Format(now.Center, now.Unit), now.Center, now.Lo, now.Hi, Other}}
	for _, d := range changes(r) {
		if d.Effect != nil && !report.Vague(d.Effect.Lo, d.Effect.Hi) {
			add(changeText(d.Recommendation), *d.Effect)
		}
	}
	for _, plan := range r.Plans {
		if plan.Effect != nil && len(plan.Changes) > 1 {
			add("plan: "+plan.Name, *plan.Effect)
		}
	}
	if r.Joint != nil {
		add("together", *r.Joint)
	}
	if len(p.Rows) < 2 {
		return Section{}
	}
	if free, ok := r.Metrics[metric.FreeStepTime.Name]; ok && rate == metric.BatchesPerS.Name && free.Lo > 0 &&
		free.Confidence > 0 {
		x := Range{"without waiting for data", freeText(r, "1/"+metric.FreeStepTime.Name, 1), 1 / free.Center,
			1 / free.Hi, 1 / free.Lo, Idle}
		if x.Hi < 20*p.most() {
			p.Rows = append(p.Rows, x)
		}
	}
	p.Grid = grid(p.most(), now.Unit)
	return section("What to expect", "one change at a time", Drawn, p)
}

// most is where the range that reaches furthest ends.
func (p *Ranges) most() (most float64) {
	for _, r := range p.Rows {
		most = max(most, r.Hi)
	}
	return most
}

// predictedRanges draws what was predicted beside what came.
func predictedRanges(c *report.Comparison) *Ranges {
	p, of := &Ranges{}, ""
	for _, x := range c.Predictions {
		if x.Observed == nil || x.Hi <= 0 || report.Vague(x.Lo, x.Hi) || of != "" && x.Metric != of {
			continue
		}
		of = x.Metric
		p.Rows = append(p.Rows, Range{recommendedText(x.Changes), predictedText(x), 0, x.Lo, x.Hi, Working},
			Range{"observed", unit.Format(x.Observed.Center, x.Unit), x.Observed.Center, x.Observed.Lo, x.Observed.Hi,
				Other})
		p.Grid = grid(p.most(), x.Unit)
	}
	return p
}

func forecastRanges(f *report.Forecast, rate string) *Ranges {
	p := &Ranges{Title: "Modelled " + rate + " by workers"}
	for _, w := range f.Rows {
		p.Rows = append(p.Rows, Range{unit.Count(int64(w.NumWorkers), "worker", "workers"), between(w.Lo, w.Hi),
			w.SamplesPerS, w.Lo, w.Hi, Working})
	}
	p.Grid = grid(p.most(), "1/s")
	return p
}

// chunksSection draws an item in the chunks it lies in.
func chunksSection(r *report.Report) Section {
	c := &Chunks{Title: "An item and the chunks it lies in"}
	item, chunk := 0.0, 0.0
	if b := r.Benchmark; b != nil {
		if l := b.Layout; l != nil && l.ItemsPerChunk != nil && l.ChunksPerItem != nil && l.ChunkBytes != nil &&
			b.ItemBytes != nil {
			c.Items, c.Across, item, chunk = *l.ItemsPerChunk, *l.ChunksPerItem, float64(*b.ItemBytes),
				float64(*l.ChunkBytes)
		}
	} else {
		of := func(d metric.Desc) float64 { return r.Metrics[d.Name].Center }
		c.Items, c.Across = int64(of(metric.HDF5PerChunk)), int64(of(metric.HDF5Touched))
		item, chunk = of(metric.HDF5Item), of(metric.HDF5Chunk)
	}
	if c.Items < 1 || c.Across < 1 || !(item > 0) || !(chunk > 0) {
		return Section{}
	}
	c.Text = "An item of " + unit.Bytes(item) + " lies in " + unit.Count(c.Across, "chunk", "chunks") + " of " +
		unit.Bytes(chunk)
	switch times := chunk * float64(c.Across) / item; {
	case c.Items > 1 && times > 1:
		c.Text += ", with parts of " + unit.Count(c.Items-1, "other item", "other items") + ": for one item " +
			unit.Number(times) + " times its bytes are read and decoded, unless the chunk is still in the cache."
	case times > 1:
		c.Text += ": " + unit.Number(times) + " times its bytes are read and decoded for it."
	default:
		c.Text += ", and nothing else does: nothing is read in vain."
	}
	return section("HDF5 layout", "", Drawn, c)
}
