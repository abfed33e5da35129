package storage

import (
	"math/bits"
	"os"
	"sort"
	"time"
)

// extents are the files that are read and the order of their blocks.
type extents struct {
	Request
	open   []source
	total  int64 // blocks in all
	align  int64
	misses int // blocks that could not be read
	out    Result
}

type source struct {
	f     *os.File
	file  int // position in the sample's Files
	path  []byte
	bytes int64
	from  int64 // number of its first block
}

type block struct {
	file   int // in extents.open
	offset int64
	length int64
}

// layOut numbers the blocks of all files.
func (b *extents) layOut() {
	b.Block = roundUp(b.Block, b.align)
	for i := range b.open {
		s := &b.open[i]
		s.from = b.total
		b.total += b.inFile(s.bytes)
		b.out.Bytes += s.bytes
	}
	b.out.Block = b.Block
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }

// inFile is how many blocks a file has: whole ones only, unless it is read whole or shorter than one.
func (b *extents) inFile(bytes int64) int64 {
	if b.Whole {
		return (bytes + b.Block - 1) / b.Block
	}
	return max(1, bytes/b.Block)
}

// at returns the block with a place in the order.
func (b *extents) at(n int64) block {
	n %= b.total
	if !b.Sequential {
		n = scramble(n, b.total, b.Seed)
	}
	file := sort.Search(len(b.open), func(i int) bool { return b.open[i].from > n }) - 1
	s := b.open[file]
	offset := (n - s.from) * b.Block
	return block{file: file, offset: offset, length: min(b.Block, roundUp(s.bytes-offset, b.align))}
}

// scramble is a permutation of 0 … total-1: a Feistel network of four rounds over the next even number of bits, walked
// until the number falls within (Black and Rogaway, 2002). It needs no table, so a file of terabytes has a random order
// as well.
func scramble(n, total int64, seed uint64) int64 {
	half := uint((bits.Len64(uint64(max(1, total-1))) + 1) / 2)
	mask := uint64(1)<<half - 1
	for x := uint64(n); ; {
		left, right := x>>half, x&mask
		for round := range uint64(4) {
			h := (right + seed + round) * 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
			// and splitmix64's multiplier (Steele, Lea and Flood, 2014)
			h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
			left, right = right, left^(h>>32)&mask
		}
		if x = left<<half | right; x < uint64(total) {
			return int64(x)
		}
	}
}

// meter cuts the reads of a queue into slices of time. The first, while the queue fills, is a warm-up.
type meter struct {
	length  time.Duration // of a slice, at least: takes / slicesPerCall
	mark    time.Time     // when the current Slice began
	ends    time.Time
	takes   time.Duration
	current Slice
	slices  []Slice
	bytes   int64 // of all reads, warm-up included
	next    int64 // blocks taken so far
}

// slicesPerCall is how many slices a call is cut into: enough for an interval and a warm-up.
const slicesPerCall = 16

func (m *meter) start() time.Time {
	m.mark = time.Now()
	m.ends = m.mark.Add(m.takes)
	return m.mark
}

// count takes one completed request.
func (m *meter) count(bytes int64, waited time.Duration) {
	m.bytes += bytes
	m.current.Reads++
	m.current.Bytes += bytes
	m.current.Waited += waited.Seconds()
}

// tick ends a slice that is long enough. What is read after the end, while the queue empties, is in none.
func (m *meter) tick(now time.Time) {
	if long := now.Sub(m.mark); long >= m.length && !m.mark.After(m.ends) {
		m.current.Seconds = long.Seconds()
		m.slices = append(m.slices, m.current)
		m.mark, m.current = now, Slice{}
	}
}

// cut returns the slices but the warm-up; where reads were so few that there is one slice or none, all that was read.
func (m *meter) cut() []Slice {
	if len(m.slices) > 1 {
		return m.slices[1:]
	}
	if m.current.Reads > 0 {
		m.current.Seconds = time.Since(m.mark).Seconds()
		m.slices = append(m.slices, m.current)
	}
	return m.slices
}
