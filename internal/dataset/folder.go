package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// Folder is a bounded look into a folder and some of the folders in it.
type Folder struct {
	Entries   int64          // names seen
	More      bool           // there are names that were not seen, so that counts are lower bounds
	Folders   int            // folders among them
	Extension untrusted.Text // what most names end with, in lower case with its dot; empty for names without one
	Sizes     *Sizes         `json:",omitempty"` // nil when no file's size was looked at
}

// Sizes sums up the sizes of the files that were looked at.
type Sizes struct {
	Count  int
	Median int64 // bytes
}

// What bounds a look into a folder.
const (
	mostEntries = 4096 // names read from it and the folders in it
	mostSizes   = 256  // files whose size is asked for
	mostFolders = 8    // folders below it that are entered
)

type survey struct {
	folder     Folder
	extensions map[string]int64
	kinds      map[Kind]int64
	files      int64
	sizes      []int64
}

func describeFolder(f *os.File) (Description, error) {
	s := survey{extensions: map[string]int64{}, kinds: map[Kind]int64{}}
	below, err := s.read(f)
	if err != nil {
		return Description{}, fmt.Errorf("listing the dataset's folder: %w", err)
	}
	// A folder of classes, as torchvision's ImageFolder reads it, holds its files one level down. The folders that are
	// entered are spread over all of them, because neighbours may be alike.
	entered := min(len(below), mostFolders)
	for i := range entered {
		s.enter(f, below[i*len(below)/entered])
	}
	if len(below) > entered {
		s.folder.More = true
	}
	return s.sum(), nil
}

// enter looks into a folder of the folder. One that cannot be opened is left out.
func (s *survey) enter(parent *os.File, name string) {
	fd, err := unix.Openat(int(parent.Fd()), name,
		unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	below, err := s.read(f)
	if err != nil || len(below) > 0 {
		s.folder.More = true
	}
}

// read goes through the entries of one folder as the kernel streams them, up to the limit for all folders together,
// and returns the names of the folders in it.
func (s *survey) read(f *os.File) (below []string, err error) {
	const quota = mostEntries / (mostFolders + 1) // so that a crowded first folder leaves some to the others
	for seen := 0; ; {
		entries, err := f.ReadDir(256)
		for _, entry := range entries {
			if s.folder.Entries >= mostEntries || seen >= quota && s.folder.Folders > 0 {
				s.folder.More = true
				return below, nil
			}
			seen++
			s.folder.Entries++
			if s.take(f, entry) {
				below = append(below, entry.Name())
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return below, nil
		case err != nil:
			return below, err
		}
	}
}

// take counts one entry and says whether it is a folder.
func (s *survey) take(f *os.File, entry fs.DirEntry) (folder bool) {
	switch {
	case entry.IsDir():
		s.folder.Folders++
		return true
	case !entry.Type().IsRegular():
		return false
	}
	found, _ := format.OfName(entry.Name())
	s.files++
	s.kinds[found.Kind]++
	if extension := strings.ToLower(path.Ext(entry.Name())); len(s.extensions) < 1024 || s.extensions[extension] > 0 {
		s.extensions[extension]++
	}
	if len(s.sizes) < mostSizes {
		var stat unix.Stat_t
		if unix.Fstatat(int(f.Fd()), entry.Name(), &stat, unix.AT_SYMLINK_NOFOLLOW) == nil {
			s.sizes = append(s.sizes, stat.Size)
		}
	}
	return false
}

func (s *survey) sum() Description {
	out := Description{Kind: cmp.Or(majority(s.kinds, s.files), Other), Files: s.files, Folder: &s.folder}
	most := ""
	for name, count := range s.extensions {
		if n := s.extensions[most]; count > n || count == n && name < most {
			most = name
		}
	}
	s.folder.Extension = untrusted.Cut(most, 32)
	if n := len(s.sizes); n > 0 {
		slices.Sort(s.sizes)
		for _, size := range s.sizes {
			out.Bytes += size
		}
		s.folder.Sizes = &Sizes{Count: n, Median: s.sizes[n/2]}
	}
	return out
}
