package probe

import (
	"bytes"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/format"
)

// grid is how chunks that are read whole divide the items of a sample. The zero value: there are none.
type grid struct {
	chunk []int64 // shape of a chunk
	patch []int64 // shape of an item that is a patch; nil: an item is an index of the first axis
	// loose is how many more indices chunks may span than the grid says: a virtual dataset's begin anywhere.
	loose int64
}

// chunks is the grid of the session's dataset. libhdf5 reads a chunk whole where it went through filters, and where it
// fits into the chunk cache: the items in it that come later are copied out of memory. Of others it reads the part that
// is asked for (H5D__chunk_cacheable).
func (s *session) chunks() grid {
	rows := int64(0)
	for _, f := range s.sample.Files {
		rows = max(rows, f.ChunkRows)
	}
	if rows > 1 {
		return grid{chunk: []int64{rows}, patch: s.sample.ItemShape, loose: rows - 1}
	}
	l := s.options.Layout
	if l == nil || l.ItemsPerChunk == nil {
		return grid{}
	}
	d := l.Dataset
	if len(d.Filters) == 0 && (d.ChunkBytes == nil || *d.ChunkBytes > chunkCache(&s.sample)) {
		return grid{}
	}
	return grid{chunk: d.Chunk, patch: s.sample.ItemShape} // access has seen to it that no length is 0
}

// chunkCache is how many bytes of chunks a dataset of a sample holds that is kept open.
func chunkCache(sample *dataset.Sample) int64 {
	if sample.ChunkCacheBytes != nil {
		return *sample.ChunkCacheBytes
	}
	return int64(format.ChunkCacheBytes)
}

// onlyCached reports whether a part of the items stays in the chunk cache, and all of them do not.
func (s *session) onlyCached(sample *dataset.Sample, part, all []int) bool {
	return s.staysCached(sample, part) && !s.staysCached(sample, all)
}

// staysCached reports whether items lie in no more chunks than the chunk cache holds: read round after round, they come
// out of it. Of files that were rewritten the layout is not known; a dataset that is opened for an item has a new
// cache.
func (s *session) staysCached(sample *dataset.Sample, items []int) bool {
	l := s.options.Layout
	if sample.Members || l == nil || l.ChunksPerItem == nil || l.Dataset.ChunkBytes == nil ||
		!bytes.Equal(sample.Files[0].Path, s.sample.Files[0].Path) {
		return false
	}
	holds := chunkCache(sample) / max(1, *l.Dataset.ChunkBytes) / max(1, *l.ChunksPerItem)
	alone, in := apart(sample, items, len(items), 0, s.chunks().byIndex()), map[int]bool{}
	for _, i := range alone {
		in[sample.Items[i].File] = true
	}
	return int64(len(alone)) <= holds*int64(len(in))
}

// byIndex is the grid for reading each chunk once: of patches there is none, because a chunk may hold no more than a
// part of one, nor of chunks whose beginnings are not known.
func (g grid) byIndex() grid {
	if g.patch != nil || g.loose > 0 {
		return grid{}
	}
	return g
}

// shared reports whether several items may lie in a chunk.
func (g grid) shared() bool { return len(g.chunk) > 0 && (g.patch != nil || g.chunk[0] > 1) }

// box is the first and the last chunk along each axis that hold a part of an item; of an index, along the first.
func (g grid) box(ref dataset.Ref) [][2]int64 {
	if g.patch == nil || len(ref.Corner) < len(g.chunk) || len(g.patch) < len(g.chunk) {
		index := ref.Index
		if ref.Name != "" { // chunks begin anew in each dataset
			index = ref.Row
		}
		return [][2]int64{{index / g.chunk[0], (index + g.loose) / g.chunk[0]}}
	}
	out := make([][2]int64, len(g.chunk))
	for axis, length := range g.chunk {
		out[axis] = [2]int64{ref.Corner[axis] / length, (ref.Corner[axis] + g.patch[axis] - 1) / length}
	}
	out[0][1] = (ref.Corner[0] + g.patch[0] - 1 + g.loose) / g.chunk[0]
	return out
}

// met remembers the chunks that items lie in.
type met struct {
	grid
	boxes map[slab][][][2]int64
}

// slab is a chunk along the first axis: of a file, and of a dataset in it where there are several.
type slab struct {
	file int
	name string
	at   int64
}

func newMet(g grid) met { return met{g, map[slab][][][2]int64{}} }

func (m met) add(ref dataset.Ref) {
	if !m.shared() {
		return
	}
	box := m.box(ref)
	for at := box[0][0]; at <= box[0][1]; at++ {
		key := slab{ref.File, ref.Name, at}
		m.boxes[key] = append(m.boxes[key], box)
	}
}

// has reports whether one of the chunks that hold the item holds a part of another one that was added.
func (m met) has(ref dataset.Ref) bool {
	if !m.shared() {
		return false
	}
	box := m.box(ref)
	for at := box[0][0]; at <= box[0][1]; at++ {
		for _, other := range m.boxes[slab{ref.File, ref.Name, at}] {
			if overlap(box[1:], other[1:]) {
				return true
			}
		}
	}
	return false
}

func overlap(a, b [][2]int64) bool {
	for axis := range min(len(a), len(b)) {
		if a[axis][0] > b[axis][1] || b[axis][0] > a[axis][1] {
			return false
		}
	}
	return true
}
