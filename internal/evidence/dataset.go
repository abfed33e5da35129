package evidence

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/evidence/watched"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// place is a folder or file of data the job reads.
type place struct {
	entity string
	recording.Dataset
	known bool    // of a known kind of data, unlike what may be anything, a log or a checkpoint
	opens float64 // in the steady window, and samples of workers that found it open
	size  float64 // bytes
}

// readPlaces returns the dataset's places, the one that is read most first: by opens and handles seen, then by size.
func (b *builder) readPlaces() []place {
	var out []place
	for entity, row := range recording.Rows[recording.Dataset](b.Rec, recording.EventDataset) {
		out = append(out, place{entity: entity, Dataset: row, known: row.Kind != "" && row.Kind != "other",
			size:  noted(row.Bytes).Center,
			opens: stat.Sum(b.Grow(entity, metric.DatasetOpens, metric.DatasetPresent))})
	}
	slices.SortFunc(out, func(x, y place) int {
		if x.known != y.known {
			return map[bool]int{true: -1, false: 1}[x.known]
		}
		return cmp.Or(cmp.Compare(y.opens, x.opens), cmp.Compare(y.size, x.size), strings.Compare(x.entity, y.entity))
	})
	return out
}

// mainDataset returns the place that is read most; the zero place where none is known.
func (b *builder) mainDataset() (d place) {
	if len(b.places) > 0 {
		d = b.places[0]
	}
	return d
}

// noted is what a row says; none where it is nil.
func noted[T int | int64 | float64](x *T) figure {
	if x == nil {
		return figure{}
	}
	return exact(min(float64(*x), stat.MaxReading))
}

// truth is 1 or 0; none where it is nil.
func truth(x *bool) figure {
	if x == nil {
		return figure{}
	}
	return exact(map[bool]float64{true: 1}[*x])
}

// opens takes how often dataset files are opened, and whether they are the same again and again.
func (b *builder) opens(r *rank) {
	present, _ := b.ofPlaces(metric.DatasetPresent, "")
	samples, _ := b.ofPlaces(metric.DatasetListings, "")
	b.take(metric.HandlePresent, b.ratio(present, samples), metric.DatasetPresent, metric.DatasetListings)
	opens, seen := b.ofPlaces(metric.DatasetOpens, "")
	b.take(metric.FileOpens, b.ratio(opens, seen), metric.DatasetOpens)
	hdf5, known := b.ofPlaces(metric.DatasetOpens, "hdf5")
	if stat.Sum(known) == 0 {
		hdf5 = nil
	}
	perSec, perBatch, different := b.reportedOpens(r)
	b.take(metric.HDF5Opens, perSec.orElse(b.ratio(hdf5, seen)), metric.DatasetOpens)
	// Since the start of the watch: a file that was opened before the steady window is none the less distinct.
	all, distinct := 0.0, 0.0
	for _, p := range b.places {
		t, u := b.Track(metric.DatasetOpens, p.entity), b.Track(metric.DatasetDistinct, p.entity)
		if t != nil && u != nil {
			all, distinct = all+t.V[len(t.V)-1], distinct+u.V[len(u.V)-1]
		}
	}
	if all < 1 {
		all = 0
	}
	b.take(metric.DistinctOpens, different.orElse(exact(stat.Divide(distinct, all))), metric.DatasetDistinct,
		metric.DatasetOpens)
	b.take(metric.OpensPerFile, b.openedAgain(), metric.DatasetDistinct, metric.DatasetOpens)
	// Opens are counted by folder, by any process, so those of all trainers are over the batches of all.
	batches := make([]float64, len(b.Spans))
	for _, other := range b.ranks {
		if other.handed != nil {
			stat.Add(batches, other.handed)
		}
	}
	if r.handed == nil || stat.Sum(seen) == 0 {
		batches = nil
	}
	b.perBatch(r, metric.OpensPerBatch, perBatch.orElse(b.ratio(b.counted(r, opens), batches)), metric.DatasetOpens)
}

// When nearly all files were opened, and how many tell: of fewer, two workers that open the same one make much of the
// whole.
const (
	nearlyAll        = 0.9
	significantFiles = 8.0
)

