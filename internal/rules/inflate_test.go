package rules

import (
	"testing"

	"github.com/pipetune/pipetune/internal/diagnose"
	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/must"
)

// A dataset's size without filters goes by what an item is of it: a row, a patch, or all of it in files of one item.
func TestTheSizeOfADataset(t *testing.T) {
	for _, c := range []struct {
		shape, item string
		bytes       string // of an item
		want        float64
	}{
		{"(2000, 1024)", "", "2048", 2000 * 2048},
		{"(2000, 1024)", "(1, 1024)", "2048", 2000 * 2048},
		{"(2000, 1024)", "(2000, 1024)", "4096000", 4096000},
		{"(10, 512, 512)", "(1, 128, 128)", "32768", 10 * 16 * 32768},
		{"", "", "2048", 0},
	} {
		p := &diagnose.Pass{Evidence: must.Get(parseCase("signal hdf5_item_bytes " + c.bytes))(t).evidence}
		p.Facts.HDF5 = &evidence.HDF5{Shape: c.shape, Item: c.item}
		if got, ok := decoded(p); got != c.want && ok || ok != (c.want > 0) {
			t.Errorf("%s by %s: %v, %v", c.shape, c.item, got, ok)
		}
	}
}
