package document

import (
	"fmt"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// forecastSection is what a DataLoader over the dataset is expected to give; empty where none was modelled.
func forecastSection(r *report.Report) Section {
	f := r.Forecast
	if f == nil || len(f.Rows) == 0 {
		return Section{}
	}
	size := fmt.Sprintf("batch_size %d", f.BatchSize)
	if !f.BatchSizeGiven {
		size += " (assumed)"
	}
	rate := "samples/s"
	if b := r.Benchmark; b != nil && b.Noun() != "item" {
		rate = b.Noun() + "s/s" // nobody trains on those
	}
	t := &Table{Columns: []Column{{"workers", true}, {rate, true}, {unit.Percent(f.Confidence) + " interval", true},
		{"wait/step", true}, {"waiting", true}, {"/dev/shm", true}, {"limited by", false}}}
	given := "item " + unit.Seconds(f.ItemTimeS) + " " + f.Item
	if f.TransformTimeS > 0 {
		given += ", and " + unit.Seconds(f.TransformTimeS) + " of transforms"
	}
	for _, w := range f.Rows {
		rate, memory := unit.Number(w.SamplesPerS), "?"
		if report.Vague(w.Lo, w.Hi) {
			rate = cannotTell
		}
		if w.QueueBytes != nil {
			memory = unit.Bytes(float64(*w.QueueBytes))
		}
		t.add(fmt.Sprint(w.NumWorkers), rate, between(w.Lo, w.Hi), optional(w.WaitS, "s"),
			optional(w.InputWaitRatio, "ratio"), memory, w.Limit)
	}
	if f.StepTimeS != nil {
		given += "; a step takes " + unit.Seconds(*f.StepTimeS)
	} else {
		given += "; batches are taken as fast as they come: --step-time says how fast the training takes them"
		t.drop(3, 5)
	}
	return section("DataLoader", fmt.Sprintf("modelled: %s, prefetch_factor %d", size, f.PrefetchFactor), Main,
		t, forecastRanges(f, rate), Note(sentence(given)), Note(f.Statement))
}
