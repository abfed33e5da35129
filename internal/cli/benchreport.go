package cli

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/footprint"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// report puts together what was found and measured; what follows from it is added by package diagnose.
func (b *bench) report(o probe.Options, result probe.Result) *report.Report {
	tool := tool()
	r := &report.Report{
		Schema: report.Schema, SchemaVersion: report.SchemaVersion, Kind: "bench-io",
		Tool:      report.Tool{Name: tool.Name, Version: tool.Version, Commit: tool.Commit},
		Host:      b.host(),
		Metrics:   b.metrics(),
		Phases:    []report.Phase{},
		Findings:  []report.Finding{},
		Plans:     []report.Plan{},
		Benchmark: b.benchmark(o, result),

		Measurements: result.Rows.Measurements(), Abstained: append([]report.Abstained{}, result.Abstained...),
		Warnings: append([]string{}, b.found.Notes...),
	}
	r.Warnings = append(r.Warnings, b.mind()...)
	r.Warnings = append(r.Warnings, result.Warnings...)
	return r
}

// expandable moves a home folder's ~ out of quotes, in which a shell does not expand it.
func expandable(command string) string { return strings.ReplaceAll(command, "'~/", "~/'") }

// mind says what else the person should know about how the dataset was taken.
func (b *bench) mind() (list []string) {
	if b.found.Others > 0 {
		list = append(list, fmt.Sprintf("%d files of another kind were left out", b.found.Others))
	}
	for _, s := range b.found.Special {
		list = append(list, fmt.Sprintf("%d × %s, never opened, such as %s", s.Count, s.Reason, b.inside(s.Example)))
	}
	if len(b.found.Missing) > 0 {
		list = append(list, "HDF5 filters that are not available here: "+strings.Join(b.found.Missing, ", ")+
			"; a job decodes them by what its own library brings: h5py has lzf, hdf5plugin most others")
	}
	return list
}

func (b *bench) host() report.Host {
	m := b.machine
	h := report.Host{CPUsUsable: m.CPUsUsable, CPUsPresent: m.CPUsPresent, MemoryBytes: m.MemoryBytes,
		MemoryLimitBytes: m.MemoryLimit, Kernel: m.Kernel, GPUs: []report.GPU{}, Storage: []report.Storage{}}
	if s := b.place(); s != nil {
		h.Storage = append(h.Storage, *s)
	}
	return h
}

// place is where the dataset lies; nil where that could not be determined.
func (b *bench) place() *report.Storage {
	if b.storage == nil {
		return nil
	}
	return &report.Storage{Path: b.storage.Path, Kind: b.storage.Kind, FSType: b.storage.FSType,
		Devices: b.storage.Devices}
}

// metrics holds what the machine has for the dataset to fit into.
func (b *bench) metrics() map[string]report.Metric {
	out := map[string]report.Metric{}
	set := func(d metric.Desc, x float64) {
		out[d.Name] = report.Metric{Center: x, Lo: x, Hi: x, Confidence: 1, N: 1, Unit: string(d.Unit),
			Basis: report.Measured}
	}
	set(metric.UsableCPUs, b.machine.CPUsUsable)
	machine := b.fs.Machine()
	defer machine.Close()
	var info procfs.Meminfo
	if err := machine.Meminfo(&info); err != nil {
		return out
	}
	limit, available := info.Total.Or(0), info.Available.Or(0)
	if b.machine.MemoryLimit != nil {
		limit = min(limit, *b.machine.MemoryLimit)
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

// benchmark describes the dataset and what was read of it.
func (b *bench) benchmark(o probe.Options, result probe.Result) *report.Benchmark {
	f := &b.found
	out := &report.Benchmark{
		Path: untrusted.Path(b.path, b.redact), Kind: string(f.Kind), Format: f.Format, Files: f.Files,
		FilesExact: f.FilesExact, Bytes: f.Bytes, Items: f.Items, ItemBytes: f.ItemBytes, LargestDir: f.LargestDir,
		Storage: b.place(), Cold: result.Cold, BudgetS: b.o.budget.Seconds(), UsedS: result.Used.Seconds(),
		Interrupted: result.Interrupted, Interpreter: untrusted.Path(result.Interpreter, b.redact),
		Libraries: result.Libraries, Sample: report.Sample{Files: len(f.Sample.Files), Items: len(f.Sample.Items),
			Seed: int64(o.Seed)},
	}
	if f.Part != nil {
		out.ItemNoun, out.ItemNote = f.Part.Noun, untrusted.Sanitize(f.Part.Why)
	}
	for _, file := range f.Sample.All() {
		out.Sample.Bytes += file.Bytes
	}
	for _, t := range f.Unread {
		out.Unread = append(out.Unread, report.Unread{Reason: untrusted.Sanitize(t.Reason), Count: t.Count,
			Example: b.inside(t.Example)})
	}
	for _, u := range result.Unread {
		u.Example = untrusted.Path(u.Example, b.redact)
		out.Unread = append(out.Unread, u)
	}
	for _, name := range f.Outside {
		out.Outside = append(out.Outside, untrusted.Path(name, b.redact))
	}
	if f.Access != nil {
		out.Dataset = f.Access.Dataset.Path.String()
		out.Layout = layoutOf(*f.Access, f.Sample.ItemShape)
	}
	out.Digest = b.digest
	return out
}

// inside names a file of the dataset, from its folder on.
func (b *bench) inside(name []byte) string {
	return untrusted.Path(string(name), b.redact)
}

func layoutOf(a dataset.Access, item []int64) *report.Layout {
	d := a.Dataset
	l := &report.Layout{Storage: string(d.Storage), Shape: d.Shape, Dtype: d.Type, Chunk: d.Chunk,
		ChunkBytes: d.ChunkBytes, Filters: []string{},
		StoredBytes: d.StoredBytes, ItemsPerChunk: a.ItemsPerChunk, ChunksPerItem: a.ChunksPerItem, ItemShape: item}
	for _, f := range d.Filters {
		name := f.Name.String()
		if name == "gzip" && len(f.Values) > 0 {
			name += "-" + strconv.Itoa(int(f.Values[0]))
		}
		l.Filters = append(l.Filters, name)
	}
	if l.ItemShape == nil && len(d.Shape) > 0 {
		l.ItemShape = append([]int64{1}, d.Shape[1:]...)
	}
	return l
}

// title is the dataset in one line, for --list.
func (b *bench) title() string {
	f := &b.found
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
	return fmt.Sprintf("%s: %s, %s; the sample: %s in %s", untrusted.Path(b.path, b.redact), kind, files,
		unit.Count(int64(len(f.Sample.Items)), "item", "items"), unit.Count(int64(len(f.Sample.Files)), "file",
			"files"))
}

// overheadOf is what pipetune itself used; reading is its work here, so its CPU time is no overhead to the dataset.
func overheadOf(now, before footprint.Usage, took time.Duration) *report.Overhead {
	o := &report.Overhead{MaxRSSBytes: now.Peak}
	if took > 0 {
		o.CPURatio = (now.CPU - before.CPU) / took.Seconds()
	}
	return o
}

// real is the dataset's path without symbolic links where the survey reported it, for the mount table.
func (b *bench) real() string {
	for _, f := range b.found.Sample.Files {
		if name := string(f.Path); path.IsAbs(name) {
			return path.Dir(name)
		}
	}
	return b.path
}
