package evidence

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/stat"
)

// place is a folder or file of data the job reads.
type place struct {
	entity string
	attrs  map[string]string
	opens  float64 // in the steady window
	seen   float64 // looks at workers that found it open
}

// places returns the dataset's places, the one that is read most first: by opens and handles seen, then by size.
func (b *builder) places() []place {
	byEntity := map[string]map[string]string{}
	for _, e := range b.rec.Events {
		if e.Kind != recording.EventDataset {
			continue
		}
		if byEntity[e.Entity] == nil {
			byEntity[e.Entity] = map[string]string{}
		}
		for k, v := range e.Attrs { // what is learnt later adds to what was known
			byEntity[e.Entity][k] = v
		}
	}
	var out []place
	for entity, attrs := range byEntity {
		out = append(out, place{entity: entity, attrs: attrs,
			opens: sum(b.grow(metric.DatasetOpens, entity)), seen: sum(b.grow(metric.DatasetPresent, entity))})
	}
	size := func(p place) float64 { x, _ := attr(p.attrs, "bytes"); return x }
	slices.SortFunc(out, func(x, y place) int {
		return cmp.Or(cmp.Compare(known(y), known(x)), cmp.Compare(y.opens+y.seen, x.opens+x.seen), cmp.Compare(size(y), size(x)),
			strings.Compare(x.entity, y.entity))
	})
	return out
}

// known ranks a place of a known kind of data above one that may be anything, a log or a checkpoint.
func known(p place) int {
	if kind := p.attrs["kind"]; kind == "" || kind == "other" {
		return 0
	}
	return 1
}

// mainDataset returns the place that is read most, nil where none is known.
func (b *builder) mainDataset() *place {
	if places := b.places(); len(places) > 0 {
		return &places[0]
	}
	return nil
}

// attr reads a number that is not below zero.
func attr(attrs map[string]string, key string) (float64, bool) {
	x, err := strconv.ParseFloat(attrs[key], 64)
	if err != nil || !finite(x) || x < 0 || x > maxReading {
		return 0, false
	}
	return x, true
}

// dataset takes what was seen of the dataset's files and of its layout.
func (b *builder) dataset() {
	b.opens()
	b.layout()
	d := b.mainDataset()
	if d == nil {
		return
	}
	size, sized := attr(d.attrs, "bytes")
	files, counted := attr(d.attrs, "files")
	if sized {
		b.exact(metric.DatasetBytes, size, metric.Measured)
	}
	if counted {
		b.exact(metric.DatasetFileN, files, metric.Measured)
	}
	if median, ok := attr(d.attrs, "file_bytes"); ok {
		b.exact(metric.FileBytes, median, metric.Measured)
	} else if sized && counted && files >= 1 {
		b.exact(metric.FileBytes, size/files, metric.Inferred) // the mean stands in for the median
	}
	for _, flag := range []struct {
		d   metric.Desc
		key string
	}{{metric.StorageNet, "network"}, {metric.StorageTmpfs, "tmpfs"}, {metric.Rotational, "rotational"}} {
		if x, ok := attr(d.attrs, flag.key); ok {
			b.exact(flag.d, min(x, 1), metric.Measured)
		}
	}
	f := &b.ev.Facts
	f.Dataset, f.DatasetKind, f.FSType, f.Device = d.attrs["path"], d.attrs["kind"], d.attrs["fstype"], d.attrs["device"]
	f.Extension = d.attrs["extension"]
	if f.Extension == "" && files <= 1 {
		f.Extension = strings.ToLower(path.Ext(f.Dataset))
	}
	f.StorageKind = b.storageKind(d)
}

// storageKind says what the dataset lies on, by the dataset itself or by what the host told of its mounts.
func (b *builder) storageKind(d *place) string {
	for _, s := range b.rec.Header.Host.Storage {
		if s.Path != "" && (s.Path == d.attrs["path"] || len(b.rec.Header.Host.Storage) == 1) {
			return s.Kind
		}
	}
	switch {
	case strings.HasPrefix(d.attrs["fstype"], "fuse"):
		return "fuse"
	case d.attrs["tmpfs"] == "1":
		return "tmpfs"
	case d.attrs["network"] == "1":
		return "network"
	case d.attrs["device"] != "":
		return "disk"
	}
	return ""
}

