package document

import (
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// tuningSection lists the settings that were measured in the job.
func tuningSection(r *report.Report) Section {
	t := r.Tuning
	if t == nil {
		return Section{}
	}
	table := &Table{Columns: []Column{{"", false}, {"workers", true}, {"setting", false}, {"alone", true},
		{"in the loop", true}, {"forecast", true}, {"memory", true}}}
	var notes List
	for i, row := range t.Rows {
		mark := ""
		switch {
		case t.Chosen != nil && *t.Chosen == i:
			mark = "→"
		case row.Present:
			mark = "now"
		}
		table.add(mark, strconv.Itoa(row.NumWorkers), tried(row), batchRate(row.Alone, false),
			batchRate(row.InLoop, true), forecast(row), taken(row.MemoryBytes))
		if row.Why != "" {
			notes = append(notes, "num_workers="+strconv.Itoa(row.NumWorkers)+": "+row.Why)
		}
	}
	if t.Ended != "" {
		notes = append(notes, t.Ended)
	}
	return section("Settings, measured", "batches/s", Main, Note(t.Statement), table, notes)
}

// tried is what a setting has beside its workers.
func tried(row report.TuningRow) string {
	var parts []string
	if row.NumWorkers > 0 && row.PrefetchFactor > 0 {
		parts = append(parts, "prefetch "+strconv.Itoa(row.PrefetchFactor))
	}
	if row.PersistentWorkers {
		parts = append(parts, "persistent")
	}
	if row.PinMemory {
		parts = append(parts, "pinned")
	}
	if row.BatchSize != nil {
		parts = append(parts, "batch_size "+strconv.Itoa(*row.BatchSize))
	}
	return strings.Join(parts, ", ")
}

// batchRate is a rate, with its interval where that is asked for.
func batchRate(x *report.Interval, ends bool) string {
	switch {
	case x == nil:
		return ""
	case ends && x.Lo < x.Hi:
		return unit.Number(x.Center) + " (" + between(x.Lo, x.Hi) + ")"
	}
	return unit.Number(x.Center)
}

// forecast is what was predicted, and how that did.
func forecast(row report.TuningRow) string {
	if row.Forecast == nil {
		return ""
	}
	return joined(" ", between(row.Forecast.Lo, row.Forecast.Hi), row.Score)
}

func taken(bytes *int64) string {
	if bytes == nil {
		return ""
	}
	return unit.Bytes(float64(*bytes))
}
