package rules

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// What reading a row by itself costs beside reading it with the others of its batch.
var (
	rowLeast = threshold("part of reading rows alone that goes, at the least", 0.35, metric.Ratio,
		"measured: rows of 2 to 20 columns (numbers, text, 128 tokens), plain, shuffled, as torch and as numpy: in a "+
			"batch of 16 or 64 one takes 0.06 to 0.63 of what it takes alone (datasets 5.2, 2 CPUs of an AMD EPYC, "+
			"Debian)")
	rowMost = threshold("part of reading rows alone that goes, at the most", 0.95, metric.Ratio, rowLeast.Source)
	rowLong = threshold("a row's reading that is more than that", 2e-3, metric.Seconds,
		"measured: 15 to 960 µs in the same runs, twice that for slower machines; what takes longer decodes the row")
)

var loaderRowsOneByOne = diagnose.Rule{
	ID:       "loader/rows-one-by-one",
	Title:    "Rows of a table are read one by one",
	Resource: report.CPU,
	Needs:    []metric.Desc{metric.RowsPerBatch, metric.RowRatio, metric.FetchTime},
	Limits:   limits(rowLeast, rowMost, rowLong),
	Applies:  training,
	Explains: []string{"loader/workers-too-few", "loader/workers-zero", "cpu/decode-bound", "cpu/saturated"},
	Eval: func(p *diagnose.Pass) {
		rows, ratio := p.Get(metric.RowsPerBatch), share(p.Get(metric.RowRatio))
		if rows < 2 || ratio*p.Get(metric.FetchTime) > rows*p.Limit(rowLong) {
			return
		}
		lo, hi := ratio*p.Limit(rowLeast), ratio*p.Limit(rowMost)
		score := starved(p) * (lo + hi) / 2
		if score < diagnose.Moderate.Value {
			return
		}
		rec := report.Recommendation{Setting: "reading of the table", From: new("dataset[index]"),
			To: "dataset[indices], once a batch",
			Why: "where a dataset has __getitems__, PyTorch hands it all indices of a batch; a table by itself has " +
				"it, a class around one needs its own",
			Caveat: "collate_fn then gets what __getitems__ returns", Effect: saving(p, lo, hi, false)}
		if lacks(p, fetchesAll) {
			rec.Why = "a batch_sampler given as sampler, with batch_size=None, hands __getitem__ all indices of a batch"
		}
		p.Report(report.Finding{
			Score: score,
			Summary: fmt.Sprintf("A batch reads %s of Hugging Face's datasets one by one, each in %s: %s of making it",
				count(rows, "row"), unit.Seconds(ratio*p.Get(metric.FetchTime)/rows), unit.Percent(ratio)),
			Evidence:        seen(p, metric.RowsPerBatch, metric.RowRatio, metric.FetchTime, metric.CollateRatio),
			Recommendations: []report.Recommendation{rec},
			Unhelpful:       tooSlowly(p),
		})
	},
}
