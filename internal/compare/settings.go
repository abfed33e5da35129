package compare

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/pkg/report"
)

// loaderSetting is one setting, and where a report has it.
type loaderSetting struct {
	name string
	of   func(l *report.Loader) string
}

// loaderSettings are the settings a report tells, by the names recommendations use; "" is not known.
var loaderSettings = []loaderSetting{
	{"num_workers", func(l *report.Loader) string { return integer(l.NumWorkers) }},
	{"prefetch_factor", func(l *report.Loader) string { return integer(l.PrefetchFactor) }},
	{"persistent_workers", func(l *report.Loader) string { return boolean(l.PersistentWorkers) }},
	{"pin_memory", func(l *report.Loader) string { return boolean(l.PinMemory) }},
	{"batch_size", func(l *report.Loader) string { return integer(l.BatchSize) }},
	{"in_order", func(l *report.Loader) string { return boolean(l.InOrder) }},
	{"multiprocessing_context", func(l *report.Loader) string { return l.StartMethod }},
	{"dataset class", func(l *report.Loader) string { return l.Dataset }},
	{"sampler class", func(l *report.Loader) string { return l.Sampler }},
}

func loader(r *report.Report) *report.Loader {
	if r.Job == nil || r.Job.Loader == nil {
		return &report.Loader{}
	}
	return r.Job.Loader
}

// settings lists what was changed in the loader, as far as it is known on both sides.
func settings(b, a *report.Report) []report.SettingChange {
	advice := map[string]string{}
	for _, f := range b.Findings {
		for _, r := range f.Recommendations {
			if _, told := advice[r.Setting]; !told {
				advice[r.Setting] = r.To
			}
		}
	}
	var out []report.SettingChange
	for _, s := range loaderSettings {
		if x, y := s.of(loader(b)), s.of(loader(a)); x != "" && y != "" && x != y {
			out = append(out, report.SettingChange{Setting: s.name, Before: x, After: y, Recommended: advice[s.name]})
		}
	}
	return out
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

// sameBatch tells whether figures per batch may be compared: by the batch size, or else by the bytes of a batch. Not known counts as the same.
func sameBatch(b, a *report.Report) bool {
	if same := knownBatch(b, a); same != nil {
		return *same
	}
	_, _, differ := apart(b, a, "batch_bytes", sizeApart, 0)
	return !differ
}

// isSetting tells whether a report can say what value a setting has.
func isSetting(name string) bool {
	return slices.ContainsFunc(loaderSettings, func(s loaderSetting) bool { return s.name == name })
}

// settingOf is the value a report tells of a setting; "" where it tells none.
func settingOf(r *report.Report, name string) string {
	i := slices.IndexFunc(loaderSettings, func(s loaderSetting) bool { return s.name == name })
	if i < 0 {
		return ""
	}
	return loaderSettings[i].of(loader(r))
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
