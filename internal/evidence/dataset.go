package evidence

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/metric"
	"github.com/pipetune/pipetune/internal/recording"
)

// place is a folder or file of data the job reads.
type place struct {
	entity string
	attrs  map[string]string
	known  bool    // of a known kind of data, unlike what may be anything, a log or a checkpoint
	opens  float64 // in the steady window, and looks at workers that found it open
	size   float64 // bytes
}

// readPlaces returns the dataset's places, the one that is read most first: by opens and handles seen, then by size.
func (b *builder) readPlaces() []place {
	var out []place
	for entity, attrs := range eventsOf(b.rec, recording.EventDataset) {
		size, _ := attr(attrs, "bytes")
		out = append(out, place{entity: entity, attrs: attrs, known: attrs["kind"] != "" && attrs["kind"] != "other", size: size,
			opens: sum(b.grow(metric.DatasetOpens, entity)) + sum(b.grow(metric.DatasetPresent, entity))})
	}
	slices.SortFunc(out, func(x, y place) int {
		if x.known != y.known {
			return map[bool]int{true: -1, false: 1}[x.known]
		}
		return cmp.Or(cmp.Compare(y.opens, x.opens), cmp.Compare(y.size, x.size), strings.Compare(x.entity, y.entity))
	})
	return out
}

// mainDataset returns the place that is read most, nil where none is known.
func (b *builder) mainDataset() *place {
	if len(b.places) == 0 {
		return nil
	}
	return &b.places[0]
}

// attr reads a number that is not below zero.
func attr(attrs map[string]string, key string) (float64, bool) {
	x, err := strconv.ParseFloat(attrs[key], 64)
	if err != nil || !finite(x) || x < 0 || x > maxReading {
		return 0, false
	}
	return x, true
}

// opens takes how often dataset files are opened, and whether they are the same again and again.
func (b *builder) opens(r *rank) {
	present, _ := b.ofPlaces(metric.DatasetPresent, "")
	looks, _ := b.ofPlaces(metric.DatasetLooks, "")
	b.take(metric.HandlePresent, ratio(present, looks), metric.DatasetPresent, metric.DatasetLooks)
	opens, seen := b.ofPlaces(metric.DatasetOpens, "")
	b.take(metric.FileOpens, ratio(opens, seen), metric.DatasetOpens)
	hdf5, known := b.ofPlaces(metric.DatasetOpens, "hdf5")
	if sum(known) == 0 {
		hdf5 = nil
	}
	b.take(metric.HDF5Opens, ratio(hdf5, seen), metric.DatasetOpens)
	// Since the start of the watch: a file that was opened before the steady window is none the less distinct.
	all, distinct := 0.0, 0.0
	for _, p := range b.places {
		t, u := b.h.of(metric.DatasetOpens, p.entity), b.h.of(metric.DatasetDistinct, p.entity)
		if t != nil && u != nil {
			all, distinct = all+t.v[len(t.v)-1], distinct+u.v[len(u.v)-1]
		}
	}
	if all < 1 {
		all = 0
	}
	b.take(metric.DistinctOpens, exact(divide(distinct, all)), metric.DatasetDistinct, metric.DatasetOpens)
	// Opens are counted by folder, by any process, so those of all trainers are over the batches of all.
	batches := make([]float64, len(b.spans))
	for _, other := range b.ranks {
		if other.handed != nil {
			add(batches, other.handed)
		}
	}
	if r.handed == nil || sum(seen) == 0 {
		batches = nil
	}
	b.perBatch(r, metric.OpensPerBatch, ratio(opens, batches), metric.DatasetOpens)
}

// ofPlaces is the growth of a counter over all places of a kind, "" for any, and for how long of each window any was read.
func (b *builder) ofPlaces(d metric.Desc, kind string) (growth, seen []float64) {
	growth, seen = make([]float64, len(b.spans)), make([]float64, len(b.spans))
	for _, p := range b.places {
		if kind == "" || p.attrs["kind"] == kind {
			g, s := b.h.of(d, p.entity).grow(b.spans)
			add(growth, g)
			for i := range seen {
				seen[i] = max(seen[i], s[i])
			}
		}
	}
	return growth, seen
}

