package dataset

import (
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// held is a dataset of a made-up file: float32 of a shape, or of the type that is given.
func held(path, kind string, element int64, shape ...int64) hdf5.Dataset {
	d := hdf5.Dataset{Path: untrusted.String(path), Type: kind, ElementBytes: element, Shape: shape,
		Storage: hdf5.Contiguous}
	d.ItemBytes = hdf5.Product(element, shape[1:])
	d.StoredBytes = hdf5.Product(element, shape)
	return d
}

// What one index of the first axis is no sample of is said, and nothing is said of what may well be one.
func TestPartOf(t *testing.T) {
	images, labels := held("/x", "uint8", 1, 100, 32, 32, 3), held("/y", "int64", 8, 100)
	table, values := held("/t", "compound (9 fields)", 72, 1000), held("/v", "float32", 4, 1000)
	pca := held("/obsm/pca", "float32", 4, 1000, 50)
	encoded := hdf5.Dataset{Path: untrusted.String("/jpeg"), Type: "uint8", ElementBytes: 16, Shape: []int64{64},
		Storage: hdf5.Contiguous}
	var each, alone []hdf5.Dataset
	for i := range votes + 1 {
		name := "/s" + string(rune('a'+i))
		each = append(each, held(name+"/image", "uint8", 1, 128, 128, 3), held(name+"/label", "int64", 8, 1))
		alone = append(alone, held(name, "uint8", 1, int64(1000+i)))
	}
	for name, c := range map[string]struct {
		of    hdf5.Dataset
		file  []hdf5.Dataset
		noun  string
		words string
	}{
		"samples with labels":      {of: images, file: []hdf5.Dataset{images, labels}},
		"encoded pictures":         {of: encoded, file: []hdf5.Dataset{encoded, labels}},
		"rows of a table":          {of: table, file: []hdf5.Dataset{table}},
		"one axis":                 {values, []hdf5.Dataset{values}, "number", "--item-shape"},
		"a group for each sample":  {each[0], each, "row", "one for each sample"},
		"an array for each sample": {alone[0], alone, "number", "one for each sample"},
		"values and offsets": {values, []hdf5.Dataset{values, held("/offsets", "int64", 8, 11)}, "number",
			"beside it"},
		"beside a sparse matrix": {pca, []hdf5.Dataset{pca, held("/X/data", "float32", 4, 9000),
			held("/X/indices", "int32", 4, 9000), held("/X/indptr", "int32", 4, 1001)}, "row", "/X is a sparse matrix"},
	} {
		got := partOf(hdf5.File{Datasets: c.file}, c.of)
		switch {
		case c.noun == "" && got != nil:
			t.Errorf("%s: %+v, want samples", name, got)
		case c.noun != "" && (got == nil || got.Noun != c.noun || !strings.Contains(got.Why, c.words)):
			t.Errorf("%s: %+v, want a %s, and %q", name, got, c.noun, c.words)
		}
	}
}

// The largest dataset is taken, unless it cannot be read and another of like size can.
func TestRatherWhatCanBeRead(t *testing.T) {
	large, half, small := held("/large", "float32", 4, 100, 20), held("/half", "float32", 4, 100, 10),
		held("/small", "float32", 4, 100, 9)
	large.Filters = []hdf5.Filter{{ID: 32000, Name: untrusted.String("lzf")}}
	for want, file := range map[string][]hdf5.Dataset{"/half": {large, half}, "/large": {large, small}} {
		s := &surveyor{}
		if got := s.rather(access(large), hdf5.File{Datasets: file}).Dataset.Path.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if said := len(s.out.Notes) == 1; said != (want == "/half") {
			t.Errorf("%s: said %q", want, s.out.Notes)
		}
	}
	large.Filters[0].Available = true
	if got := (&surveyor{}).rather(access(large),
		hdf5.File{Datasets: []hdf5.Dataset{large, half}}).Dataset.Path.String(); got != "/large" {
		t.Errorf("%s was taken for what can be read", got)
	}
}