// openedAgain is how often a file of the dataset is opened before nearly all have been opened once, at the least: once
// where each holds an item, however many epochs pass. Few files are through before the second reading; then it is how
// often each is opened in a second, for no epoch is that short.
func (b *builder) openedAgain() figure {
	d := b.mainDataset()
	opens, distinct := b.Track(metric.DatasetOpens, d.entity), b.Track(metric.DatasetDistinct, d.entity)
	if opens == nil || distinct == nil || len(opens.V) != len(distinct.V) || opens.V[len(opens.V)-1] < 1 {
		return figure{}
	}
	all := distinct.V[len(distinct.V)-1]
	again := max(1, stat.Sum(b.Grow(d.entity, metric.DatasetOpens))/stat.Sum(b.Length)/all)
	for i, files := range distinct.V {
		if files >= significantFiles && files < nearlyAll*all {
			again = max(again, opens.V[i]/files)
		}
	}
	return exact(again).by(metric.Inferred)
}

// ofPlaces is the growth of a counter over all places of a kind, "" for any, and for how long of each window any was
// read.
func (b *builder) ofPlaces(d metric.Desc, kind string) (growth, seen []float64) {
	var tracks []*watched.Track
	for _, p := range b.places {
		if kind == "" || p.Kind == kind {
			tracks = append(tracks, b.Track(d, p.entity))
		}
	}
	return b.GrowAll(tracks)
}

// dataset takes what is known of the dataset that is read most, and of the layout of the largest HDF5 dataset.
func (b *builder) dataset() {
	d := b.mainDataset()
	size, files, file := noted(d.Bytes), noted(d.Files), noted(d.FileBytes)
	if file.N == 0 && size.N > 0 && files.Center >= 1 {
		file = exact(size.Center / files.Center).by(metric.Inferred) // the mean stands in for the median
	}
	b.take(metric.DatasetBytes, size, metric.DatasetFiles)
	b.take(metric.DatasetFileN, files, metric.DatasetFiles)
	b.take(metric.FileBytes, file, metric.DatasetFiles)
	b.take(metric.StorageNet, truth(d.Network), metric.DatasetFiles)
	b.take(metric.StorageTmpfs, truth(d.Tmpfs), metric.DatasetFiles)
	b.take(metric.Rotational, truth(d.Rotational), metric.DatasetFiles)

	var l recording.Layout
	if b.layout != nil {
		l = *b.layout
	}
	var whole Reason
	if kind := l.Layout; kind != "" && kind != "chunked" {
		whole.Text = "the dataset is stored in one piece (" + kind + "), not in chunks"
	}
	b.take(metric.HDF5Chunk, noted(l.ChunkBytes).or(whole))
	b.take(metric.HDF5PerChunk, noted(l.ItemsPerChunk).or(whole))
	b.take(metric.HDF5Touched, noted(l.ChunksPerItem).or(whole))
	b.take(metric.HDF5Item, noted(l.ItemBytes))
	b.take(metric.HDF5Amplify, noted(l.Amplification))
	b.take(metric.HDF5Filters, noted(l.FilterCount))
	b.take(metric.HDF5Stored, noted(l.StoredBytes))
	b.take(metric.HDF5Cache, noted(l.CacheBytes).by(metric.Assumed))
}

// datasetFacts takes what is no number.
func (b *builder) datasetFacts() {
	f := &b.ev.Facts
	if l := b.layout; l != nil {
		f.HDF5 = &HDF5{Name: l.Name, Shape: l.Shape, Chunk: l.Chunk, Dtype: l.Dtype, Filters: l.Filters}
		f.Items = l.Items
	}
	d := b.mainDataset()
	if d.entity == "" {
		return
	}
	f.Dataset, f.DatasetKind, f.FSType, f.Device = d.Path, d.Kind, d.FSType, d.Device
	f.Extension, f.StorageKind = d.Extension, b.storageKind(d)
	if f.Items == "" {
		f.Items = d.Items
	}
	if f.Extension == "" && noted(d.Files).Center <= 1 {
		f.Extension = strings.ToLower(path.Ext(f.Dataset))
	}
}

