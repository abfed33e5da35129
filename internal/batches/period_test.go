package batches

import (
	"slices"
	"testing"
)

// TestOneSizeReadAmiss: the first size of a worker that is known is another tensor's, as was seen beside workers that
// restart (PyTorch 1.13): 4, 8, 10, 14, 20 and 26 tensors a batch were told of 2.
func TestOneSizeReadAmiss(t *testing.T) {
	var ledgers []*tensorLedger
	for _, amiss := range []int64{1, 0} {
		l := &tensorLedger{}
		for n := int64(0); n < 50; n++ {
			if n%10 < 6 { // as they are sighted
				l.setSize(n, []int64{65536, 512}[n%2])
			}
		}
		l.setSize(amiss, []int64{512, 65536}[amiss])
		ledgers = append(ledgers, l)
	}
	if step := repeatingSizes(ledgers); step != 2 {
		t.Errorf("sizes repeat with %d, want 2", step)
	}
	few := &tensorLedger{}
	for n := int64(0); n < 14; n++ {
		few.setSize(n, []int64{65536, 512}[n%2])
	}
	few.setSize(3, 65536)
	if step := repeatingSizes([]*tensorLedger{few}); step != 2 {
		t.Errorf("of few sizes they repeat with %d, want 2", step)
	}
}

// TestBatchesByCountsOfWrites reads the tensors per batch off counts of writes alone, and keeps silent where they tell
// nothing.
func TestBatchesByCountsOfWrites(t *testing.T) {
	repeat := func(n int, deltas ...int64) []int64 { return slices.Repeat(deltas, n) }
	for _, c := range []struct {
		name    string
		workers int
		idle    int     // readings after each that moved on
		deltas  []int64 // of each worker's writes between two readings
		want    int
	}{
		{"two tensors, some batches put earlier", 1, 2, []int64{9, 9, 1, 8, 9, 1, 8, 9}, 2},
		{"one tensor", 1, 2, repeat(6, 5), 1},
		{"two tensors, several batches between two readings", 1, 2, repeat(4, 18, 27, 9, 18, 36), 2},
		{"two tensors, workers of few batches", 4, 2, []int64{9, 18, 9}, 2},
		{"too few", 1, 2, repeat(5, 9), 0},
		{"two tensors, five batches between any two readings", 1, 0, repeat(20, 45), 0},
		{"a dataset that writes", 1, 2, []int64{9, 30, 14, 23, 9, 7, 19, 11, 6, 27}, 0},
		{"pickled batches", 1, 2, repeat(8, 2, 2, 4, 2), 0},
		{"a queue that fills and empties", 1, 2, repeat(8, 10, 10, 7), 0},
	} {
		var all []*tensorLedger
		for i := range c.workers {
			l := &tensorLedger{}
			writes := int64(100 + 13*i)
			l.readIO(writes, 0, 0)
			for _, d := range c.deltas {
				writes += d
				for range 1 + c.idle {
					l.readIO(writes, 0, 0)
				}
			}
			all = append(all, l)
		}
		var f Loader
		f.calibrate(all)
		if f.period.tensors != c.want {
			t.Errorf("%s: got %d, want %d", c.name, f.period.tensors, c.want)
		}
	}
}
