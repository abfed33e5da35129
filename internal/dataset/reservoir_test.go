package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fill offers n files, in an order turned by some places.
func fill(r *reservoir, n, turn int) {
	for i := range n {
		r.offer([]byte("folder/"), fmt.Appendf(nil, "%06d.jpg", (i+turn)%n))
	}
}

// Each of 100 files is drawn by 10 in 100 of 4000 seeds: 400 times, give or take 19, which is one standard deviation.
// Of 100 counts, one beyond five of them comes up in 1 of 17,000 such tests, and this one always has the same outcome.
func TestReservoirIsFair(t *testing.T) {
	counts := map[string]int{}
	for seed := range 4000 {
		r := reservoir{seed: uint64(seed), files: 10, room: 1 << 20}
		fill(&r, 100, 0)
		paths := r.inDrawnOrder()
		if len(paths) != 10 || r.seen != 100 {
			t.Fatalf("%d drawn of %d", len(paths), r.seen)
		}
		for _, p := range paths {
			counts[p]++
		}
	}
	if len(counts) != 100 {
		t.Errorf("%d of 100 files were ever drawn", len(counts))
	}
	for path, n := range counts {
		if n < 400-95 || n > 400+95 {
			t.Errorf("%s was drawn %d times of 4000", path, n)
		}
	}
}

func TestReservoirDoesNotMindTheOrder(t *testing.T) {
	draw := func(seed uint64, turn int) []string {
		r := reservoir{seed: seed, files: 50, room: 1 << 20}
		fill(&r, 5000, turn)
		return r.inDrawnOrder()
	}
	if !slices.Equal(draw(1, 0), draw(1, 1234)) {
		t.Error("another order of names gave another sample")
	}
	if slices.Equal(draw(1, 0), draw(2, 0)) {
		t.Error("another seed gave the same sample")
	}
}

func TestReservoirKeepsWithinItsRoom(t *testing.T) {
	r := reservoir{seed: 1, files: 100, room: 1000, overhead: 20}
	fill(&r, 500, 0) // 37 bytes each
	if len(r.kept) != 1000/37 || r.bytes != 37*len(r.kept) {
		t.Errorf("%d files of %d bytes kept", len(r.kept), r.bytes)
	}
	fair := reservoir{seed: 1, files: 1000 / 37, room: 1 << 20}
	fill(&fair, 500, 0)
	if !slices.Equal(r.inDrawnOrder(), fair.inDrawnOrder()) {
		t.Error("a reservoir that shrank holds other files than one that was small from the start")
	}
	long := reservoir{seed: 1, files: 100, room: 10}
	long.offer(nil, []byte(strings.Repeat("x", 4000)))
	if len(long.kept) != 1 {
		t.Errorf("%d files kept where one alone is too long", len(long.kept))
	}
}
