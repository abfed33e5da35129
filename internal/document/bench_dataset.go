package document

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

func datasetSection(r *report.Report) Section {
	b := r.Benchmark
	var facts Facts
	facts.add("path", b.Path)
	facts.add("kind", kindText(b))
	facts.add("files", filesText(b))
	facts.add("items", itemsText(b))
	if l := b.Layout; l != nil {
		facts.add("layout", layoutText(l))
		facts.add("chunk", chunkText(l))
	}
	if b.Storage != nil {
		facts.add("storage", storageText(b.Storage))
	}
	for _, g := range groups(r, report.ProbeRead) {
		if m := g.one(metric.CachedRatio.Name); m != nil && len(g.labels) == 0 { // the sample as it was found
			facts.add("in memory", figure(m)+" of the sample, before it was read")
			break
		}
	}
	return section("Dataset", "", Supporting, facts)
}

func kindText(b *report.Benchmark) string {
	text := cmp.Or(format.Kind(b.Kind).Items().Words, b.Kind)
	if b.Format != "" && !strings.EqualFold(b.Format, b.Kind) {
		text += " (" + b.Format + ")"
	}
	switch {
	case b.Layout != nil && b.Layout.Members:
		text += ", datasets " + b.Dataset
	case b.Dataset != "":
		text += ", dataset " + b.Dataset
	}
	return text
}

func filesText(b *report.Benchmark) string {
	text := unit.Count(b.Files, "file", "files")
	if !b.FilesExact {
		text = "at least " + text + " (the walk was cut off)"
	}
	text += ", " + unit.Bytes(float64(b.Bytes))
	if b.LargestDir > 1 && b.LargestDir < b.Files {
		text += "; the fullest folder has " + unit.Number(float64(b.LargestDir))
	} else if b.LargestDir > 1 {
		text += ", all in one folder"
	}
	return text
}

func itemsText(b *report.Benchmark) string {
	text := "not counted"
	if b.Items != nil {
		text = unit.Number(float64(*b.Items))
	}
	switch {
	case b.ItemBytes != nil:
		text += ", of " + unit.Bytes(float64(*b.ItemBytes)) + " each"
	case b.Items != nil:
		text += ", of differing size"
	}
	if b.ItemNoun != "" {
		text += ", each a " + b.ItemNoun
	}
	if l := b.Layout; l != nil && len(l.ItemShape) > 0 && (b.ItemBytes != nil || !l.Members) {
		text += " " + shape(l.ItemShape)
	}
	return text
}

func layoutText(l *report.Layout) string {
	text := l.Storage + ", " + shape(l.Shape) + " " + l.Dtype
	if len(l.Filters) > 0 {
		text += ", " + strings.Join(l.Filters, " + ")
	} else {
		text += ", no filter"
	}
	if l.StoredBytes != nil {
		text += ", stored in " + unit.Bytes(float64(*l.StoredBytes))
	}
	return text
}

func chunkText(l *report.Layout) string {
	if l.Chunk == nil {
		return ""
	}
	text := shape(l.Chunk)
	if l.ChunkBytes != nil {
		text += ", " + unit.Bytes(float64(*l.ChunkBytes)) + " decoded"
	}
	items, chunks := counted(l.ItemsPerChunk, "item"), counted(l.ChunksPerItem, "chunk")
	return text + ": " + items + " per chunk, " + chunks + " per item"
}

// counted writes a count that may be missing.
func counted(n *int64, noun string) string {
	if n == nil {
		return "? " + noun + "s"
	}
	return unit.Count(*n, noun, noun+"s")
}

// shape writes axes as HDF5's and NumPy's users do.
func shape(axes []int64) string {
	return "(" + strings.Trim(strings.ReplaceAll(fmt.Sprint(axes), " ", ", "), "[]") + ")"
}

func storageText(s *report.Storage) string {
	text := s.Kind
	if s.FSType != s.Kind {
		text += ", " + cmp.Or(s.FSType, "file system not known")
	}
	if len(s.Devices) > 0 {
		text += " on " + strings.Join(s.Devices, ", ")
	}
	return text
}
