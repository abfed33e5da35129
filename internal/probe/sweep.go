package probe

import (
	"context"
	"slices"

	"github.com/pipetune/pipetune/internal/benchmark"
	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/unit"
	"github.com/pipetune/pipetune/pkg/report"
)

const (
	mib       = 1 << 20
	mostCache = 256 * mib // of all files that are open together; a job has it in each worker
	cacheStep = 4         // from one size to the next
	// byChance is the largest share of the sample's chunks that a cache may hold in random order, where the dataset has
	// more chunks than the sample: a larger one would find chunks again so often in the sample as it never would in the
	// dataset.
	byChance = 0.05
)

type cacheSize struct {
	bytes int64
	order string
	fill  int    // chunks it holds, of those that the sample meets at random
	what  string // for people
}

// weight is how long measuring it takes, in shares: filling it comes first. gzip is undone at some 250 MiB/s.
func (c cacheSize) weight(chunk int64) float64 { return 1 + float64(int64(c.fill)*chunk)/(64*mib) }

// sweep lists the sizes of the chunk cache that are tried, the default first: what the others gain is reckoned from it.
func (s *session) sweep() []cacheSize {
	l := s.options.Layout
	if l == nil || l.ItemsPerChunk == nil || l.Dataset.ChunkBytes == nil || *l.Dataset.ChunkBytes <= 0 ||
		s.sample.Members {
		return nil // contiguous data has no chunks to cache, and a dataset opened for an item has a new cache
	}
	chunk := *l.Dataset.ChunkBytes
	drawn, files, ok := chunksOf(&s.sample, l.Dataset.Shape, l.Dataset.Chunk)
	if !ok {
		return nil
	}
	whole := dataset.ChunksIn(l.Dataset.Shape, l.Dataset.Chunk) * chunk // of one file: each has its own cache
	sample := drawn * chunk / int64(min(files, dataset.MaxOpen))
	most := s.cacheWithin(int64(min(files, dataset.MaxOpen)))
	var first, rest []cacheSize
	for _, order := range []string{random, sequential} {
		sizes := []int64{format.ChunkCacheBytes}
		for _, size := range candidates(chunk, whole, most) {
			if size >= whole || sample >= whole || order == random && float64(size) <= byChance*float64(sample) ||
				order == sequential && size <= sample/2 {
				sizes = append(sizes, size)
			}
		}
		for _, size := range sizes {
			c := cacheSize{bytes: size, order: order,
				what: order + " reads with a chunk cache of " + unit.Bytes(float64(size))}
			if size >= chunk && (order == random || size >= whole) {
				c.fill = int(min(drawn, size/chunk*int64(files)))
			}
			if size == format.ChunkCacheBytes {
				first = append(first, c)
			} else {
				rest = append(rest, c)
			}
		}
	}
	return append(first, rest...)
}

// candidates are no cache, those that hold 1, 4, 16 … chunks, and one that holds all of a file's.
func candidates(chunk, whole, most int64) []int64 {
	sizes := []int64{0}
	size := int64(format.ChunkCacheBytes)
	for size < chunk {
		size *= 2
	}
	if size == format.ChunkCacheBytes {
		size *= cacheStep
	}
	for ; size <= most && size < whole; size *= cacheStep {
		sizes = append(sizes, size)
	}
	for size = format.ChunkCacheBytes; size < whole; size *= 2 { // a cache is asked for in round figures
	}
	if size <= most && size > format.ChunkCacheBytes {
		sizes = append(sizes, size)
	}
	return sizes
}

// mostChunks bounds what chunksOf counts one by one.
const mostChunks = 1 << 20

// chunksOf counts the chunks that hold a sample's items, and their files; not ok where shapes do not match.
func chunksOf(sample *dataset.Sample, shape, chunk []int64) (chunks int64, files int, ok bool) {
	if len(shape) == 0 || len(shape) != len(chunk) || slices.Min(chunk) < 1 {
		return 0, 0, false
	}
	seen := map[[3]int64]int64{} // file, chunk along the first axis, and which of the others by a patch's corner
	inFile := map[int]bool{}
	for _, ref := range sample.Items {
		inFile[ref.File] = true
		box, others, place := grid{chunk: chunk, patch: sample.ItemShape}.box(ref), int64(1), int64(0)
		for axis := 1; axis < len(chunk); axis++ {
			all := (shape[axis]-1)/chunk[axis] + 1
			from, to := int64(0), all-1
			if axis < len(box) {
				from, to = box[axis][0], box[axis][1]
			}
			others *= to - from + 1
			place = place*all + from
		}
		for at := box[0][0]; at <= box[0][1]; at++ {
			if len(seen) >= mostChunks {
				return 0, 0, false
			}
			key := [3]int64{int64(ref.File), at, place}
			seen[key] = max(seen[key], others)
		}
	}
	for _, n := range seen {
		chunks += n
	}
	return min(chunks, dataset.ChunksIn(shape, chunk)*int64(len(inFile))), len(inFile), len(inFile) > 0
}

// cached measures one size of the chunk cache. Only the time of an item is added: the rest is as with the default.
func (s *session) cached(ctx context.Context, c cacheSize) error {
	sample := s.sample
	sample.ChunkCacheBytes = &c.bytes
	r, err := s.measure(ctx, way{probe: report.ProbeHDF5, what: c.what, sample: &sample, handle: handleKept,
		fill: c.fill, items: keptOpen(&s.sample, inOrder(&s.sample, c.order, s.options.Seed))}, s.time)
	s.short(ctx, r.time, c.what)
	s.result.Rows.Caches = append(s.result.Rows.Caches, benchmark.CacheSize{Bytes: c.bytes, Time: r.time,
		Way: benchmark.Way{Cache: warm, Order: c.order, Handle: handleKept}})
	return err
}
