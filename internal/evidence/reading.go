package evidence

import (
	"slices"
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
	if why := b.fetchesUncounted(); why != "" && fetched {
		fetched = false
		b.miss(why, "", metric.StorageBytes, metric.CacheHits, metric.StoragePerBatch)
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

// fetchesCounted are the file systems without a block device whose clients count what they fetch as read by the process that asked for it
// (callers of task_io_account_read: fs/nfs, fs/smb, fs/afs, and fs/netfs for ceph and 9p).
var fetchesCounted = []string{"nfs", "nfs4", "cifs", "smb3", "afs", "ceph", "9p"}

// fetchesUncounted tells why what the job fetches from storage cannot be taken from the kernel's count; "" where it can, or where nothing is
// known of where the data lies. File systems on block devices count when they ask the device; in memory nothing is fetched. Others may count
// nothing at all, which would look like a page cache that has everything.
func (b *builder) fetchesUncounted() string {
	d := b.mainDataset()
	if d == nil || d.attrs["fstype"] == "" {
		return ""
	}
	switch fs := d.attrs["fstype"]; {
	case strings.HasPrefix(fs, "fuse"), fs == "virtiofs": // virtiofs is FUSE with the server on the host (Documentation/filesystems/virtiofs.rst)
		return "the kernel does not count what is fetched through " + fs
	case d.attrs["tmpfs"] == "1", slices.Contains(fetchesCounted, fs), fs == "overlay": // an overlay whose layers cannot be seen: those of containers lie on disks
		return ""
	case d.attrs["network"] == "0" && fs != "zfs": // on a block device; ZFS has a cache of its own
		return ""
	default:
		return "whether the kernel counts what is fetched through " + fs + " is not known"
	}
}
