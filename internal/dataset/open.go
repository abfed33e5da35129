package dataset

import "fmt"

// MaxItemBytes is the most that one item may have. The largest picture that is decoded has half of it, decoded; a job that reads larger items
// reads them in patches.
const MaxItemBytes = 1 << 30

// opens is the table of how a file of each kind is opened to read items of it: to add a kind, add a row.
var opens = map[Kind]func(Source, File) (Handle, error){
	HDF5:  openHDF5,
	Image: openWhole,
	Npy:   openArray,
	Tar:   openMembers,
	Other: openBlocks,
}

// Open opens one file of the dataset to read its items. What it does not read before the first item, Read does: of a picture it opens the
// file and asks for its size, of a NumPy array it reads the header too. Only regular files are opened; a path may end in a symbolic link.
// Errors of the file system are there for errors.Is; io.ErrUnexpectedEOF, of Open and of Read, says that a file is shorter than it was or than
// its header says. They hold the raw path.
func (s Source) Open(f File) (Handle, error) {
	open := opens[s.Kind]
	if open == nil {
		return nil, fmt.Errorf("opening a file of the dataset: there is no way to read items of kind %q", s.Kind)
	}
	return open(s, f)
}

// ItemIsFile tells whether a file is one item: a job then opens, reads and closes it for each, and so does who measures it.
func (s Source) ItemIsFile() bool { return s.Kind == Image }
