package dataset

import "testing"

// However many files there are, none but those drawn are remembered: a file more makes no garbage either.
func TestCensusDoesNotGrow(t *testing.T) {
	c := newCensus(SurveyOptions{MaxFiles: 100}, 10)
	folder, name, i := []byte("class_00007/"), []byte("0000000.JPEG"), 0
	next := func() {
		for at, rest := 6, i; at >= 0; at, rest = at-1, rest/10 {
			name[at] = byte('0' + rest%10)
		}
		c.add(folder, name)
		i++
	}
	for range 500_000 {
		next()
	}
	if allocations := testing.AllocsPerRun(100_000, next); allocations > 0 {
		// rounded down: of 100,000 files, some 20 are drawn
		t.Errorf("%g allocations for each file", allocations)
	}
	if c.files() != 600_001 || len(c.pools[1].drawn.kept) != 100 || len(c.suffixes) != 1 {
		t.Errorf("%d files, %d kept, %d endings", c.files(), len(c.pools[1].drawn.kept), len(c.suffixes))
	}
}
