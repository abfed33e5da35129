package dataset

import (
	"bytes"
	"slices"

	"github.com/pipetune/pipetune/internal/format"
)

// pool is the files of one kind, by their names, and some of them drawn.
type pool struct {
	kind  Kind
	drawn reservoir
}

// suffix is an ending of names, and how many files have it.
type suffix struct {
	format string
	pool   *pool
	count  int64
}

// census sorts files by the endings of their names while a walk goes on.
type census struct {
	pools    []*pool
	suffixes map[string]*suffix
	rest     map[string]*suffix // by format, for endings beyond maxSuffixes
	signed   format.Format      // what a file's name says of the folder around it; the first that does
}

// maxSuffixes and maxSuffix bound what is remembered of names' endings: someone may have put a number there.
const (
	maxSuffixes = 1024
	maxSuffix   = 32 // bytes
)

// pathRoom is how many bytes of paths a sample may hold: base64 in JSON makes four of three, and one answer has 4 MiB.
const pathRoom = 1 << 20

func newCensus(o SurveyOptions, root int) *census {
	c := &census{suffixes: map[string]*suffix{}, rest: map[string]*suffix{}}
	for _, kind := range format.Kinds() {
		c.pools = append(c.pools, &pool{kind: kind, drawn: reservoir{seed: o.Seed, files: o.MaxFiles, room: pathRoom,
			overhead: root}})
	}
	return c
}

// add takes one file. It makes no garbage once an ending is known.
func (c *census) add(folder, name []byte) {
	ending := name[len(name):]
	if i := bytes.LastIndexByte(name, '.'); i >= 0 {
		ending = name[i:]
	}
	s := c.suffixes[string(ending)]
	if s == nil {
		s = c.meet(name, ending)
	}
	if c.signed.Name == "" {
		c.signed, _ = format.OfFolder(name)
	}
	s.count++
	s.pool.drawn.offer(folder, name)
}

// meet deals with an ending that is new.
func (c *census) meet(name, ending []byte) *suffix {
	found, _ := format.OfName(string(name))
	s := &suffix{format: found.Name,
		pool: c.pools[slices.IndexFunc(c.pools, func(p *pool) bool { return p.kind == found.Kind })]}
	if len(ending) <= maxSuffix && len(c.suffixes) < maxSuffixes {
		c.suffixes[string(ending)] = s
		return s
	}
	if known := c.rest[found.Name]; known != nil {
		return known
	}
	c.rest[found.Name] = s
	return s
}

func (c *census) files() (total int64) {
	for _, p := range c.pools {
		total += p.drawn.seen
	}
	return total
}

// majority is what more than half of all are; the zero value where there is no such thing.
func majority[K comparable, N int | int64](counts map[K]N, all N) (most K) {
	for one, n := range counts {
		if 2*n > all {
			most = one
		}
	}
	return most
}

// format is the format of more than half of a pool's files, by name; "" where there is none.
func (c *census) format(p *pool) string {
	sums := map[string]int64{}
	for _, group := range []map[string]*suffix{c.suffixes, c.rest} {
		for _, s := range group {
			if s.pool == p {
				sums[s.format] += s.count
			}
		}
	}
	return majority(sums, p.drawn.seen)
}
