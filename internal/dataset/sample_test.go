package dataset

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		total, n, chunk int64
		want            int // items drawn, at least
		run             int // length of the longest run, at least
	}{
		{10, 100, 0, 10, 10},                                 // all there are
		{100, 100, 7, 100, 100},                              // just as many
		{1_000_000, 4096, 0, 4096, 64},                       // 64 runs of 64
		{1_000_000, 4096, 1, 4096, 64},                       // a chunk for each
		{1_000_000, 4096, 64, 4096, 64},                      // a run is a chunk
		{1_000_000, 4096, 48, 4000, 96},                      // two chunks
		{1_000_000, 4096, 1000, 4000, 1000},                  // four chunks
		{1_000_000, 4096, 500_000, 4096, 1024},               // the beginnings of both chunks
		{5000, 4096, 5000, 4096, 4096},                       // there is but one place
		{4097, 4096, 0, 4000, 64},                            // all but one
		{200, 100, 0, 100, 50},                               // not a multiple of 64
		{50, 20, 0, 20, 20},                                  // less than a run
		{1_000_000, 3, 64, 3, 3},                             // few
		{math.MaxInt64, 4096, 1 << 40, 4096, 1024},           // enormous
		{math.MaxInt64, 4096, math.MaxInt64 - 1, 4096, 4096}, // a chunk and one item more
	} {
		for seed := range uint64(20) {
			got := spread(rand.New(rand.NewPCG(seed, 0)), c.total, c.n, c.chunk)
			if len(got) < c.want || int64(len(got)) > c.n {
				t.Fatalf("%+v: %d items", c, len(got))
			}
			longest, run := 0, 0
			for i, index := range got {
				if index < 0 || index >= c.total || i > 0 && index <= got[i-1] {
					t.Fatalf("%+v: index %d after %d", c, index, got[max(i-1, 0)])
				}
				if i == 0 || index != got[i-1]+1 {
					run = 0
					if c.chunk > 0 && index%c.chunk != 0 {
						t.Fatalf("%+v: a run begins at %d, inside of a chunk", c, index)
					}
				}
				run++
				longest = max(longest, run)
			}
			if longest < c.run {
				t.Errorf("%+v: no run of more than %d", c, longest)
			}
		}
	}
	for _, c := range [][2]int64{{0, 5}, {5, 0}, {-1, 5}} {
		if got := spread(rand.New(rand.NewPCG(0, 0)), c[0], c[1], 1); got != nil {
			t.Errorf("%v of none", got)
		}
	}
}

// The runs lie all over the range: every tenth of it has its share of them.
func TestSpreadGoesAllOver(t *testing.T) {
	tenths := make([]int, 10)
	for _, index := range spread(rand.New(rand.NewPCG(3, 3)), 100_000, 4096, 0) {
		tenths[index/10_000]++
	}
	for i, n := range tenths {
		if n < 300 || n > 520 { // 6.4 runs of 64, give or take one and what a border cuts
			t.Errorf("%d items in tenth %d", n, i)
		}
	}
}

func TestShares(t *testing.T) {
	lots := func(items ...int64) []lot {
		out := make([]lot, len(items))
		for i, n := range items {
			out[i].items = n
		}
		return out
	}
	for name, c := range map[string]struct {
		lots   []lot
		wanted int64
		want   []int64
	}{
		"evenly":               {lots(100, 100, 100), 30, []int64{10, 10, 10}},
		"small ones give":      {lots(100, 2, 100), 30, []int64{14, 2, 14}},
		"there are not enough": {lots(1, 2, 3), 30, []int64{1, 2, 3}},
		"more files":           {lots(5, 5, 5, 5), 2, []int64{1, 1, 0, 0}},
		"none":                 {nil, 10, []int64{}},
	} {
		if got := shares(c.lots, c.wanted); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// Counted out: a stretch at each of its places, and the chunks it lies in.
func TestTouched(t *testing.T) {
	for axis := int64(1); axis < 14; axis++ {
		for length := int64(1); length <= axis; length++ {
			for chunk := int64(1); chunk < 16; chunk++ {
				total, places := 0.0, 0.0
				for at := int64(0); at+length <= axis; at++ {
					total += float64((at+length-1)/chunk - at/chunk + 1)
					places++
				}
				if got := touched(axis, length, chunk); math.Abs(got-total/places) > 1e-9 {
					t.Fatalf("%d of %d in chunks of %d: %g, want %g", length, axis, chunk, got, total/places)
				}
			}
		}
	}
}
