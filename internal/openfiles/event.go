package openfiles

import (
	"cmp"
	"path"
	"strings"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/host"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

func (d *dataset) row(r untrusted.Redaction, virtual bool) recording.Dataset {
	row := d.facts.Dataset
	row.Path, row.How, row.Folder = untrusted.Path(d.root, r), d.how, d.folder
	row.Kind = cmp.Or(untrusted.Sanitize(row.Kind), "other")
	row.Extension, row.Items = untrusted.Sanitize(row.Extension), untrusted.Sanitize(row.Items)
	if d.facts.Layout != nil {
		row.Items = "" // they are in the layout's row
	}
	if row.Extension == "" {
		row.Extension = untrusted.Cut(strings.ToLower(path.Ext(d.file)), 16).String()
	}
	if d.storage.FSType == "" {
		return row
	}
	kind, place := d.storage.Kind, host.PlaceOf(d.root, d.storage, virtual, r)
	row.FSType, row.Rotational, row.Device = place.FSType, place.Rotational, strings.Join(place.Devices, ",")
	row.Tmpfs = new(kind == procfs.StorageMemory)
	if kind != procfs.StorageUnknown {
		row.Network = new(kind.Distant())
	}
	return row
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
	if bytes, ok := format.ChunkCacheOf(library); ok {
		row.CacheBytes = &bytes
	}
	return row
}
