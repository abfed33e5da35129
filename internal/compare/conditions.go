package compare

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/pkg/report"
)

// cacheApart is how far apart the shares of reads that came from memory may lie before one run is warmer than the
// other: a tenth of the reads from storage instead of memory doubles the time of reading on a device ten times as slow
// as memory.
const cacheApart = 0.1

// sizeApart is how far apart bytes of a dataset or a batch may lie, relative: pictures of a shuffled epoch differ by a
// little.
const sizeApart = 0.02

// AmongRuns ends the name of a condition that differs between the runs of one side.
const AmongRuns = ", among repeated runs"

// conditions lists what else differs between the first runs of the two sides, and between the runs of one side,
// weightiest first.
func conditions(before, after []*report.Report) []report.Condition {
	out := append(differences(before[0], after[0]), busyNeighbours(before, after)...)
	for _, runs := range [][]*report.Report{before, after} {
		for _, r := range runs[1:] {
			for _, c := range differences(runs[0], r) {
				c.Name += AmongRuns
				if !slices.ContainsFunc(out, func(o report.Condition) bool { return o.Name == c.Name }) {
					out = append(out, c)
				}
			}
			for _, s := range settings(runs[0], r) {
				out = append(out, report.Condition{Name: s.Setting + AmongRuns, Before: s.Before, After: s.After,
					Breaks: true, Consequence: "runs of one side must be of one setting"})
			}
		}
	}
	weight := map[bool]int{true: 0, false: 1} // what makes figures incomparable first
	slices.SortStableFunc(out, func(a, b report.Condition) int { return weight[a.Breaks] - weight[b.Breaks] })
	return out
}

func comparability(list []report.Condition) report.Comparability {
	answer := report.Comparable
	for _, c := range list {
		if c.Breaks {
			return report.NotComparable
		}
		answer = report.WithCare
	}
	return answer
}

// trait is something that should be the same on both sides; "" is not known, and says nothing.
type trait struct {
	name        string
	of          func(r *report.Report) string
	breaks      bool
	consequence string
}

const datasetTrait = "dataset"

// storageTrait and cacheCondition are called as the settings that rules recommend: where they differ, that was done.
const storageTrait, cacheCondition = "where the dataset lies", "page cache"

const commandTrait = "command"

var traits = []trait{
	{datasetTrait, datasetPath, true, "another dataset: its items may cost more or less to load"},
	{"dataset, stored as", storedAs, false, "a rewritten dataset: the change to be judged, if it holds the same items"},
	{"GPU", gpus, true, "another GPU takes batches at another rate"},
	{"usable CPUs", func(r *report.Report) string { return positive(r.Host.CPUsUsable) }, true,
		"workers get more or less CPU"},
	{"CPUs of the machine", func(r *report.Report) string { return positive(float64(r.Host.CPUsPresent)) }, true,
		"probably another machine"},
	{storageTrait, storage, false, "the change to be judged, if the dataset was moved on purpose"},
	{"trainers", func(r *report.Report) string { return positive(float64(job(r).Ranks)) }, true,
		"figures of one trainer among others: they share the CPUs"},
	{"framework", func(r *report.Report) string { return job(r).Framework }, true, "another program"},
	{"kernel", func(r *report.Report) string { return r.Host.Kernel }, false,
		"another kernel, perhaps another machine"},
	{commandTrait, commandLine, false, "whatever else it changed is part of the difference"},
	{"pipetune's mode", mode, false, "the hook gives exact figures, watching from outside inferred ones: compare " +
		"figures of one basis"},
	{"pipetune's version", func(r *report.Report) string { return r.Tool.Version }, false,
		"figures may be derived differently"},
}

