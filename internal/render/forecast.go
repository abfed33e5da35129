package render

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// rateOf is what a DataLoader's rate is told in: of bytes that are no known format the items are blocks of a file, which nobody trains on.
func rateOf(r *report.Report) string {
	if r.Benchmark != nil && r.Benchmark.Kind == "other" {
		return "blocks/s"
	}
	return "samples/s"
}

// forecastSection is what a DataLoader over the dataset is expected to give; empty where none was modelled.
func forecastSection(r *report.Report) section {
	f := r.Forecast
	if f == nil || len(f.Rows) == 0 {
		return section{}
	}
	size := fmt.Sprintf("batch_size %d", f.BatchSize)
	if !f.BatchSizeGiven {
		size += " (assumed)"
	}
	s := section{title: "DATALOADER", about: "modelled: " + size + fmt.Sprintf(", prefetch_factor %d", f.PrefetchFactor),
		columns: []column{{"workers", true}, {rateOf(r), true}, {unit.Percent(f.Confidence) + " interval", true}}}
	given := "item " + unit.Seconds(f.ItemTimeS) + " " + f.Item
	if f.TransformTimeS > 0 {
		given += ", and " + unit.Seconds(f.TransformTimeS) + " of transforms"
	}
	if f.StepTimeS != nil {
		given += "; a step takes " + unit.Seconds(*f.StepTimeS)
		s.columns = append(s.columns, column{"wait/step", true}, column{"waiting", true})
	} else {
		given += "; batches are taken as fast as they come: --step-time says how fast the training takes them"
	}
	s.columns = append(s.columns, column{"/dev/shm", true}, column{"limited by", false})
	for _, w := range f.Rows {
		rate := unit.Number(w.SamplesPerS)
		if report.Vague(w.Lo, w.Hi) {
			rate = cannotTell
		}
		cells := []string{fmt.Sprint(w.NumWorkers), rate, unit.Number(w.Lo) + " – " + unit.Number(w.Hi)}
		if f.StepTimeS != nil {
			cells = append(cells, optional(w.WaitS, "s"), optional(w.InputWaitRatio, "ratio"))
		}
		memory := "?"
		if w.QueueBytes != nil {
			memory = unit.Bytes(float64(*w.QueueBytes))
		}
		s.rows = append(s.rows, entry{cells: append(cells, memory, w.Limit)})
	}
	s.notes = []string{sentence(given), f.Statement}
	return s
}
