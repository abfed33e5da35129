package evidence

import (
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/stat"
)

// leastRead is how much must have been read in the window for the shares and sizes of reads to mean something: an idle
// loader's pipes carry some hundred bytes per batch.
const leastRead = 1 << 20 // bytes

// reading takes what the loading processes of all trainers read, and per batch what those of one do.
func (b *builder) reading(r *rank) {
	all := b.loading()
	chars, calls := b.growthOf(metric.ProcReadChars, all), b.growthOf(metric.ProcReadCalls, all)
	fetched, fetchedByWorkers := b.growthOf(metric.ProcReadBytes, all), b.growthOf(metric.ProcReadBytes, r.workerSet)
	var uncounted reason
	if fetched != nil {
		if uncounted.text = b.fetchesUncounted(); uncounted.text != "" {
			fetched, fetchedByWorkers = nil, nil
		}
	}
	hits := stat.Ratio(fetched, chars)
	hits.Center, hits.Lo, hits.Hi = 1-hits.Center, 1-hits.Hi, 1-hits.Lo
	cached, size := summary(hits).or(uncounted), ratio(chars, calls)
	if sum(chars) < leastRead && len(all) > 0 {
		little := none("less than 1 MiB was read through system calls in the window; memory-mapped files are not "+
			"counted there", "")
		size = little
		if cached = little; uncounted.text != "" {
			cached.why = uncounted
		}
	}
	b.take(metric.ReadBytes, ratio(chars, b.length), metric.ProcReadChars)
	b.take(metric.StorageBytes, ratio(fetched, b.length).or(uncounted), metric.ProcReadBytes)
	b.take(metric.CacheHits, cached, metric.ProcReadBytes, metric.ProcReadChars)
	b.take(metric.BytesPerRead, size, metric.ProcReadCalls, metric.ProcReadChars)
	b.perBatch(r, metric.ReadsPerBatch, ratio(b.growthOf(metric.ProcReadCalls, r.workerSet), r.handed),
		metric.ProcReadCalls)
	b.perBatch(r, metric.StoragePerBatch, ratio(fetchedByWorkers, r.handed).or(uncounted), metric.ProcReadBytes)
}

// loading returns the processes that load data: the workers, and the trainers that have none.
func (b *builder) loading() []*process {
	var out []*process
	for _, r := range b.ranks {
		if r.noLoader || r.fed != nil && r.fed.Threads {
			out = append(out, r.process)
		} else {
			out = append(out, r.workerSet...)
		}
	}
	return out
}

// growthOf is the growth of one of their counters over all of some processes, per window; nil where it was not counted.
func (b *builder) growthOf(d metric.Desc, of []*process) []float64 {
	growth, _, ok := b.total(d, of)
	if !ok {
		return nil
	}
	return growth
}

// fetchesCounted are the file systems without a block device whose clients count what they fetch as read by the process
// that asked for it (callers of task_io_account_read: fs/nfs, fs/smb, fs/afs, and fs/netfs for ceph and 9p).
var fetchesCounted = []string{"nfs", "nfs4", "cifs", "smb3", "afs", "ceph", "9p"}

// fetchesUncounted says why what the job fetches from storage cannot be taken from the kernel's count; "" where it
// can, or where nothing is known of where the data lies. File systems on block devices count when they ask the device;
// in memory nothing is fetched. Others may count nothing at all, which would look like a page cache that has
// everything.
func (b *builder) fetchesUncounted() string {
	d := b.mainDataset()
	if d == nil || d.FSType == "" {
		return ""
	}
	switch fs := d.FSType; {
	case strings.HasPrefix(fs, "fuse"), fs == "virtiofs":
		// virtiofs is FUSE with the server on the host (Documentation/filesystems/virtiofs.rst)
		return "the kernel does not count what is fetched through " + fs
	case truth(d.Tmpfs).Center == 1, slices.Contains(fetchesCounted, fs), fs == "overlay":
		// an overlay whose layers cannot be seen: those of containers lie on disks
		return ""
	case d.Network != nil && !*d.Network && fs != "zfs": // on a block device; ZFS has a cache of its own
		return ""
	default:
		return "whether the kernel counts what is fetched through " + fs + " is not known"
	}
}