// opens takes how often dataset files are opened, and whether they are the same again and again.
func (b *builder) opens() {
	opens, clock := make([]float64, len(b.spans)), make([]float64, len(b.spans))
	hdf5, looks, present := make([]float64, len(b.spans)), make([]float64, len(b.spans)), make([]float64, len(b.spans))
	since, distinct := 0.0, 0.0
	anyHDF5 := false
	for _, p := range b.places() {
		add(looks, b.grow(metric.DatasetLooks, p.entity))
		add(present, b.grow(metric.DatasetPresent, p.entity))
		t := b.h.of(metric.DatasetOpens, p.entity)
		if t == nil {
			continue
		}
		growth, seen := t.grow(b.spans)
		add(opens, growth)
		for i := range clock {
			clock[i] = max(clock[i], seen[i])
		}
		if p.attrs["kind"] == "hdf5" {
			anyHDF5 = true
			add(hdf5, growth)
		}
		// Since the start of the watch: a file that was opened before the steady window is none the less distinct.
		if u := b.h.of(metric.DatasetDistinct, p.entity); u != nil {
			since, distinct = since+t.v[len(t.v)-1], distinct+u.v[len(u.v)-1]
		}
	}
	b.share(metric.HandlePresent, present, looks, metric.Measured)
	b.share(metric.FileOpens, opens, clock, metric.Measured)
	if anyHDF5 {
		b.share(metric.HDF5Opens, hdf5, clock, metric.Measured)
	}
	if since >= 1 {
		b.exact(metric.DistinctOpens, distinct/since, metric.Measured)
	}
	if r := b.top(); r != nil && r.handed != nil && sum(clock) > 0 {
		// Opens are counted by folder, by any process, so those of all trainers are over the batches of all.
		batches := make([]float64, len(b.spans))
		for _, r := range b.ranks {
			if r.handed != nil {
				add(batches, r.handed)
			}
		}
		b.share(metric.OpensPerBatch, opens, batches, metric.Measured)
	}
}

// layout takes the layout of the largest HDF5 dataset that was described.
func (b *builder) layout() {
	var attrs map[string]string
	largest := -1.0
	for _, e := range b.rec.Events {
		if e.Kind == recording.EventLayout {
			if n, _ := attr(e.Attrs, "stored_bytes"); n > largest {
				largest, attrs = n, e.Attrs
			}
		}
	}
	if attrs == nil {
		return
	}
	for _, s := range []struct {
		d   metric.Desc
		key string
	}{{metric.HDF5Chunk, "chunk_bytes"}, {metric.HDF5Item, "item_bytes"}, {metric.HDF5PerChunk, "items_per_chunk"},
		{metric.HDF5Touched, "chunks_per_item"}, {metric.HDF5Amplify, "amplification"}, {metric.HDF5Filters, "filters_n"},
		{metric.HDF5Stored, "stored_bytes"}} {
		if x, ok := attr(attrs, s.key); ok {
			b.set(s.d, stat.Exact(x), metric.Measured)
		}
	}
	if attrs["layout"] != "" && attrs["layout"] != "chunked" {
		b.miss("the dataset is stored in one piece ("+attrs["layout"]+"), not in chunks", "", metric.HDF5Chunk, metric.HDF5PerChunk, metric.HDF5Touched)
	}
	library := cmp.Or(attrs["library"], b.rec.Header.Job.HDF5Library)
	if x, ok := attr(attrs, "cache_bytes"); ok {
		b.exact(metric.HDF5Cache, x, metric.Assumed)
	} else if x, ok := defaultChunkCache(library); ok {
		b.exact(metric.HDF5Cache, x, metric.Assumed)
	}
	b.ev.Facts.HDF5 = &HDF5{File: attrs["file"], Name: attrs["name"], Shape: attrs["shape"], Chunk: attrs["chunk"], Dtype: attrs["dtype"],
		Filters: attrs["filters"], Library: library}
}

// defaultChunkCache returns the chunk cache a version of libhdf5 gives a dataset: rdcc_nbytes is 1 MiB, and 8 MiB from 2.0 on
// (H5Pset_cache in the HDF5 reference manual; release notes of 2.0.0).
func defaultChunkCache(library string) (float64, bool) {
	major, err := strconv.Atoi(strings.SplitN(library, ".", 2)[0])
	switch {
	case err != nil || major < 1:
		return 0, false
	case major < 2:
		return 1 << 20, true
	}
	return 8 << 20, true
}
