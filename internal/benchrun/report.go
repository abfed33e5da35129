package benchrun

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// report puts together what was found and measured; what follows from it is added by package diagnose.
func (r *Run) report(result probe.Result) *report.Report {
	return &report.Report{
		Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "bench-io",
		Tool:      r.Tool,
		Host:      r.host(),
		Metrics:   r.metrics(),
		Phases:    []report.Phase{},
		Findings:  []report.Finding{},
		Plans:     []report.Plan{},
		Benchmark: r.benchmark(result),

		Measurements: result.Rows.Measurements(), Abstained: append([]report.Abstained{}, result.Abstained...),
		Warnings: append([]string{}, slices.Concat(r.found.Notes, r.mind(), result.Warnings)...),
	}
}

// mind says what else the person should know about how the dataset was taken.
func (r *Run) mind() (list []string) {
	if r.found.Others > 0 {
		list = append(list, fmt.Sprintf("%d files of another kind were left out", r.found.Others))
	}
	if r.found.Links > 0 {
		list = append(list, fmt.Sprintf("%d symbolic links were not followed", r.found.Links))
	}
	for _, s := range r.found.Special {
		list = append(list, fmt.Sprintf("%d × %s, never opened, such as %s", s.Count, s.Reason,
			untrusted.Path(string(s.Example), r.Redact)))
	}
	if len(r.found.Missing) > 0 {
		list = append(list, "HDF5 filters that are not available here: "+strings.Join(r.found.Missing, ", ")+
			"; a job decodes them by what its own library brings: h5py has lzf, hdf5plugin most others")
	}
	return list
}

func (r *Run) host() report.Host {
	m := r.machine
	h := report.Host{CPUsUsable: m.CPUsUsable, CPUsPresent: m.CPUsPresent, MemoryBytes: m.MemoryBytes,
		MemoryLimitBytes: m.MemoryLimit, Kernel: m.Kernel, GPUs: []report.GPU{}, Storage: []report.Storage{}}
	if r.storage != nil {
		h.Storage = append(h.Storage, *r.storage)
	}
	return h
}

// metrics holds what the machine has for the dataset to fit into.
func (r *Run) metrics() map[string]report.Metric {
	out := map[string]report.Metric{}
	set := func(d metric.Desc, x float64) { out[d.Name] = exactly(d, x) }
	set(metric.UsableCPUs, r.machine.CPUsUsable)
	machine := r.fs.Machine()
	defer machine.Close()
	var info procfs.Meminfo
	if err := machine.Meminfo(&info); err != nil {
		return out
	}
	limit, available := info.Total.Or(0), info.Available.Or(0)
	if r.machine.MemoryLimit != nil {
		limit = min(limit, *r.machine.MemoryLimit)
		available = min(available, limit)
	}
	if limit > 0 {
		set(metric.MemLimit, float64(limit))
	}
	if available > 0 {
		set(metric.Available, float64(available))
	}
	return out
}

// exactly is a figure that was read, and not estimated from samples.
func exactly(d metric.Desc, x float64) report.Metric {
	return report.Metric{Center: x, Lo: x, Hi: x, Confidence: 1, N: 1, Unit: string(d.Unit), Basis: report.Measured}
}

// machineBusy is the CPU time that the machine has spent working since boot, in seconds; NaN where unknown.
func (r *Run) machineBusy() float64 {
	machine := r.fs.Machine()
	defer machine.Close()
	var s procfs.SystemStat
	if machine.Stat(&s) != nil {
		return math.NaN()
	}
	return s.Total.Busy()
}

// beside notes what other programs took of the CPUs while a dataset was measured, from what the machine had spent
// before, and what pipetune used itself, in seconds.
func (r *Run) beside(out *report.Report, before, own float64, took time.Duration) {
	others := max((r.machineBusy()-before-own)/took.Seconds(), 0)
	if math.IsNaN(others) || took <= 0 {
		return
	}
	out.Metrics[metric.OtherCPU.Name] = exactly(metric.OtherCPU, others)
}

