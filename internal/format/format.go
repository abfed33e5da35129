// Package format is the table of the formats that datasets are kept in: how a file of each is known, by its first bytes
// or its name, and what can be determined of the items in it.
//
// It promises that all of pipetune asks this one table. How an item is read stands beside it, in one file of package
// dataset for each kind. It opens nothing.
package format

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Kind is how items lie in files, in the words of a recording and of a report.
type Kind string

const (
	HDF5  Kind = "hdf5"
	Image Kind = "image"
	Npy   Kind = "npy"
	Tar   Kind = "tar"
	Other Kind = "other"
)

// Items is what can be determined of the items of a kind.
type Items struct {
	Words     string // for people: "NumPy array"
	WholeFile bool   // a file is one item: a job opens, reads and closes it for each, and so does who measures it
	Pictures  bool   // they are encoded pictures, or may be
	Array     bool   // they are indices of an array, whose files are opened to learn how many there are
}

const (
	// onePerFile is the mean number of items in a file below which a file counts as one item.
	onePerFile = 1.5
	// mostHandles is how many files a process keeps open at the most: the soft limit of descriptors that a process
	// gets by default (RLIMIT_NOFILE, 1024 on Linux), some of which it needs itself.
	mostHandles = 1000
)

// OpensPerItem reports whether an item must open its file: because a file is one item, or because there are more array
// files than a process keeps open, so that an item in random order finds its file closed. The only file of a dataset of
// arrays is never closed for another. What is not known is 0.
func (i Items) OpensPerItem(files, perFile float64) bool {
	switch {
	case i.WholeFile:
		return true
	case i.Array && files == 1:
		return false
	}
	return perFile > 0 && perFile < onePerFile || i.Array && files > mostHandles
}

// Format is a row of the table.
type Format struct {
	Name string // "" where nothing but the name of a file says what it is
	Kind Kind
	Mark string // the first bytes, as each format's own specification gives them; "" where there are none
	At   int    // where the mark stands

	// Endings are of names, in lower case: what files are judged by where there are too many to open. A file so named
	// that a job has open or mapped may be its dataset at first sight; what weights and checkpoints are named as well
	// is Doubtful.
	Endings  string
	Sole     string // those of Endings that no other format has
	Doubtful string // other endings, which files that are no data have as often
	Many     bool   // a file holds many items, so that it is a dataset by itself
	Signs    string // names of files which say that the folder around them holds this format

	Items
}

var (
	pictures = Items{Words: "pictures", WholeFile: true, Pictures: true}
	raw      = Items{Words: "raw bytes"}
)

// Table is all that is known: to add a format, add a row, and where its kind is new, the file in package dataset that
// reads it. The first mark that fits wins.
var Table = []Format{
	{Name: "hdf5", Kind: HDF5, Mark: "\x89HDF\r\n\x1a\n", Endings: ".h5 .hdf5 .hdf .he5 .nc .mat",
		Sole: ".h5 .hdf5 .he5", Many: true, Items: Items{Words: "HDF5", Array: true}},
	{Name: "jpeg", Kind: Image, Mark: "\xff\xd8\xff", Endings: ".jpg .jpeg", Items: pictures},
	{Name: "png", Kind: Image, Mark: "\x89PNG\r\n\x1a\n", Endings: ".png", Items: pictures},
	{Name: "gif", Kind: Image, Mark: "GIF8", Endings: ".gif", Items: pictures},
	{Name: "tiff", Kind: Image, Mark: "II*\x00", Endings: ".tif .tiff", Items: pictures},
	{Name: "tiff", Kind: Image, Mark: "MM\x00*", Items: pictures},
	{Name: "webp", Kind: Image, At: 8, Mark: "WEBP", Endings: ".webp", Items: pictures},
	{Name: "bmp", Kind: Image, Mark: "BM", Endings: ".bmp", Items: pictures},
	{Name: "npy", Kind: Npy, Mark: "\x93NUMPY", Endings: ".npy", Many: true,
		Items: Items{Words: "NumPy array", Array: true}},
	{Name: "tar", Kind: Tar, At: 257, Mark: "ustar", Endings: ".tar", Many: true,
		Items: Items{Words: "tar archive", Pictures: true}},
	{Name: "zip", Kind: Other, Mark: "PK\x03\x04", Endings: ".zip .npz", Many: true, Items: raw},
	{Name: "gzip", Kind: Other, Mark: "\x1f\x8b", Endings: ".gz", Doubtful: ".tgz", Items: raw},
	{Name: "parquet", Kind: Other, Mark: "PAR1", Endings: ".parquet", Many: true, Items: raw},
	{Name: "arrow", Kind: Other, Mark: "ARROW1", Endings: ".arrow .feather", Many: true, Signs: "dataset_info.json",
		Items: raw},
	{Name: "lmdb", Kind: Other, At: 16, Mark: "\xde\xc0\xef\xbe", Endings: ".mdb .lmdb", Many: true, Items: raw},
	{Name: "tfrecord", Kind: Other, Endings: ".tfrecord .tfrecords", Many: true, Items: raw},
	{Name: "pytorch", Kind: Other, Endings: ".pt", Doubtful: ".pth", Items: raw},
	{Name: "pickle", Kind: Other, Endings: ".pkl", Doubtful: ".pickle", Items: raw},
	{Name: "text", Kind: Other, Doubtful: ".csv .tsv .json .jsonl .txt", Items: raw},
	{Name: "netcdf", Kind: Other, Mark: "CDF\x01", Many: true, Items: raw}, // version 4 is HDF5
	{Name: "netcdf", Kind: Other, Mark: "CDF\x02", Many: true, Items: raw},
	{Name: "netcdf", Kind: Other, Mark: "CDF\x05", Many: true, Items: raw},
	{Name: "zarr", Kind: Other, Endings: ".zarr", Many: true, Signs: ".zarray .zgroup zarr.json", Items: raw},
	{Kind: Other, Endings: ".bin .rec .beton .dat .raw .mmap", Many: true, Items: raw},
	{Kind: Other, Endings: ".ppm .wav .flac .mp3 .ogg .opus .mp4 .avi .mkv .webm .nii .dcm .las .ply .pcd", Items: raw},
}

