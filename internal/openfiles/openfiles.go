// Package openfiles says which data a watched job reads: from the files that its processes have open and mapped it
// makes out the datasets, has them described, and counts the opens of their files.
//
// It promises that it opens none of these files and asks a file system that may hang in a child only, that what looks
// like a log, a library or a checkpoint is not taken for data, and that opens which the kernel does not report are said
// to be uncounted, with the reason. It refuses to guess: what could not be described stays unknown.
package openfiles

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/host"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Config says what a Sampler works with.
type Config struct {
	FS  procfs.FS
	Job *job.Job
	// Paths asks the file system in a child; nil leaves folders unrecognised and opens uncounted.
	Paths FolderReader
	// Describe describes a dataset in a child; nil leaves kind, size and layout unknown.
	Describe  Describe
	Redaction untrusted.Redaction
}

// Sampler finds which data the job reads, from what its processes have open and mapped, and counts the opens of it. It
// opens none of the files itself: what lies in them is asked of a child, and opens are counted by inotify on local file
// systems. It is one of a watch's samplers, so its methods are called from one goroutine.
type Sampler struct {
	cfg    Config
	finder *finder
	count  *openCounter
	ended  context.CancelFunc

	next     int // whose descriptors are read next
	sights   map[string]int
	pending  int
	datasets []*dataset
	named    int // datasets that were given an entity
	mapTurn  int
	calls    int
	reported bool // that the kernel's queue was full
	virtual  bool // in a virtual machine, whose disks call themselves rotational whatever they are
}

// dataset is a folder or file of data that the job reads.
type dataset struct {
	finding
	entity  string
	counted bool
	opens   int64
	names   map[uint64]struct{}
	samples int64
	present int64
	files   map[string]struct{} // distinct files at the last readings
}

const (
	// filesEvery is the pace of listings; each takes one process in turn. 4 listings a second of 256 descriptors are
	// about 1 ms.
	filesEvery = 250 * time.Millisecond
	// calmEvery is the pace once the first listings have shown what is there.
	calmEvery  = time.Second
	firstCalls = 8
	// searching is how many processes are listed in one call while nothing was found.
	searching = 8
	// maxDatasets bounds the places that are followed; a job reads its samples from one or two and its labels from
	// another.
	maxDatasets = 8
	// maxSights bounds the paths remembered before they are taken for data.
	maxSights = 4096
	// recurrence is how often a file that is not data by its name must be seen before it is taken for some.
	recurrence = 3
	// mapsEvery is the number of calls between two readings of mapped files, which take the process' mmap lock: at the
	// calm pace 10 s.
	mapsEvery = 10
	// mapsSearching is that number while no data was found: each reading takes the next process, and the first may be
	// one that maps none.
	mapsSearching = 3
)

// New finds the data a job reads.
func New(cfg Config) *Sampler {
	return &Sampler{cfg: cfg, virtual: cfg.FS.Hypervisor() != "", sights: map[string]int{}}
}

// Name implements sampler.Sampler.
func (f *Sampler) Name() string { return "files" }

// Every implements sampler.Sampler.
func (f *Sampler) Every() time.Duration {
	if f.calls < firstCalls {
		return filesEvery
	}
	return calmEvery
}

// Start implements sampler.Sampler.
func (f *Sampler) Start(ctx context.Context, sink recording.Sink) error {
	ctx, f.ended = context.WithCancel(ctx)
	count, err := newOpenCounter()
	if err != nil {
		sink.Unseen(metric.DatasetOpens.Name, "", "inotify is not to be had: "+err.Error(),
			"raise fs.inotify.max_user_instances")
	}
	f.count = count
	f.finder = &finder{fs: f.cfg.FS, paths: f.cfg.Paths, describe: f.cfg.Describe, in: make(chan openFile, 4),
		out: make(chan finding, 4), maps: make(chan procfs.ID, 1)}
	go f.finder.run(ctx)
	return nil
}

// Sample implements sampler.Sampler.
func (f *Sampler) Sample(_ context.Context, sink recording.Sink) {
	f.collect(sink)
	if f.count != nil {
		f.count.read()
	}
	who := readers(f.cfg.Job.Tree())
	if len(who) > 0 {
		for range f.width(len(who)) {
			f.list(who[f.next%len(who)], sink)
			f.next++
		}
		if f.mapsDue() {
			select {
			case f.finder.maps <- who[f.mapTurn%len(who)].ID:
				f.mapTurn++
			default: // the finder is busy
			}
		}
	}
	f.calls++
	f.record(sink)
}

func (f *Sampler) mapsDue() bool {
	every := mapsEvery
	if len(f.datasets) == 0 {
		every = mapsSearching
	}
	return f.calls%every == 2 && len(f.datasets) < maxDatasets
}

// width is how many processes are listed in one call: one, and more until the data was found, because a file that is
// opened for each item is open for a fraction of a millisecond.
func (f *Sampler) width(readers int) int {
	if len(f.datasets) > 0 {
		return 1
	}
	return min(readers, searching)
}

func (f *Sampler) list(r job.Process, sink recording.Sink) {
	p, err := f.cfg.FS.OpenID(r.ID)
	if err != nil {
		return
	}
	defer p.Close()
	files, err := openData(p, r.Role == job.Worker, func(file string) bool { return f.of(file) != nil })
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			sink.Unseen("dataset_*", "", "the kernel shows open files only to the job's own user",
				"run pipetune as the user of the job, or as root")
		}
		return
	}
	held := map[*dataset]int{}
	for _, file := range files {
		if d := f.of(file); d != nil {
			held[d]++
			if len(d.files) < maxSights {
				d.files[file] = struct{}{}
			}
			continue
		}
		f.see(openFile{file: file, by: cmp.Or(r.Trainer, r.ID), how: "fd"})
	}
	for _, d := range f.datasets {
		if d.how == "map" && held[d] == 0 && d.present == 0 {
			continue // a mapped file needs no descriptor: its absence says nothing
		}
		d.samples++
		if held[d] > 0 {
			d.present++
		}
	}
}