// storageKind says what the dataset lies on, by the dataset itself or by what the host reported of its mounts.
func (b *builder) storageKind(d place) string {
	for _, s := range b.Rec.Header.Host.Storage {
		if s.Path != "" && (s.Path == d.Path || len(b.Rec.Header.Host.Storage) == 1) {
			return s.Kind
		}
	}
	switch {
	case strings.HasPrefix(d.FSType, "fuse"):
		return "fuse"
	case truth(d.Tmpfs).Center == 1:
		return "tmpfs"
	case truth(d.Network).Center == 1:
		return "network"
	case d.Device != "":
		return "disk"
	}
	return ""
}

// readLayout returns what was reported the largest HDF5 dataset; nil where none was described.
func (b *builder) readLayout() (layout *recording.Layout) {
	largest := -1.0
	for _, row := range recording.Each[recording.Layout](b.Rec, recording.EventLayout) {
		if n := noted(row.StoredBytes).Center; n > largest {
			largest, layout = n, &row
		}
	}
	return layout
}

// leastRead is how much must have been read in the window for the shares and sizes of reads to mean something: an idle
// loader's pipes carry some hundred bytes per batch.
const leastRead = 1 << 20 // bytes

// reading takes what the loading processes of all trainers read, and per batch what those of one do.
func (b *builder) reading(r *rank) {
	all := b.loading()
	chars, calls := b.growthOf(metric.ProcReadChars, all), b.growthOf(metric.ProcReadCalls, all)
	fetched, fetchedByWorkers := b.growthOf(metric.ProcReadBytes, all), b.growthOf(metric.ProcReadBytes, r.workerSet)
	var uncounted Reason
	if fetched != nil {
		if uncounted.Text = b.fetchesUncounted(); uncounted.Text != "" {
			fetched, fetchedByWorkers = nil, nil
		}
	}
	hits := b.Quotient(fetched, chars)
	hits.Center, hits.Lo, hits.Hi = 1-hits.Center, 1-hits.Hi, 1-hits.Lo
	cached, size := summary(hits).or(uncounted), b.ratio(chars, calls)
	if stat.Sum(chars) < leastRead && len(all) > 0 {
		little := none("less than 1 MiB was read through system calls in the window; memory-mapped files are not "+
			"counted there", "")
		size = little
		if cached = little; uncounted.Text != "" {
			cached.why = uncounted
		}
	}
	b.take(metric.ReadBytes, b.ratio(chars, b.Length), metric.ProcReadChars)
	b.take(metric.StorageBytes, b.ratio(fetched, b.Length).or(uncounted), metric.ProcReadBytes)
	b.take(metric.CacheHits, cached, metric.ProcReadBytes, metric.ProcReadChars)
	b.take(metric.BytesPerRead, size, metric.ProcReadCalls, metric.ProcReadChars)
	b.perBatch(r, metric.ReadsPerBatch, b.ratio(b.counted(r, b.growthOf(metric.ProcReadCalls, r.workerSet)), r.handed),
		metric.ProcReadCalls)
	b.perBatch(r, metric.StoragePerBatch, b.ratio(b.counted(r, fetchedByWorkers), r.handed).or(uncounted),
		metric.ProcReadBytes)
}

// loading returns the processes that load data: the workers, and the trainers that have none.
func (b *builder) loading() []*watched.Process {
	var out []*watched.Process
	for _, r := range b.ranks {
		if r.noLoader || r.fed != nil && r.fed.Threads {
			out = append(out, r.Process)
		} else {
			out = append(out, r.workerSet...)
			for _, other := range b.Beside(r.Process) {
				out = append(out, other.Workers...)
			}
		}
	}
	return out
}

// growthOf is the growth of one of their counters over all of some processes, per window; nil where it was not counted.
func (b *builder) growthOf(d metric.Desc, of []*watched.Process) []float64 {
	growth, _, ok := b.Total(d, of)
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
	switch fs := d.FSType; {
	case fs == "":
		return ""
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
