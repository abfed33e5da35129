package compare

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// reportedSettings are the settings a report tells, by the names recommendations use; "" is not known.
var reportedSettings = []struct {
	name string
	of   func(r *report.Report) string
}{
	{"num_workers", func(r *report.Report) string { return integer(loader(r).NumWorkers) }},
	{"prefetch_factor", func(r *report.Report) string { return integer(loader(r).PrefetchFactor) }},
	{"persistent_workers", func(r *report.Report) string { return boolean(loader(r).PersistentWorkers) }},
	{"pin_memory", func(r *report.Report) string { return boolean(loader(r).PinMemory) }},
	{"batch_size", func(r *report.Report) string { return integer(loader(r).BatchSize) }},
	{"in_order", func(r *report.Report) string { return boolean(loader(r).InOrder) }},
	{"multiprocessing_context", func(r *report.Report) string { return loader(r).StartMethod }},
	{"dataset class", func(r *report.Report) string { return loader(r).Dataset }},
	{chunkSetting, chunk},
	{"sampler class", func(r *report.Report) string { return loader(r).Sampler }},
}

const chunkSetting = "HDF5 chunk shape"

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

// job is the job that was watched; of one that is not known, and of a benchmark, it is empty. So is its loader.
func job(r *report.Report) *report.Job { return cmp.Or(r.Job, &report.Job{}) }

func loader(r *report.Report) *report.Loader { return cmp.Or(job(r).Loader, &report.Loader{}) }

// settings lists what was changed in the loader and the dataset's layout, as far as it is known on both sides.
func settings(b, a *report.Report) []report.SettingChange {
	var out []report.SettingChange
	for _, s := range reportedSettings {
		if x, y := s.of(b), s.of(a); x != "" && y != "" && x != y {
			out = append(out, report.SettingChange{Setting: s.name, Before: x, After: y, Recommended: recommended(b,
				s.name)})
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
	x, y := loader(b).BatchSize, loader(a).BatchSize
	if x == nil || y == nil {
		return nil
	}
	same := *x == *y
	return &same
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

// settingOf is the value a report reports a setting, "" where it tells none; told is whether a report can tell it.
func settingOf(r *report.Report, name string) (value string, told bool) {
	for _, s := range reportedSettings {
		if s.name == name {
			return s.of(r), true
		}
	}
	return "", false
}

// sameValue compares values as people write them: True, true.
func sameValue(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func integer(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

func boolean(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "True"
	}
	return "False"
}
