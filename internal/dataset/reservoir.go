package dataset

import (
	"cmp"
	"slices"
)

// reservoir draws files at random from a stream whose length is not known. Every file gets a number made of the seed
// and its path, and the files of the smallest numbers are kept (bottom-k sampling: Cohen and Kaplan, PODC 2007). So
// what is drawn does not depend on the order in which a file system lists its names, a copy of the tree elsewhere gives
// the same sample, and the reservoir may shrink while it fills.
type reservoir struct {
	seed     uint64
	files    int // at most this many
	room     int // bytes of paths, at most; a file alone is kept whatever its length
	overhead int // bytes that every path has besides, those of the root
	bytes    int
	kept     []drawn // by their numbers
	seen     int64
}

type drawn struct {
	key  uint64
	path string // relative to the root
}

// offer takes a file into account and keeps it if its number is small enough.
func (r *reservoir) offer(folder, name []byte) {
	r.seen++
	key := drawKey(r.seed, folder, name)
	if len(r.kept) >= r.files && key >= r.kept[len(r.kept)-1].key {
		return
	}
	at, _ := slices.BinarySearchFunc(r.kept, key, func(d drawn, key uint64) int { return cmp.Compare(d.key, key) })
	r.kept = slices.Insert(r.kept, at, drawn{key: key, path: string(folder) + string(name)})
	r.bytes += r.overhead + len(folder) + len(name)
	for len(r.kept) > r.files || r.bytes > r.room && len(r.kept) > 1 {
		if len(r.kept) <= r.files {
			r.files = len(r.kept) - 1 // for good: were it to grow again, files seen later would have better odds
		}
		last := len(r.kept) - 1
		r.bytes -= r.overhead + len(r.kept[last].path)
		r.kept = r.kept[:last]
	}
}

// inDrawnOrder returns what was kept in random order.
func (r *reservoir) inDrawnOrder() []string {
	paths := make([]string, len(r.kept))
	for i, d := range r.kept {
		paths[i] = d.path
	}
	return paths
}

// drawKey is FNV-1a over the seed and the path, its bits mixed as in SplitMix64, because FNV alone leaves paths that
// differ in their last byte close together.
func drawKey(seed uint64, folder, name []byte) uint64 {
	h := seed ^ 0xcbf29ce484222325
	for _, part := range [2][]byte{folder, name} {
		for _, b := range part {
			h = (h ^ uint64(b)) * 0x100000001b3
		}
	}
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
