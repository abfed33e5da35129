package sampler

import (
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/untrusted"
)

func itoa(n int) string { return strconv.Itoa(n) }

func putInt(a map[string]string, key string, v *int64) {
	if v != nil {
		a[key] = strconv.FormatInt(*v, 10)
	}
}

func flag(yes bool) string {
	if yes {
		return "1"
	}
	return "0"
}

// attrs are the attributes of recording.EventDataset. What is not known is left out.
func (d *dataset) attrs(r untrusted.Redaction, virtual bool) map[string]string {
	a := map[string]string{"path": untrusted.Path(d.root, r), "how": d.how, "kind": "other", "folder": flag(d.folder)}
	if d.looked {
		a["kind"] = untrusted.Sanitize(d.look.Kind)
		putInt(a, "bytes", d.look.Bytes)
		putInt(a, "files", d.look.Files)
		putInt(a, "file_bytes", d.look.FileBytes)
	}
	a["extension"] = untrusted.Sanitize(d.look.Extension)
	if a["extension"] == "" {
		a["extension"] = extensionOf(d.file)
	}
	s := d.storage
	if s.FSType == "" {
		return a
	}
	a["fstype"] = untrusted.Sanitize(s.FSType)
	a["tmpfs"] = flag(s.Kind == procfs.StorageMemory)
	if s.Kind != procfs.StorageUnknown {
		a["network"] = flag(s.Kind == procfs.StorageNetwork || s.Kind == procfs.StorageFUSE || s.Kind == procfs.StorageShared)
	}
	var names []string
	for _, dev := range s.Devices {
		names = append(names, untrusted.Sanitize(dev.Name))
		// Virtual disks call themselves rotational by default, so there the flag is no evidence.
		if turns, ok := dev.Turning(virtual).Get(); ok {
			a["rotational"] = flag(turns || a["rotational"] == "1")
		}
	}
	if len(names) > 0 {
		a["device"] = strings.Join(names, ",")
	}
	return a
}

// chunkCacheBytes is the chunk cache of a dataset that nobody configured (H5Pset_cache): 1 MiB, and 8 MiB from HDF5 2.0 on.
// It is not ok where the library's version is unknown.
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

// manyFiles is the number of HDF5 files in a folder from which they are taken for one sample each. Sharded datasets have some dozens.
const manyFiles = 256

// layout is the attributes of recording.EventLayout.
func (d *dataset) layout(r untrusted.Redaction, library string) map[string]string {
	l := d.look.Layout
	a := map[string]string{
		"file": untrusted.Path(d.file, r), "name": untrusted.Sanitize(l.Name), "shape": untrusted.Sanitize(l.Shape), "dtype": untrusted.Sanitize(l.Dtype),
		"layout": untrusted.Sanitize(l.Layout), "filters_n": itoa(l.FilterCount),
	}
	for key, text := range map[string]string{"chunk": l.Chunk, "filters": l.Filters, "library": library} {
		if text != "" {
			a[key] = untrusted.Sanitize(text)
		}
	}
	putInt(a, "chunk_bytes", l.ChunkBytes)
	putInt(a, "stored_bytes", l.StoredBytes)
	if d.folder && (d.look.Files == nil || *d.look.Files >= manyFiles) {
		// Among so many files each holds one sample, most likely, and an index of the first axis is not an item.
		l = &HDF5Layout{}
	}
	putInt(a, "item_bytes", l.ItemBytes)
	putInt(a, "items_per_chunk", l.ItemsPerChunk)
	putInt(a, "chunks_per_item", l.ChunksPerItem)
	if l.Amplification != nil {
		a["amplification"] = strconv.FormatFloat(*l.Amplification, 'g', 6, 64)
	}
	if bytes, ok := chunkCacheBytes(library); ok {
		a["cache_bytes"] = strconv.FormatInt(bytes, 10)
	}
	return a
}

// place is the header's line about where the dataset lies.
func (d *dataset) place(r untrusted.Redaction, virtual bool) recording.Storage {
	s := recording.Storage{Path: untrusted.Path(d.root, r), FSType: untrusted.Sanitize(d.storage.FSType), Kind: "unknown"}
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