func differences(b, a *report.Report) []report.Condition {
	var out []report.Condition
	items := sameItems(b, a)
	for _, t := range traits {
		if x, y := t.of(b), t.of(a); x != "" && y != "" && x != y {
			c := report.Condition{Name: t.name, Before: x, After: y, Consequence: t.consequence, Breaks: t.breaks}
			if t.name == datasetTrait && items != nil && *items {
				c.Breaks, c.Consequence = false, "the same items, rewritten or moved: the change to be judged"
			}
			if t.name == datasetTrait && rewritten(b, a) {
				c.Breaks, c.Consequence = false, sameNames
			}
			if t.name == commandTrait && report.Script(b.Job.Command) != report.Script(a.Job.Command) {
				c.Breaks, c.Consequence = true, "another program: the figures are of two jobs"
				if sameData(b, a, items) {
					c.Breaks, c.Consequence = false,
						"another script over the same data: the change to be judged, if it is a version of the job"
				}
			}
			out = append(out, c)
		}
	}
	switch {
	case items == nil:
		out = append(out, fingerprint(b, a)...)
	case !*items:
		c := report.Condition{Name: "items of the dataset", Before: itemsOf(b), After: itemsOf(a), Breaks: true,
			Consequence: "other items: they may cost more or less to load"}
		if rewritten(b, a) {
			c.Breaks, c.Consequence = false, sameNames
		}
		out = append(out, c)
	}
	if x, y, differ := apart(b, a, metric.CacheHits.Name, 0, cacheApart); differ {
		c := report.Condition{Name: cacheCondition, Before: percent(x) + " of the bytes read came from memory",
			After: percent(y), Breaks: true, Consequence: "one run read from memory what the other read from " +
				"storage: warm the cache for both, or for neither"}
		if y > x && slices.ContainsFunc(values(b), func(v report.Value) bool { return v.Setting == cacheCondition }) {
			c.Breaks, c.Consequence = false, "read once before training, as advised: the change to be judged"
		}
		out = append(out, c)
	}
	same := knownBatch(b, a)
	if x, y, differ := apart(b, a, metric.BatchBytes.Name, sizeApart, 0); differ && (same == nil || *same) {
		c := report.Condition{Name: "bytes per batch", Before: byteCount(x), After: byteCount(y),
			Consequence: "items of another size: the change to be judged, or another dataset"}
		if same == nil {
			c.Breaks, c.Consequence = true,
				"batches of another size: say it with --batch-size, and samples/s can be compared"
		}
		out = append(out, c)
	}
	return out
}

// itemsDigest is shape, type, and index=hash of some items.
var itemsDigest = regexp.MustCompile(`^[0-9x]+ \S+( [0-9]+=[0-9a-f]{16})+$`)

// sameItems says whether two datasets hold the same items, whatever their chunks, filters and place: shape and type,
// and the bytes of those that were read of both. nil: it cannot be determined.
func sameItems(b, a *report.Report) *bool {
	if !itemsDigest.MatchString(itemsOf(b)) || !itemsDigest.MatchString(itemsOf(a)) {
		return nil
	}
	x, y := strings.Fields(itemsOf(b)), strings.Fields(itemsOf(a))
	same, common := slices.Equal(x[:2], y[:2]), false
	for _, item := range x[2:] {
		index, _, _ := strings.Cut(item, "=")
		if i := slices.IndexFunc(y[2:], func(other string) bool {
			return strings.HasPrefix(other, index+"=")
		}); i >= 0 {
			common, same = true, same && y[2+i] == item
		}
	}
	if same && !common {
		return nil
	}
	return &same
}

// sameNames is what follows from files of the same names with other contents.
const sameNames = "files of the same names, rewritten: the change to be judged, if they show the same"

// rewritten reports whether two folders hold files of the same names, but for their formats, with other contents.
func rewritten(b, a *report.Report) bool {
	if same := sameItems(b, a); same == nil || *same {
		return false
	}
	x, y := strings.Fields(itemsOf(b)), strings.Fields(itemsOf(a))
	return strings.HasPrefix(x[1], "names-") && slices.Equal(x[:2], y[:2])
}

// itemsOf is what a report reports its dataset's items.
func itemsOf(r *report.Report) string {
	switch {
	case r.Job != nil:
		return r.Job.Items
	case r.Benchmark != nil:
		return r.Benchmark.Digest
	}
	return ""
}

