package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// reportedSetting is one setting, and where a report has it.
type reportedSetting struct {
	name string
	of   func(r *report.Report) string
}

// reportedSettings are the settings a report tells, by the names recommendations use; "" is not known.
var reportedSettings = []reportedSetting{
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
		return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(r.Benchmark.Layout.Chunk)), "x"), "[]")
	}
	return ""
}

func loader(r *report.Report) *report.Loader {
	if r.Job == nil || r.Job.Loader == nil {
		return &report.Loader{}
	}
	return r.Job.Loader
}

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

// isSetting reports whether a report can say what value a setting has.
func isSetting(name string) bool {
	return slices.ContainsFunc(reportedSettings, func(s reportedSetting) bool { return s.name == name })
}

// settingOf is the value a report reports a setting; "" where it tells none.
func settingOf(r *report.Report, name string) string {
	i := slices.IndexFunc(reportedSettings, func(s reportedSetting) bool { return s.name == name })
	if i < 0 {
		return ""
	}
	return reportedSettings[i].of(r)
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

// boolean is written as Python does.
func boolean(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "True"
	}
	return "False"
}