// dataset takes what is known of the dataset that is read most, and of the layout of the largest HDF5 dataset.
func (b *builder) dataset() {
	var d place
	if len(b.places) > 0 {
		d = b.places[0]
	}
	noted := func(attrs map[string]string, key string, most float64) figure {
		if x, ok := attr(attrs, key); ok {
			return exact(min(x, most))
		}
		return figure{}
	}
	size, files := noted(d.attrs, "bytes", maxReading), noted(d.attrs, "files", maxReading)
	file := noted(d.attrs, "file_bytes", maxReading)
	if file.N == 0 && size.N > 0 && files.Center >= 1 {
		file = exact(size.Center / files.Center).by(metric.Inferred) // the mean stands in for the median
	}
	b.take(metric.DatasetBytes, size, metric.DatasetFiles)
	b.take(metric.DatasetFileN, files, metric.DatasetFiles)
	b.take(metric.FileBytes, file, metric.DatasetFiles)
	b.take(metric.StorageNet, noted(d.attrs, "network", 1), metric.DatasetFiles)
	b.take(metric.StorageTmpfs, noted(d.attrs, "tmpfs", 1), metric.DatasetFiles)
	b.take(metric.Rotational, noted(d.attrs, "rotational", 1), metric.DatasetFiles)

	var whole reason
	if kind := b.layout["layout"]; kind != "" && kind != "chunked" {
		whole.text = "the dataset is stored in one piece (" + kind + "), not in chunks"
	}
	told := func(key string) figure { return noted(b.layout, key, maxReading) }
	b.take(metric.HDF5Chunk, told("chunk_bytes").or(whole))
	b.take(metric.HDF5PerChunk, told("items_per_chunk").or(whole))
	b.take(metric.HDF5Touched, told("chunks_per_item").or(whole))
	b.take(metric.HDF5Item, told("item_bytes"))
	b.take(metric.HDF5Amplify, told("amplification"))
	b.take(metric.HDF5Filters, told("filters_n"))
	b.take(metric.HDF5Stored, told("stored_bytes"))
	cache := told("cache_bytes")
	if cache.N == 0 && b.layout != nil {
		cache = positive(defaultChunkCache(b.library()))
	}
	b.take(metric.HDF5Cache, cache.by(metric.Assumed))
}

// datasetFacts takes what is no number.
func (b *builder) datasetFacts() {
	f := &b.ev.Facts
	if l := b.layout; l != nil {
		f.HDF5 = &HDF5{File: l["file"], Name: l["name"], Shape: l["shape"], Chunk: l["chunk"], Dtype: l["dtype"],
			Filters: l["filters"], Library: b.library()}
	}
	d := b.mainDataset()
	if d == nil {
		return
	}
	f.Dataset, f.DatasetKind, f.FSType, f.Device = d.attrs["path"], d.attrs["kind"], d.attrs["fstype"], d.attrs["device"]
	f.Extension, f.StorageKind = d.attrs["extension"], b.storageKind(d)
	if files, _ := attr(d.attrs, "files"); f.Extension == "" && files <= 1 {
		f.Extension = strings.ToLower(path.Ext(f.Dataset))
	}
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

// readLayout returns what was told of the largest HDF5 dataset; nil where none was described.
func (b *builder) readLayout() (attrs map[string]string) {
	largest := -1.0
	for _, e := range b.rec.Events {
		if n, _ := attr(e.Attrs, "stored_bytes"); e.Kind == recording.EventLayout && n > largest {
			largest, attrs = n, e.Attrs
		}
	}
	return attrs
}

// library is the version of the HDF5 library that the job has.
func (b *builder) library() string { return cmp.Or(b.layout["library"], b.rec.Header.Job.HDF5Library) }

// defaultChunkCache returns the chunk cache a version of libhdf5 gives a dataset: rdcc_nbytes is 1 MiB, and 8 MiB from 2.0 on
// (H5Pset_cache in the HDF5 reference manual; release notes of 2.0.0); 0 for an unknown one.
func defaultChunkCache(library string) float64 {
	major, err := strconv.Atoi(strings.SplitN(library, ".", 2)[0])
	switch {
	case err != nil || major < 1:
		return 0
	case major < 2:
		return 1 << 20
	}
	return 8 << 20
}
