package sampler

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// row is what is known of the dataset.
func (d *dataset) row(r untrusted.Redaction, virtual bool) recording.Dataset {
	row := recording.Dataset{Path: untrusted.Path(d.root, r), How: d.how, Kind: "other", Folder: d.folder,
		Extension: untrusted.Sanitize(d.facts.Extension)}
	if d.described {
		row.Kind = untrusted.Sanitize(d.facts.Kind)
		row.Bytes, row.Files, row.FileBytes = d.facts.Bytes, d.facts.Files, d.facts.FileBytes
		if d.facts.Layout == nil {
			row.Items = untrusted.Sanitize(d.facts.Items)
		}
	}
	if row.Extension == "" {
		row.Extension = extensionOf(d.file)
	}
	s := d.storage
	if s.FSType == "" {
		return row
	}
	row.FSType = untrusted.Sanitize(s.FSType)
	row.Tmpfs = new(s.Kind == procfs.StorageMemory)
	if s.Kind != procfs.StorageUnknown {
		row.Network = new(slices.Contains([]procfs.StorageKind{procfs.StorageNetwork, procfs.StorageFUSE,
			procfs.StorageShared}, s.Kind))
	}
	var names []string
	for _, dev := range s.Devices {
		names = append(names, untrusted.Sanitize(dev.Name))
		// Virtual disks call themselves rotational by default, so there the flag is no evidence.
		if turns, ok := dev.Turning(virtual).Get(); ok {
			row.Rotational = new(turns || row.Rotational != nil && *row.Rotational)
		}
	}
	row.Device = strings.Join(names, ",")
	return row
}

// chunkCacheBytes is the chunk cache of a dataset that nobody configured (H5Pset_cache): 1 MiB, and 8 MiB from HDF5 2.0
// on. It is not ok where the library's version is unknown.
func chunkCacheBytes(library string) (int64, bool) {
	major, _, _ := strings.Cut(library, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil || n < 1:
		return 0, false
	case n < 2:
		return 1 << 20, true
	}
	return 8 << 20, true
}

// manyFiles is the number of HDF5 files in a folder from which they are taken for one sample each. Sharded datasets
// have some dozens.
const manyFiles = 256

// layout is what is known of the HDF5 dataset that is most likely read.
func (d *dataset) layout(r untrusted.Redaction, library string) recording.Layout {
	row := *d.facts.Layout
	row.File, row.Library, row.Items = untrusted.Path(d.file, r), untrusted.Sanitize(library),
		untrusted.Sanitize(d.facts.Items)
	// Among many files each holds one sample, most likely, and an index of the first axis is not an item.
	if d.folder && (d.facts.Files == nil || *d.facts.Files >= manyFiles) {
		row.ItemBytes, row.ItemsPerChunk, row.ChunksPerItem, row.Amplification = nil, nil, nil, nil
	}
	if bytes, ok := chunkCacheBytes(library); ok {
		row.CacheBytes = &bytes
	}
	return row
}

// place is the header's line about where the dataset lies.
func (d *dataset) place(r untrusted.Redaction, virtual bool) recording.Storage {
	s := recording.Storage{Path: untrusted.Path(d.root, r), FSType: untrusted.Sanitize(d.storage.FSType),
		Kind: "unknown"}
	switch d.storage.Kind {
	case procfs.StorageBlock:
		s.Kind = "disk"
	case procfs.StorageMemory:
		s.Kind = "tmpfs"
	case procfs.StorageNetwork, procfs.StorageShared:
		s.Kind = "network"
	case procfs.StorageFUSE:
		s.Kind = "fuse"
	}
	for _, dev := range d.storage.Devices {
		s.Devices = append(s.Devices, untrusted.Sanitize(dev.Name))
		if turns, ok := dev.Turning(virtual).Get(); ok {
			s.Rotational = &turns
		}
		if model, ok := dev.Model.Get(); ok {
			s.Model = untrusted.Sanitize(model)
		}
	}
	return s
}
