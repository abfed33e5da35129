package batches

import "testing"

// TestWhatNewWorkersWriteBesideBatches: a worker of four batches of two tensors wrote 37 times, 9 for each batch and
// once before. Those that are sighted show how often that is.
func TestWhatNewWorkersWriteBesideBatches(t *testing.T) {
	f := &Loader{aside: probesFolder, writesPerTensor: 4.5}
	ended := func() float64 {
		l := &tensorLedger{born: true, aside: f.aside}
		l.readIO(f.aside+36, 0, 0)
		return l.credit(4.5) + l.finish(4.5, 2)
	}
	if got := ended(); got != 8 {
		t.Errorf("a forked worker is credited %v, want 8", got)
	}
	late := &tensorLedger{born: true, aside: 1} // sighted with its first two on their way, and then no more
	late.readIO(10, 0, 0)
	late.list(0, 1)
	late.readIO(37, 0, 0)
	if got := late.credit(4.5) + late.finish(4.5, 2); got != 8 {
		t.Errorf("one sighted once is credited %v, want 8", got)
	}
	var all []*tensorLedger
	for i, writes := range []int64{20 + 9, 20 + 18 + 4, 20 + 27, 3} { // one in the middle of a batch, one from before
		l := &tensorLedger{born: i < 3}
		l.readIO(writes, 0, 0)
		l.list(int64(2*i+2), int64(2*i+3))
		all = append(all, l)
		if f.findAside(all); i < 2 && f.aside != probesFolder {
			t.Errorf("%d workers are enough for %d", i+1, f.aside)
		}
	}
	if f.aside != 20 || ended() != 8 {
		t.Errorf("spawned workers write %d before, want 20; one is credited %v", f.aside, ended())
	}
}

// TestSetsThatWereNotCountedWhole: the last batches of sets are often missed; of other sets nothing is made up.
func TestSetsThatWereNotCountedWhole(t *testing.T) {
	for name, c := range map[string]struct{ counted, missed []float64 }{
		"sets of 8": {[]float64{7, 8, 6, 8, 7, 8, 6, 9, 7, 3}, []float64{0, 0, 0, 0, 1, 0, 2, 0, 1, 0}},
		"evaluations of 4 between": {[]float64{10, 4, 10, 4, 9, 4, 10, 3, 10, 4, 9, 3},
			[]float64{0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1}},
		"now and then one too many": {[]float64{8, 8, 8, 9, 8, 8, 9, 8, 8, 8}, make([]float64, 10)},
		"of any length":             {[]float64{20, 37, 23, 35, 21, 31, 28, 37, 26, 33, 20, 23}, make([]float64, 12)},
	} {
		var r regularity
		for i, batches := range c.counted {
			if missed := r.missed(batches); missed != c.missed[i] {
				t.Errorf("%s: set %d of which %v were counted: %v missed, want %v", name, i, batches, missed,
					c.missed[i])
			}
		}
	}
}

// TestNothingWrittenIsOnNoGrid: of workers that make one batch of two tensors, 0 and 10 writes would be two batches of
// one tensor.
func TestNothingWrittenIsOnNoGrid(t *testing.T) {
	var all []*tensorLedger
	for range 12 {
		l := &tensorLedger{born: true, aside: probesFolder}
		for _, writes := range []int64{0, 0, 10, 10, 10} {
			l.readIO(writes, 0, 0)
		}
		l.list(0, 1)
		all = append(all, l)
	}
	f := &Loader{}
	if f.calibrate(all); f.period.tensors != 2 {
		t.Errorf("%d tensors per batch, want 2", f.period.tensors)
	}
}
