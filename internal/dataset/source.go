package dataset

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// Source says how the items of a dataset are read. It goes to worker processes as JSON, with files and items.
type Source struct {
	Kind   Kind
	Format string // more exactly: hdf5, jpeg, png, npy, zip, tar, parquet, …; "" where unknown

	// Dataset is the path of the dataset inside an HDF5 file.
	Dataset string `json:",omitempty"`
	// Members says that each item lies in the dataset that its Ref names. Dataset is then what their paths have in
	// common, with a * for what differs.
	Members bool `json:",omitempty"`
	// Rows says that these datasets hold many items each, at the indices of their first axis; false: each is an item.
	Rows bool `json:",omitempty"`
	// ItemShape is the shape of one item where it is a patch of what lies at an index of the first axis: nil means all
	// of it. It has as many axes as the dataset; the first is how many indices an item takes.
	ItemShape []int64 `json:",omitempty"`
	// BlockBytes is the size of an item of raw bytes (Kind Other); 0 is DefaultBlockBytes.
	BlockBytes int64 `json:",omitempty"`
	// Follow allows HDF5's external links, external storage and virtual datasets to be followed.
	Follow bool `json:",omitempty"`
	// OpensEach says that a job must open the file of each item that it reads (format.Items.OpensPerItem).
	OpensEach bool `json:",omitempty"`
	// ChunkCacheBytes is the chunk cache an HDF5 handle gets; nil is the library's default of 1 MiB, 0 is none.
	ChunkCacheBytes *int64 `json:",omitempty"`
	// Locked opens HDF5 files with the library's file locks, as h5py does by default; false opens without.
	Locked bool `json:",omitempty"`
}

// Relayout says how a run of items of an HDF5 file is stored anew.
type Relayout = hdf5.Relayout

// Rewrite is hdf5.Rewrite of the source's dataset.
func (s Source) Rewrite(f File, dst string, how Relayout) (items, bytes int64, err error) {
	return hdf5.Rewrite(string(f.Path), hdf5.ReaderOptions{Dataset: s.Dataset, Follow: s.Follow, Locked: s.Locked}, dst,
		how)
}

// PictureMemory is the address space of a process that decodes pictures: the largest that is decoded has 178,956,970
// pixels of three bytes, half a gigabyte, beside its file and its chunk.
const PictureMemory = 3 << 30

// ReadMemory is the address space, beyond that at its start, of a process that only reads the items.
func (s Source) ReadMemory() int64 {
	if s.Kind == HDF5 {
		return hdf5.ProcessBytes
	}
	return PictureMemory
}

// DefaultBlockBytes is what one item of raw bytes is taken to be.
const DefaultBlockBytes = 128 << 10

// File is one file of a dataset.
type File struct {
	Path    []byte // not redacted and not sanitized: the way to open it
	Bytes   int64
	Written int64 // when it was last written to, in seconds since 1970
	// Device and Inode name the file whatever its path, so that links to it are known; both are 0 where nobody asked.
	Device uint64 `json:",omitempty"`
	Inode  uint64 `json:",omitempty"`
	// Drawn are the files that its items are read from beside it, where HDF5's ways are followed; they draw on none.
	Drawn []File `json:",omitempty"`
	// ChunkRows is the length along the first axis of the longest chunk in Drawn; 0 where none is chunked.
	ChunkRows int64 `json:",omitempty"`
	// Unsure says why Drawn may not be all of them; "" where they are.
	Unsure string `json:",omitempty"`
}

// Reach is what the file holds and what it draws on, in bytes.
func (f File) Reach() int64 {
	sum := f.Bytes
	for _, d := range f.Drawn {
		sum += d.Bytes
	}
	return sum
}

// Ref names one item.
type Ref struct {
	File int // index into Sample.Files
	// along the first axis; number of the block of raw bytes; 0 for a file that is one item, and for a tar member
	Index int64
	// Corner is where a patch begins, an index for each axis; nil where the item is all of Index.
	Corner []int64 `json:",omitempty"`
	// Name is the path of the dataset that is the item, or holds it at an index of its first axis, Row; Index then
	// counts through all of them. "" where all items are of one.
	Name string `json:",omitempty"`
	Row  int64  `json:",omitempty"`
	// At and Bytes are where the member of a tar file lies.
	At    int64 `json:",omitempty"`
	Bytes int64 `json:",omitempty"`
}

// Sample is what is read of a dataset: the files that were drawn, and items of them in the order they lie in storage.
type Sample struct {
	Source
	Files []File
	Items []Ref
}

// All lists the files that are read: those of the sample and what they draw on, each once.
func (s *Sample) All() []File {
	out := slices.Clone(s.Files)
	seen := map[string]bool{}
	for _, f := range s.Files {
		seen[string(f.Path)] = true
	}
	for i, f := range s.Files {
		out[i].Drawn = nil
		for _, d := range f.Drawn {
			if !seen[string(d.Path)] {
				seen[string(d.Path)] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// Folder is the folder that all files of the sample lie in.
func (s *Sample) Folder() string {
	common := ""
	for i, f := range s.Files {
		dir := filepath.Dir(string(f.Path))
		if i == 0 {
			common = dir
		}
		for common != "/" && common != "." && dir != common && !strings.HasPrefix(dir, common+"/") {
			common = filepath.Dir(common)
		}
	}
	return common
}

// Within is what who reads the sample has to come to: its one file where that is never replaced, or the folder that all
// lie in; nil, everything, where the files may name others.
func (s *Sample) Within(settled bool) []string {
	if s.Follow {
		return nil
	}
	if len(s.Files) == 1 && settled {
		return Reach(string(s.Files[0].Path))
	}
	if common := s.Folder(); filepath.IsAbs(common) {
		return Reach(common)
	}
	return nil
}

// Handle is an open file of a dataset. It is used by one goroutine.
type Handle interface {
	// Read brings one item's bytes as a training job gets them before it decodes: the encoded bytes of a picture or an
	// archive's member, the elements of an array; of HDF5 the elements, decompressed. It may use buf and return it,
	// longer if need be; what it returns is good until the next call.
	Read(item Ref, buf []byte) ([]byte, error)
	Close() error
}

// Placed is a Handle of a file in which each item lies in one piece.
type Placed interface {
	// At is where an item begins.
	At(item Ref) (int64, error)
	// Frame is how long the file is, and what goes before its items and says how they are read.
	Frame() (size int64, head []byte, err error)
}

// BatchReader is a Handle that can read several items of its file with one call, as a sampler of batches does.
type BatchReader interface {
	// ReadBatch brings the items one after the other, in the order they are named; buf is as in Handle's Read.
	ReadBatch(items []Ref, buf []byte) ([]byte, error)
}

// ChunkReader is a Handle of a format that stores data in compressed pieces.
type ChunkReader interface {
	// ReadRaw reads every stored piece that holds a part of the item, and decompresses nothing. It returns what they
	// occupy, 0 where nothing was ever written. It may use buf, and keeps what it needs for the next call.
	ReadRaw(item Ref, buf []byte) (raw int64, err error)
}

// Sweep is a list of items read with one call, each to the same place, and timed one by one; of HDF5 alone.
type Sweep = hdf5.Sweep

// Sweeper is a Handle whose items can be put on the list of a sweep.
type Sweeper interface {
	// Queue puts an item on the list, beside those of other handles. It reads nothing. An item that it refuses with an
	// error is one that Read refuses too. The handle has to stay open until the list is read or cleared.
	Queue(item Ref, list *Sweep) error
}
