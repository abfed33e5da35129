// Package hdf5 describes what lies in an HDF5 file (Layout: datasets with shape, type, layout, chunks, filters and the
// bytes they occupy) and reads items of a dataset (Reader). It binds the functions of
// libhdf5 that it needs (native*.go).
//
// libhdf5 dies on files it does not expect, and no Go code can catch that: every function here that takes a path is
// to be called in a child process that may die, never in the process that watches a job. What a file names outside of
// itself (external links, external storage, sources of virtual datasets) is named and never followed, unless a Reader
// is told to, because such a name may lead to a FIFO, a device or somebody else's data. Layout reads no attributes and
// no data. No filter plugin is ever loaded, and no lock is taken on the file unless a Reader is told to, so that the
// job can open it for writing.
package hdf5

import "github.com/pipetune/pipetune/internal/untrusted"

// Limits bound what one look into a file may cost. DefaultLimits gives values for a file nobody vouches for.
type Limits struct {
	Datasets  int // datasets described; after these nothing more is opened
	Groups    int // groups entered
	Links     int // links looked at in one group
	Depth     int // groups below the root group that are entered
	NameBytes int // a longer link is passed over and counted
	Chunks    int // a dataset with more chunks keeps its stored size to itself: asking reads the whole chunk index
	Outside   int // outside files listed for each dataset; links and problems listed for the file
}

// DefaultLimits keep one look at a file within milliseconds, some 10 MB of memory and 100 kB of description. Chunks was
// set by trying with libhdf5 1.10.8 and a warm cache: 10,000 chunks take 3 ms and 5 MB, 20,000 take 6 ms and 9 MB,
// 100,000 take 16 ms and 18 MB. 256 datasets out of 20,000 in one group take 12 to 18 ms.
func DefaultLimits() Limits {
	return Limits{Datasets: 256, Groups: 256, Links: 4096, Depth: 16, NameBytes: 255, Chunks: 20_000, Outside: 16}
}

// File is what an HDF5 file holds, as far as the limits let it be seen.
type File struct {
	Bytes    int64     // size of the file
	Library  string    // version of the libhdf5 that looked, such as 1.10.8
	Datasets []Dataset // in the order of the groups, those near the root first
	Links    []Link    // links out of the tree that were named and not followed
	Problems []Problem // objects that could not be opened, damaged or of a newer version than this libhdf5 knows
	Passed   Passed    // what was not looked at
}

// Passed counts what Layout did not look at. The zero value says that the description is complete.
type Passed struct {
	Links   int64 // beyond Limits.Links, or met after Limits.Datasets datasets were described
	Groups  int   // beyond Limits.Groups or Limits.Depth
	Names   int   // longer than Limits.NameBytes
	Outside int   // links out of the tree beyond Limits.Outside
	Broken  int   // objects that could not be opened, beyond those in Problems
}

// Problem says which object could not be read, and libhdf5's reason.
type Problem struct {
	Path   untrusted.Text
	Reason untrusted.Text
}

// LinkKind says how a link leaves the tree.
type LinkKind string

const (
	LinkSoft     LinkKind = "soft"     // a path in the same file
	LinkExternal LinkKind = "external" // a path in another file
	LinkOther    LinkKind = "other"    // a kind that a plugin would have to explain
)

// Link is a link that was not followed.
type Link struct {
	Path   untrusted.Text
	Kind   LinkKind
	File   untrusted.Text `json:",omitzero"` // external: the file it names
	Target untrusted.Text `json:",omitzero"` // soft and external: the object it names
}

// Storage says where the data of a dataset lies.
type Storage string

const (
	Contiguous Storage = "contiguous"
	Chunked    Storage = "chunked"
	Compact    Storage = "compact"  // inside the object header
	Virtual    Storage = "virtual"  // stitched together from other datasets
	External   Storage = "external" // contiguous, but in files beside this one
	Unknown    Storage = "unknown"  // could not be determined; Problem says why
)

// Dataset is one dataset. Sizes that cannot be determined are nil, never zero.
type Dataset struct {
	Path         untrusted.Text
	Shape        []int64   // empty for a scalar
	Type         string    // as NumPy says it where it can: float32, >i4, bool, str, compound (3 fields), …
	ElementBytes int64     // one element; of variable-length data only the reference to it
	Storage      Storage   // where the data lies
	Chunk        []int64   `json:",omitempty"` // chunked: the shape of a chunk
	Filters      []Filter  `json:",omitempty"` // in the order they are applied when writing
	Outside      []Outside `json:",omitempty"` // external, virtual: the files it draws on
	Sources      int       `json:",omitempty"` // external, virtual: how many there are
	// what it occupies in this file, compressed; of elements of varying length as far as no other data accounts for it
	StoredBytes *int64 `json:",omitempty"`
	// one index of the first axis, decoded; nil for scalars and variable-length data
	ItemBytes  *int64         `json:",omitempty"`
	ChunkBytes *int64         `json:",omitempty"` // chunked: one chunk, decoded
	Problem    untrusted.Text `json:",omitzero"`  // why the rest of this description is missing
}

// Outside is a file that a dataset draws on.
type Outside struct {
	File    untrusted.Text
	Dataset untrusted.Text `json:",omitzero"` // virtual: the dataset there
}

// Filter is one step of the pipeline that every chunk goes through.
type Filter struct {
	ID        int            // as registered with The HDF Group
	Name      untrusted.Text // the common name, or the one in the file where the number is not known here
	Values    []uint32       `json:",omitempty"` // its parameters; the level, for gzip
	Available bool           // whether this libhdf5 could decode it without a plugin
}