var unknown = Format{Kind: Other, Items: raw}

// OfBytes recognizes a file's format from its first bytes; HeadBytes of them are enough.
func OfBytes(head []byte) Format {
	for _, f := range Table {
		if f.Mark != "" && len(head) >= f.At && bytes.HasPrefix(head[f.At:], []byte(f.Mark)) {
			return f
		}
	}
	if oldTar(head) {
		return Table[slices.IndexFunc(Table, func(f Format) bool { return f.Kind == Tar })]
	}
	return unknown
}

// oldTar recognizes the archives of Unix V7, which have no mark, by the sum of their first header: its 512 bytes with
// eight spaces in the place of the sum, which is written in octal digits (tar(5)).
func oldTar(head []byte) bool {
	const length, at, digits = 512, 148, 8
	if len(head) < length || head[0] == 0 {
		return false
	}
	want, err := strconv.ParseInt(strings.Trim(string(head[at:at+digits]), " \x00"), 8, 32)
	sum := int64(digits * ' ')
	for i, b := range head[:length] {
		if i < at || i >= at+digits {
			sum += int64(b)
		}
	}
	return err == nil && sum == want
}

// signs is the table by Format.Signs: it is asked of every file of a tree.
var signs = func() map[string]Format {
	out := map[string]Format{}
	for _, f := range Table {
		for _, name := range strings.Fields(f.Signs) {
			out[name] = f
		}
	}
	return out
}()

// OfFolder recognizes the format of a folder that holds a file of that name; not ok where the name says nothing.
func OfFolder(name []byte) (f Format, ok bool) {
	f, ok = signs[string(name)]
	return f, ok
}

// ChunkCacheBytes is the chunk cache that HDF5 libraries before 2.0 give a dataset (H5D_CHUNK_CACHE_NBYTES_DEFAULT).
const ChunkCacheBytes = 1 << 20

// ChunkCacheOf is what a version gives, 8 MiB from 2.0 on. It is not ok where the version is unknown.
func ChunkCacheOf(library string) (int64, bool) {
	major, _, _ := strings.Cut(library, ".")
	n, err := strconv.Atoi(major)
	switch {
	case err != nil || n < 1:
		return 0, false
	case n < 2:
		return ChunkCacheBytes, true
	}
	return 8 << 20, true
}

// HeadBytes is how much of a file is read to recognise it: a tar archive's mark ends at byte 262, and the header of an
// array of a hundred fields fits in.
const HeadBytes = 4096

// OfName recognizes a file's likely format from its name. data says that what is so called is data.
func OfName(name string) (f Format, data bool) {
	ending := strings.ToLower(path.Ext(name))
	for _, f := range Table {
		if data = has(f.Endings, ending); data || has(f.Doubtful, ending) {
			return f, data
		}
	}
	return unknown, false
}

// Promises reports whether a name is that of a file of a kind and nothing else.
func (k Kind) Promises(name string) bool {
	return slices.ContainsFunc(Table, func(f Format) bool { return f.Kind == k && has(f.Sole, path.Ext(name)) })
}

func has(endings, ending string) bool { return slices.Contains(strings.Fields(endings), ending) }

// Items is what can be determined of a kind's items: nothing of a kind that is not in the table.
func (k Kind) Items() Items {
	for _, f := range Table {
		if f.Kind == k {
			return f.Items
		}
	}
	return Items{}
}

// Kinds lists all kinds, as they come in the table.
func Kinds() (kinds []Kind) {
	for _, f := range Table {
		if !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	return kinds
}
