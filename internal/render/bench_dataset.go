package render

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

// kindWords are the kinds of datasets in words.
var kindWords = map[string]string{"hdf5": "HDF5", "image": "pictures", "npy": "NumPy array", "tar": "tar archive", "other": "raw bytes"}

// datasetSection says what was measured.
func datasetSection(r *report.Report) section {
	b := r.Benchmark
	s := section{title: "DATASET"}
	add := func(name, text string) {
		if text != "" {
			s.facts = append(s.facts, fact{name, text})
		}
	}
	add("path", cut(safe(b.Path), width-16))
	add("kind", kindText(b))
	add("files", filesText(b))
	add("items", itemsText(b))
	if l := b.Layout; l != nil {
		add("layout", layoutText(l))
		add("chunk", chunkText(l))
	}
	if st := b.Storage; st != nil {
		add("storage", storageText(st))
	}
	for _, g := range groups(r, report.ProbeRead) {
		if m := g.one(cachedRatio); m != nil && len(g.labels) == 0 { // the sample as it was found
			add("in memory", figure(m)+" of the sample, before it was read")
			break
		}
	}
	return s
}

func kindText(b *report.Benchmark) string {
	text := cmp.Or(kindWords[b.Kind], b.Kind)
	if b.Format != "" && !strings.EqualFold(b.Format, b.Kind) {
		text += " (" + b.Format + ")"
	}
	if b.Dataset != "" {
		text += ", dataset " + b.Dataset
	}
	return text
}

func filesText(b *report.Benchmark) string {
	text := plural(b.Files, "file")
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
	if l := b.Layout; l != nil && len(l.ItemShape) > 0 {
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
	return text + ": " + known(l.ItemsPerChunk, "item") + " per chunk, " + known(l.ChunksPerItem, "chunk") + " per item"
}

func known(n *int64, noun string) string {
	if n == nil {
		return "? " + noun + "s"
	}
	return plural(*n, noun)
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return unit.Number(float64(n)) + " " + noun + "s"
}

// shape writes axes as HDF5's and NumPy's users do.
func shape(axes []int64) string {
	list := make([]string, len(axes))
	for i, n := range axes {
		list[i] = strconv.FormatInt(n, 10)
	}
	return "(" + strings.Join(list, ", ") + ")"
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
