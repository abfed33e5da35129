package dataset

import (
	"cmp"
	"fmt"
)

// MaxItemBytes is the most that one item may have. The largest picture that is decoded has half of it, decoded; a job
// that reads larger items reads them in patches.
const MaxItemBytes = 1 << 30

// Reader is how items of a kind are read.
type Reader struct {
	// Open opens a file to read items of it.
	Open func(Source, File) (Handle, error)
	// survey makes lots of files; nil for as many items in each as its handle, which is Counted, says.
	survey func(*surveyor, []File) error
}

// Counted is a Handle that knows how many items its file holds: those of the indices below.
type Counted interface{ Items() int64 }

// Readers is the table of how items of each kind of package format are read.
var Readers = map[Kind]Reader{
	HDF5:  {openHDF5, (*surveyor).surveyHDF5},
	Image: {plainly(func(_ Source, p *plainFile) Handle { return whole{p} }), (*surveyor).surveyWhole},
	Npy:   {openArray, (*surveyor).surveyNpy},
	Tar:   {plainly(func(_ Source, p *plainFile) Handle { return members{p} }), (*surveyor).surveyTar},
	Other: {plainly(func(s Source, p *plainFile) Handle {
		return blocks{p, cmp.Or(max(0, s.BlockBytes), DefaultBlockBytes)}
	}), (*surveyor).surveyRaw},
}

// Open opens one file of the dataset to read its items. What it does not read before the first item, Read does: of a
// picture it opens the file and asks for its size, of a NumPy array it reads the header too. Only regular files are
// opened; a path may end in a symbolic link. Errors of the file system are there for errors.Is; io.ErrUnexpectedEOF, of
// Open and of Read, says that a file is shorter than it was or than its header says. They hold the raw path.
func (s Source) Open(f File) (Handle, error) {
	r := Readers[s.Kind]
	if r.Open == nil {
		return nil, fmt.Errorf("opening a file of the dataset: there is no way to read items of kind %q", s.Kind)
	}
	return r.Open(s, f)
}

// ItemIsFile reports whether a file is one item, which a job opens, reads and closes each time.
func (s Source) ItemIsFile() bool { return s.Kind.Items().WholeFile }