// benchmark describes the dataset and what was read of it.
func (r *Run) benchmark(result probe.Result) *report.Benchmark {
	f := &r.found
	out := &report.Benchmark{
		Path: untrusted.Path(r.Path, r.Redact), Kind: string(f.Kind), Format: f.Format, Files: f.Files,
		FilesExact: f.FilesExact, Bytes: f.Bytes, Items: f.Items, ItemBytes: f.ItemBytes, LargestDir: f.LargestDir,
		Storage: r.storage, Cold: result.Cold, BudgetS: r.Budget.Seconds(), UsedS: result.Used.Seconds(),
		Interrupted: result.Interrupted, Interpreter: untrusted.Path(result.Interpreter, r.Redact),
		Libraries: result.Libraries, Sample: report.Sample{Files: len(f.Sample.Files), Items: len(f.Sample.Items),
			Seed: int64(r.Seed), Unread: result.UnreadItems},
	}
	if f.Part != nil {
		out.ItemNoun, out.ItemNote = f.Part.Noun, untrusted.Sanitize(f.Part.Why)
	}
	for _, file := range f.Sample.All() {
		out.Sample.Bytes += file.Bytes
	}
	for _, t := range f.Unread {
		out.Unread = append(out.Unread, report.Unread{Reason: untrusted.Sanitize(t.Reason), Count: t.Count,
			Example: untrusted.Path(string(t.Example), r.Redact)})
	}
	for _, u := range result.Unread {
		u.Example = untrusted.Path(u.Example, r.Redact)
		out.Unread = append(out.Unread, u)
	}
	for _, name := range f.Outside {
		out.Outside = append(out.Outside, untrusted.Path(name, r.Redact))
	}
	if f.Access != nil {
		out.Dataset = f.Access.Dataset.Path.String()
		out.Layout = layoutOf(*f.Access, &f.Sample)
	}
	out.Digest = r.digest
	return out
}

func layoutOf(a dataset.Access, sample *dataset.Sample) *report.Layout {
	d := a.Dataset
	l := &report.Layout{Storage: string(d.Storage), Shape: d.Shape, Dtype: d.Type, Chunk: d.Chunk,
		ChunkBytes: d.ChunkBytes, Filters: []string{},
		StoredBytes: d.StoredBytes, ItemsPerChunk: a.ItemsPerChunk, ChunksPerItem: a.ChunksPerItem,
		ItemShape: sample.ItemShape, Members: sample.Members,
		Rows: sample.Rows}
	for _, f := range d.Filters {
		name := f.Name.String()
		if name == "gzip" && len(f.Values) > 0 {
			name += "-" + strconv.Itoa(int(f.Values[0]))
		}
		l.Filters = append(l.Filters, name)
	}
	if l.ItemShape == nil && len(d.Shape) > 0 {
		l.ItemShape = slices.Clone(d.Shape[1:])
		if !sample.Members {
			l.ItemShape = append([]int64{1}, l.ItemShape...)
		}
	}
	return l
}

// Title is the surveyed dataset in one line.
func (r *Run) Title() string {
	f := &r.found
	files := unit.Count(f.Files, "file", "files")
	if !f.FilesExact {
		files = "at least " + files
	}
	kind := string(f.Kind)
	if f.Kind == dataset.Other && f.Format != "" {
		kind = f.Format + ", read as raw bytes"
	}
	if f.Sample.Dataset != "" {
		kind += " dataset " + untrusted.String(f.Sample.Dataset).String()
	}
	return fmt.Sprintf("%s: %s, %s; the sample: %s in %s", untrusted.Path(r.Path, r.Redact), kind, files,
		unit.Count(int64(len(f.Sample.Items)), "item", "items"), unit.Count(int64(len(f.Sample.Files)), "file",
			"files"))
}