// fingerprint compares the size of the dataset: files and bytes, as far as they were counted.
func fingerprint(b, a *report.Report) (out []report.Condition) {
	another := func(what, before, after string) {
		out = append(out, report.Condition{Name: what + " of the dataset", Before: before, After: after, Breaks: true,
			Consequence: "the dataset grew, shrank or is another"})
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	if x, y := b.Benchmark, a.Benchmark; x != nil && y != nil {
		exact := x.FilesExact && y.FilesExact
		if exact && x.Files != y.Files {
			another("files", count(x.Files), count(y.Files))
		}
		if x.Items != nil && y.Items != nil && *x.Items != *y.Items {
			another("items", count(*x.Items), count(*y.Items))
		}
		if x.Layout != nil && y.Layout != nil && (!slices.Equal(x.Layout.ItemShape, y.Layout.ItemShape) ||
			x.Layout.Dtype != y.Layout.Dtype) {
			another("items", itemOf(x.Layout), itemOf(y.Layout))
		}
		if exact && x.Bytes != y.Bytes {
			out = append(out, report.Condition{Name: "bytes of the dataset", Before: byteCount(float64(x.Bytes)),
				After: byteCount(float64(y.Bytes)), Consequence: "stored otherwise, or other items"})
		}
	}
	if x, y, differ := apart(b, a, metric.DatasetFileN.Name, sizeApart, 0); differ {
		another("files", whole(x), whole(y))
	}
	if x, y, differ := apart(b, a, metric.DatasetBytes.Name, sizeApart, 0); differ {
		another("bytes", byteCount(x), byteCount(y))
	}
	return out
}

// itemOf is what one read delivers: "1 x 64 x 128 float32".
func itemOf(l *report.Layout) string { return shape(l.ItemShape, " x ") + " " + l.Dtype }

func shape(axes []int64, separator string) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(axes), " ", separator), "[]")
}

// apart reports whether a metric of two reports differs by more than a share of the larger, plus an absolute amount.
func apart(b, a *report.Report, metric string, relative, absolute float64) (x, y float64, differ bool) {
	m, ok := b.Metrics[metric]
	n, ok2 := a.Metrics[metric]
	if !ok || !ok2 {
		return 0, 0, false
	}
	x, y = m.Center, n.Center
	return x, y, math.Abs(x-y) > relative*max(math.Abs(x), math.Abs(y))+absolute
}

func datasetPath(r *report.Report) string {
	switch {
	case r.Job != nil:
		return r.Job.Dataset
	case r.Benchmark != nil && r.Benchmark.Dataset != "":
		return r.Benchmark.Path + ": " + r.Benchmark.Dataset
	case r.Benchmark != nil:
		return r.Benchmark.Path
	}
	return ""
}

func storedAs(r *report.Report) string {
	b := r.Benchmark
	if b == nil {
		return ""
	}
	parts := []string{b.Kind}
	if b.Format != "" && b.Format != b.Kind {
		parts = append(parts, b.Format)
	}
	if l := b.Layout; l != nil {
		parts = append(parts, l.Storage)
		if len(l.Chunk) > 0 {
			parts = append(parts, "in chunks of "+shape(l.Chunk, " x "))
		}
		parts = append(parts, strings.Join(l.Filters, " + "))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// gpus names the job's GPUs, or those of the machine where it is not known which are the job's.
func gpus(r *report.Report) string {
	var ofJob, all []string
	for _, g := range r.Host.GPUs {
		all = append(all, g.Name)
		if g.OfJob {
			ofJob = append(ofJob, g.Name)
		}
	}
	if len(ofJob) > 0 {
		all = ofJob
	}
	if len(all) == 0 {
		return ""
	}
	slices.Sort(all)
	return fmt.Sprintf("%d × %s", len(all), strings.Join(slices.Compact(all), ", "))
}

func storage(r *report.Report) string {
	if b := r.Benchmark; b != nil && b.Storage != nil {
		return b.Storage.Kind + " " + b.Storage.FSType
	}
	var all []string
	for _, s := range r.Host.Storage {
		all = append(all, s.Kind+" "+s.FSType)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// sameData reports whether both jobs are known to read one dataset: then they may be two versions of one job.
func sameData(b, a *report.Report, items *bool) bool {
	return items != nil && *items || b.Job.Dataset != "" && b.Job.Dataset == a.Job.Dataset
}

func commandLine(r *report.Report) string { return strings.Join(job(r).Command, " ") }

// mode is how the job was watched. A replay does not say how it was recorded.
func mode(r *report.Report) string { return strings.TrimPrefix(job(r).Mode, "replay") }

func positive(x float64) string {
	if !(x > 0) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// byteCount tells bytes one by one: two datasets that look alike rounded are not the same.
func byteCount(x float64) string { return whole(x) + " bytes" }

func whole(x float64) string { return strconv.FormatFloat(x, 'f', 0, 64) }

func percent(x float64) string { return strconv.FormatFloat(100*x, 'f', 0, 64) + " %" }
