package evidence

import (
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// leastRead is how much must have been read in the window for the shares and sizes of reads to mean something: an idle loader's pipes
// carry some hundred bytes per batch.
const leastRead = 1 << 20 // bytes

// loading returns the processes that load data: the workers, and the trainers that have none.
func (b *builder) loading() []*actor {
	var out []*actor
	for _, r := range b.ranks {
		if r.noLoader {
			out = append(out, r.actor)
		} else {
			out = append(out, r.crew...)
		}
	}
	return out
}

// reading takes what the loading processes of all trainers read, and per batch what those of one do.
func (b *builder) reading() {
	all := b.loading()
	if len(all) == 0 {
		return
	}
	chars, _, read := b.total(metric.ProcReadChars, all)
	calls, _, called := b.total(metric.ProcReadCalls, all)
	bytes, _, fetched := b.total(metric.ProcReadBytes, all)
	if fuse := b.onFUSE(); fuse != "" && fetched {
		fetched = false
		b.miss("the kernel does not count what is fetched through "+fuse, "", metric.StorageBytes, metric.CacheHits, metric.StoragePerBatch)
	}
	if read {
		b.share(metric.ReadBytes, chars, b.length, metric.Measured)
	}
	if fetched {
		b.share(metric.StorageBytes, bytes, b.length, metric.Measured)
	}
	enough := sum(chars) >= leastRead
	if read && fetched && enough {
		s := stat.Ratio(bytes, chars)
		s.Center, s.Lo, s.Hi = 1-s.Center, 1-s.Hi, 1-s.Lo
		b.set(metric.CacheHits, s, metric.Measured)
	}
	if read && called && enough {
		b.share(metric.BytesPerRead, chars, calls, metric.Measured)
	}
	if !enough {
		b.miss("less than 1 MiB was read through system calls in the window; memory-mapped files are not counted there", "",
			metric.CacheHits, metric.BytesPerRead)
	}
	r := b.top()
	if r.handed == nil {
		return
	}
	if calls, _, ok := b.total(metric.ProcReadCalls, r.crew); ok {
		b.share(metric.ReadsPerBatch, calls, r.handed, metric.Measured)
	}
	if bytes, _, ok := b.total(metric.ProcReadBytes, r.crew); ok && fetched {
		b.share(metric.StoragePerBatch, bytes, r.handed, metric.Measured)
	}
}

// onFUSE returns the file system's type where the dataset lies on FUSE, else "".
func (b *builder) onFUSE() string {
	if d := b.mainDataset(); d != nil && strings.HasPrefix(d.attrs["fstype"], "fuse") {
		return d.attrs["fstype"]
	}
	return ""
}
