package dataset

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/must"
)

func TestSurveyHDF5(t *testing.T) {
	path := filepath.Join(fixtures, "layouts.h5")
	for name, c := range map[string]struct {
		o         SurveyOptions
		items     int64
		drawn     int
		itemBytes int64
		chunk     int64
		amplified float64
	}{
		"the likely one":        {SurveyOptions{}, 24, 24, 96, 4, 4}, // the largest that was written
		"one never written":     {SurveyOptions{Dataset: "unallocated"}, 1000, 1000, 8000, 10, 10},
		"named without a slash": {SurveyOptions{Dataset: "gzip"}, 24, 24, 24, 8, 8},
		"named with one":        {SurveyOptions{Dataset: "/gzip"}, 24, 24, 24, 8, 8},
		"a few of many":         {SurveyOptions{Dataset: "unallocated", MaxItems: 200}, 1000, 200, 8000, 10, 10},
		"a patch":               {SurveyOptions{Dataset: "gzip", ItemShape: []int64{1, 2, 3}}, 24, 24, 6, 8, 32},
		"a patch of the rest":   {SurveyOptions{Dataset: "gzip", ItemShape: []int64{2, 3}}, 24, 24, 6, 8, 32},
		"several at once": {SurveyOptions{Dataset: "gzip", ItemShape: []int64{5, 4, 6}}, 4, 4, 120, 1,
			1.4 * 192 / 120},
		"all of it":               {SurveyOptions{Dataset: "gzip", ItemShape: []int64{24, 4, 6}}, 1, 1, 576, 1, 1},
		"types that vary in size": {SurveyOptions{Dataset: "types/str"}, 2, 2, -1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := must.Get(surveyed(t, path, c.o))(t)
			check(t, got)
			if got.Items == nil || *got.Items != c.items || len(got.Sample.Items) != c.drawn ||
				(got.ItemBytes == nil) != (c.itemBytes < 0) || got.ItemBytes != nil && *got.ItemBytes != c.itemBytes {
				t.Errorf("%v items of %v bytes, %d drawn; want %+v", got.Items, got.ItemBytes, len(got.Sample.Items), c)
			}
			if got.Access == nil {
				t.Fatal("no access")
			}
			if c.chunk > 0 && (*got.Access.ItemsPerChunk != c.chunk ||
				math.Abs(*got.Access.Amplification-c.amplified) > 1e-9) {
				t.Errorf("%d items in a chunk, amplified %g times; want %d, %g", *got.Access.ItemsPerChunk,
					*got.Access.Amplification, c.chunk, c.amplified)
			}
			for _, item := range got.Sample.Items {
				for axis, n := range item.Corner {
					if n < 0 || n > got.Access.Dataset.Shape[axis]-got.Sample.ItemShape[axis] ||
						item.Corner[0] != item.Index {
						t.Fatalf("a patch at %v", item.Corner)
					}
				}
			}
		})
	}
}

func TestSurveyFolderOfHDF5(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		copyOf(t, "layouts.h5", filepath.Join(dir, fmt.Sprintf("shard_%d.h5", i)))
	}
	copyOf(t, "userblock.h5", filepath.Join(dir, "other.h5")) // has another dataset
	write(t, filepath.Join(dir, "text.h5"), []byte("just text"))
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "layouts.h5")))(t)
	write(t, filepath.Join(dir, "cut.h5"), raw[:len(raw)/2])
	died := filepath.Join(dir, "shard_4.h5")
	got := must.Get(surveyed(t, dir, SurveyOptions{Dataset: "chunk_many", MaxItems: 30,
		Avoid: [][]byte{[]byte(died)}}))(t)
	check(t, got)
	if got.Files != 8 || got.Items != nil || len(got.Sample.Files) != 4 || len(got.Sample.Items) < 24 ||
		len(got.Sample.Items) > 30 || got.Sample.Dataset != "/chunk_many" {
		t.Errorf("%+v", got)
	}
	reasons := map[string]string{}
	for _, u := range got.Unread {
		reasons[u.Reason] = string(u.Example)
	}
	want := map[string]string{
		"no dataset to read of that name": filepath.Join(dir, "other.h5"),
		hdf5.ErrNotHDF5.Error():           filepath.Join(dir, "text.h5"),
		hdf5.ErrTruncated.Error():         filepath.Join(dir, "cut.h5"),
		errAvoided.Error():                died,
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("unread (-want +got):\n%s", diff)
	}
	walked, err := surveyed(t, dir, SurveyOptions{WalkOnly: true})
	if err != nil || len(walked.Sample.Files) != 8 || len(walked.Sample.Items) != 0 || walked.Access != nil {
		t.Errorf("a walk alone: %+v, %v", walked, err)
	}
}

// A file for each item has no first axis that counts them.
func TestSurveyFileForEachItem(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		copyOf(t, "userblock.h5", filepath.Join(dir, "h5", fmt.Sprintf("%d.h5", i))) // x, 24 by 4 by 6 bytes
		copyOf(t, "plain.npy", filepath.Join(dir, "npy", fmt.Sprintf("%d.npy", i)))  // the same
	}
	for _, name := range []string{"h5", "npy"} {
		got := must.Get(surveyed(t, filepath.Join(dir, name), SurveyOptions{}))(t)
		check(t, got)
		if !slices.Equal(got.Sample.ItemShape, []int64{24, 4, 6}) || *got.Items != 6 || len(got.Sample.Items) != 6 ||
			*got.ItemBytes != 576 || len(got.Notes) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		rows, err := surveyed(t, filepath.Join(dir, name), SurveyOptions{ItemShape: []int64{4, 6}})
		if err != nil || *rows.Items != 6*24 || len(rows.Sample.Items) != 6*24 || *rows.ItemBytes != 24 {
			t.Errorf("%s by rows: %+v, %v", name, rows, err)
		}
	}
}

func TestSurveyNpy(t *testing.T) {
	got, err := surveyed(t, filepath.Join(fixtures, "plain.npy"), SurveyOptions{})
	if err != nil || *got.Items != 24 || *got.ItemBytes != 24 || len(got.Sample.Items) != 24 {
		t.Errorf("%+v, %v", got, err)
	}
	check(t, got)
	got, err = surveyed(t, filepath.Join(fixtures, "fields.npy"), SurveyOptions{})
	if err != nil || *got.Items != 3 || *got.ItemBytes != 4+2*8 {
		t.Errorf("%+v, %v", got, err)
	}
	raw := must.Get(os.ReadFile(filepath.Join(fixtures, "plain.npy")))(t)
	cut := filepath.Join(t.TempDir(), "cut.npy")
	write(t, cut, raw[:len(raw)-1])
	for path, reason := range map[string]string{
		cut:                                    errCutArray.Error(),
		filepath.Join(fixtures, "scalar.npy"):  errScalar.Error(),
		filepath.Join(fixtures, "objects.npy"): errPickled.Error(),
		filepath.Join(fixtures, "fortran.npy"): errColumns.Error(),
	} {
		if got, err := surveyed(t, path, SurveyOptions{}); !errors.Is(err, ErrNoItems) || !strings.Contains(err.Error(),
			reason) {
			t.Errorf("%s: %+v, %v; want %s", path, got.Sample, err, reason)
		}
	}
}
