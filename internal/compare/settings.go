package compare

import (
	"cmp"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// reportedSettings are the settings a report tells, by the names recommendations use.
var reportedSettings = []string{"num_workers", "prefetch_factor", "persistent_workers", "pin_memory", "batch_size",
	"in_order", "multiprocessing_context", "dataset class", "HDF5 chunk shape", "sampler class"}

// settingOf is the value a report reports of one of these, "" where it does not know it.
func settingOf(r *report.Report, name string) string {
	l := r.DataLoader()
	switch name {
	case "multiprocessing_context":
		return l.StartMethod
	case "dataset class":
		return l.Dataset
	case "HDF5 chunk shape":
		return chunk(r)
	case "sampler class":
		return l.Sampler
	}
	return l.Argument(name)
}

// chunk is the chunk shape of the HDF5 dataset that is read, as recommendations write it.
func chunk(r *report.Report) string {
	switch {
	case r.Job != nil:
		return r.Job.Chunk
	case r.Benchmark != nil && r.Benchmark.Layout != nil:
		return shape(r.Benchmark.Layout.Chunk, "x")
	}
	return ""
}

// job is the job that was watched; of one that is not known, and of a benchmark, it is empty.
func job(r *report.Report) *report.Job { return cmp.Or(r.Job, &report.Job{}) }

// settings lists what was changed in the loader and the dataset's layout, as far as it is known on both sides.
func settings(b, a *report.Report) []report.SettingChange {
	var out []report.SettingChange
	for _, name := range reportedSettings {
		if x, y := settingOf(b, name), settingOf(a, name); x != "" && y != "" && x != y {
			out = append(out, report.SettingChange{Setting: name, Before: x, After: y,
				Recommended: recommended(b, name)})
		}
	}
	return out
}

// recommended is the value that a report decided to give a setting; "" where it decided none.
func recommended(r *report.Report, setting string) string {
	if d := r.Decision(setting); d != nil && d.Outcome == report.ToChange {
		return d.To
	}
	return ""
}

// knownBatch says whether the batch size is the same, nil where a side does not know it.
func knownBatch(b, a *report.Report) *bool {
	x, y := b.DataLoader().BatchSize, a.DataLoader().BatchSize
	if x == nil || y == nil {
		return nil
	}
	return new(*x == *y)
}

// sameBatch reports whether figures per batch may be compared: by the batch size, or else by the bytes of a batch. Not
// known counts as the same.
func sameBatch(b, a *report.Report) bool {
	if same := knownBatch(b, a); same != nil {
		return *same
	}
	_, _, differ := apart(b, a, metric.BatchBytes.Name, sizeApart, 0)
	return !differ
}

// sameValue compares values as people write them: True, true.
func sameValue(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}