func (f *Sampler) of(file string) *dataset {
	for _, d := range f.datasets {
		if d.holds(file) {
			return d
		}
	}
	return nil
}

// see remembers a file, and sends it to the finder once it looks like data.
func (f *Sampler) see(s openFile) {
	if len(f.sights) >= maxSights {
		return
	}
	f.sights[s.file]++
	need := recurrence
	if isKnownData(s.file) {
		need = 1
	}
	if f.sights[s.file] < need || f.sights[s.file] > asked || len(f.datasets)+f.pending >= maxDatasets {
		return
	}
	select {
	case f.finder.in <- s:
		f.sights[s.file] = asked + 1
		f.pending++
	default: // the finder is busy: the file will be seen again
	}
}

// asked marks a file that the finder was given.
const asked = 1 << 30

func (f *Sampler) collect(sink recording.Sink) {
	for {
		select {
		case found := <-f.finder.out:
			if found.how == "fd" {
				f.pending--
			}
			f.adopt(found, sink)
		default:
			return
		}
	}
}

func (f *Sampler) adopt(found finding, sink recording.Sink) {
	if found.root == "" || f.of(found.file) != nil || len(f.datasets) >= maxDatasets {
		return
	}
	d := &dataset{finding: found, entity: "dataset/" + strconv.Itoa(f.named), names: map[uint64]struct{}{},
		files: map[string]struct{}{}}
	if found.how == "fd" {
		d.files[found.file] = struct{}{}
	}
	f.named++
	f.absorb(d)
	f.datasets = append(f.datasets, d)
	sink.Event(recording.EventDataset, d.entity, recording.Attrs(d.row(f.cfg.Redaction, f.virtual)))
	if d.facts.Layout != nil {
		sink.Event(recording.EventLayout, d.entity,
			recording.Attrs(d.layout(f.cfg.Redaction, f.cfg.Job.Header().HDF5Library)))
	}
	if d.facts.Refused != "" {
		sink.Unseen("hdf5_*", d.entity, "the layout of the HDF5 file could not be read: "+
			untrusted.Cut(untrusted.Path(d.facts.Refused, f.cfg.Redaction), 200).String(), "")
	}
	if d.reason != "" {
		sink.Unseen("dataset_files", d.entity, "the dataset could not be described: "+
			untrusted.Cut(untrusted.Path(d.reason, f.cfg.Redaction), 200).String(), "")
	}
	f.countOpens(d, sink)
}

// absorb drops what was followed inside a folder that now is the dataset itself. Its entity stays in the recording with
// what was seen of it.
func (f *Sampler) absorb(whole *dataset) {
	f.datasets = slices.DeleteFunc(f.datasets, func(d *dataset) bool {
		inside := whole.folder && strings.HasPrefix(d.root, whole.root+"/")
		if inside && f.count != nil {
			f.count.remove(d)
		}
		return inside
	})
}

func (f *Sampler) countOpens(d *dataset, sink recording.Sink) {
	switch {
	case f.count == nil:
	case d.whyNot != "":
		sink.Unseen(metric.DatasetOpens.Name, d.entity, d.whyNot, "")
	default:
		if err := f.count.add(d, d.watch, d.apart); err != nil {
			cure := ""
			if errors.Is(err, fs.ErrPermission) {
				cure = "run pipetune as the user of the job, or as root"
			} else if strings.Contains(err.Error(), "no space") {
				cure = "raise fs.inotify.max_user_watches"
			}
			sink.Unseen(metric.DatasetOpens.Name, d.entity, "its opens could not be counted: "+err.Error(), cure)
			return
		}
		d.counted = true
	}
}

func (f *Sampler) record(sink recording.Sink) {
	if f.count != nil && f.count.lost && !f.reported {
		f.reported = true
		sink.Unseen(metric.DatasetOpens.Name, "", "more opens than the kernel queued: the count is too low",
			"raise fs.inotify.max_queued_events")
	}
	for _, d := range f.datasets {
		if d.counted {
			sink.Add(metric.DatasetOpens, d.entity, float64(d.opens))
			sink.Add(metric.DatasetDistinct, d.entity, float64(len(d.names)))
		}
		if d.samples > 0 {
			sink.Add(metric.DatasetListings, d.entity, float64(d.samples))
			sink.Add(metric.DatasetPresent, d.entity, float64(d.present))
		}
		if f.calls%4 == 0 && d.how == "fd" {
			sink.Add(metric.DatasetFiles, d.entity, float64(len(d.files)))
			clear(d.files)
		}
	}
}

// Data returns what holds the data, and a number that grows with each change of it.
func (f *Sampler) Data() (generation int, storage []procfs.Storage) {
	for _, d := range f.datasets {
		if d.facts.Kind != "other" || len(f.datasets) == 1 {
			storage = append(storage, d.storage)
		}
	}
	return f.named, storage
}

// Storage describes where the data lies, for the recording's header.
func (f *Sampler) Storage() []recording.Storage {
	var out []recording.Storage
	for _, d := range f.datasets {
		out = append(out, host.PlaceOf(d.root, d.storage, f.virtual, f.cfg.Redaction))
	}
	return out
}

// Close implements sampler.Sampler.
func (f *Sampler) Close() {
	if f.ended != nil {
		f.ended()
	}
	f.count.close()
}
