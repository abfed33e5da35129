package hdf5

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/untrusted"
)

var (
	// ErrNoDataset says that there is no dataset of that name.
	ErrNoDataset = errors.New("no such dataset")
	// ErrOutside says that the data lies in another file, which is named and was not opened.
	ErrOutside = errors.New("the data lies outside of the file")
)

// maxHops bounds soft and external links on the way to one dataset; it is H5L_NUM_LINKS, libhdf5's own bound.
const maxHops = 16

// maxParts bounds the groups on the way to one dataset.
const maxParts = 256

// finder finds one dataset in a file, and in the files it links to where that is allowed.
type finder struct {
	follow bool
	locked bool
	files  []openedFile // all that were opened, the one asked for first
	shared int          // how many of them stay open beyond it
	name   string       // of the hard link to the dataset
	group  handle       // the group it is in, in the last of files
	hops   int
	// what the dataset draws on, of external storage and of a virtual dataset
	sources []source
}

// file is the last that was opened: the one that has the dataset.
func (f *finder) file() openedFile { return f.files[len(f.files)-1] }

type openedFile struct {
	handle
	bytes int64
	at    string // where it lies by the kernel's account
}

func (f *finder) close() {
	f.enter(0)
	for _, file := range f.files[f.shared:] {
		file.closeFile()
	}
	f.files = nil
}

// open opens a file, makes it the last of files and goes to its root group.
func (f *finder) open(path string) error {
	file, err := openFile(path, f.follow, f.locked)
	if err != nil {
		return err
	}
	f.files = append(f.files, file)
	return f.root()
}

// root goes to the root group of the last file.
func (f *finder) root() error {
	root, err := f.file().open("/")
	if err != nil {
		return fmt.Errorf("%w: its root group: %w", ErrUnreadable, err)
	}
	f.enter(root)
	return nil
}

// find walks from the root group to the dataset link by link, because libhdf5, given a whole path, follows whatever
// lies on it. It leaves group and name behind.
func (f *finder) find(dataset string) error {
	parts := split(dataset)
	if len(parts) == 0 {
		return fmt.Errorf("%w: no name was given", ErrNoDataset)
	}
	for steps := 0; ; steps++ {
		if steps > maxParts || len(parts) > maxParts {
			return fmt.Errorf("%w: more than %d groups deep", ErrNoDataset, maxParts)
		}
		if len(parts) == 0 {
			return fmt.Errorf("%w: the name leads to a group", ErrNoDataset)
		}
		l, err := f.group.link(parts[0])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNoDataset, err)
		}
		parts = parts[1:]
		if l.kind != "" {
			if parts, err = f.hop(l, parts); err != nil {
				return err
			}
			continue
		}
		if len(parts) == 0 {
			f.name = l.name
			return nil
		}
		below, err := f.group.open(l.name)
		if err != nil {
			return fmt.Errorf("%w: opening %s: %w", ErrNoDataset, untrusted.Cut(l.name, 255), err)
		}
		f.enter(below)
	}
}

// enter leaves the group, if it is in one, for another or none.
func (f *finder) enter(group handle) {
	if f.group > 0 {
		f.group.close()
	}
	f.group = group
}

// hop goes where a soft or external link points, and returns the way from there.
func (f *finder) hop(l rawLink, rest []string) ([]string, error) {
	name := untrusted.Cut(l.name, 255)
	if f.hops++; f.hops > maxHops {
		return nil, fmt.Errorf("%w: more than %d links lead to each other at %s", ErrNoDataset, maxHops, name)
	}
	if l.kind == LinkOther {
		return nil, fmt.Errorf("%w: %s is a link of a kind that only a plugin can explain", ErrNoDataset, name)
	}
	file, target, err := f.group.target(l)
	if err != nil {
		return nil, fmt.Errorf("%w: the link %s: %w", ErrNoDataset, name, err)
	}
	way := append(split(target), rest...)
	switch {
	case l.kind == LinkExternal && !f.follow:
		return nil, fmt.Errorf("%w: %s is an external link to %s in %s", ErrOutside, name, untrusted.Cut(target, 255),
			untrusted.Cut(file, 255))
	case l.kind == LinkExternal:
		path, err := beside(f.file().at, file)
		if err != nil {
			return nil, fmt.Errorf("following the external link %s: %w", name, err)
		}
		if err := f.open(path); err != nil {
			return nil, fmt.Errorf("following the external link %s to %s: %w", name, untrusted.Cut(file, 255), err)
		}
	case strings.HasPrefix(target, "/"):
		return way, f.root()
	}
	return way, nil
}

// split takes a path apart. The format knows no way up: ".." is a name like any other.
func split(path string) []string {
	var out []string
	for part := range strings.SplitSeq(path, "/") {
		if part != "" && part != "." {
			out = append(out, part)
		}
	}
	return out
}

// beside finds a file named in another one, whose own path is at: beside that, then in the working folder, as libhdf5
// does (H5F_prefix_open_file). It must be a regular file, and it is not opened here.
func beside(at, name string) (string, error) {
	for _, folder := range []string{filepath.Dir(at), ""} {
		if path, ok, err := regular(folder, name); ok || err != nil {
			return path, err
		}
	}
	return "", fmt.Errorf("%w: there is no file %s", ErrOutside, untrusted.Cut(name, 255))
}

// regular says whether there is a file of that name in a folder, and refuses to have anything but a regular one opened.
func regular(folder, name string) (path string, there bool, err error) {
	if path = name; folder != "" && !filepath.IsAbs(name) {
		path = filepath.Join(folder, name)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || path == "":
		return path, false, nil
	case err != nil:
		return path, false, fmt.Errorf("%w: looking at %s: %w", ErrOutside, untrusted.Cut(name, 255), cause(err))
	case !info.Mode().IsRegular():
		return path, false, fmt.Errorf("%w: %s is no regular file (%s)", ErrOutside, untrusted.Cut(name, 255),
			info.Mode().Type())
	}
	return path, true, nil
}

// maxSources bounds the files that a dataset may draw on.
const maxSources = 4096

// drawsOn lists the sources of a dataset and looks at them before libhdf5 opens them. It returns the folder in which
// those of external storage lie, "" for the working folder. Sources of a virtual dataset may be missing, then it reads
// as its fill value; those that are named by a pattern are not looked at.
func (f *finder) drawsOn(plist creation, storage Storage) (folder string, err error) {
	var total int
	if storage == Virtual {
		f.sources, total, err = plist.virtual(maxSources)
		if err == nil && total > maxSources {
			err = fmt.Errorf("%w: %d files, at most %d are followed", ErrOutside, total, maxSources)
		}
	} else if f.sources, total = plist.external(maxSources); total > maxSources || len(f.sources) == 0 {
		err = fmt.Errorf("%w: %d files, 1 to %d are followed", ErrOutside, total, maxSources)
	}
	if err != nil {
		return "", err
	}
	for _, folder := range []string{filepath.Dir(f.file().at), ""} {
		whole := true
		for _, s := range f.sources {
			if storage == Virtual && (s.file == "." || strings.Contains(s.file, "%")) {
				continue
			}
			_, there, err := regular(folder, s.file)
			if err != nil {
				return "", err
			}
			whole = whole && there
		}
		if whole && storage == External {
			return folder, nil
		}
	}
	if storage == Virtual {
		return "", nil
	}
	return "", fmt.Errorf("%w: not all files are there, %s is the first", ErrOutside,
		untrusted.Cut(f.sources[0].file, 255))
}

// cause takes the path out of an error of package os.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// openFile opens a regular file with libhdf5, and nothing else: it is looked at without opening it first, so that a
// FIFO is not waited for and a device not touched. By its name it is opened only where asked to, because what the file
// itself names is then looked for beside it. The thread must be locked and prepared.
func openFile(path string, byName, locked bool) (openedFile, error) {
	f, info, err := openRegular(path, unix.O_PATH)
	if err != nil {
		return openedFile{}, err
	}
	defer f.Close()
	out := openedFile{bytes: info.Size(), at: path}
	name := nameOf(f, info, path)
	if byName {
		if out.at, err = filepath.EvalSymlinks(path); err != nil {
			return openedFile{}, fmt.Errorf("opening the HDF5 file: %w", err)
		}
		if there, err := os.Stat(out.at); err != nil || !os.SameFile(info, there) {
			return openedFile{}, fmt.Errorf("opening the HDF5 file: %w",
				errors.Join(errors.New("it changed its place meanwhile"), err))
		}
		name = out.at
	}
	if out.handle, err = openName(name, locked); err != nil {
		return openedFile{}, refused(name, err)
	}
	return out, nil
}

// openRegular opens a path and refuses what is no regular file.
func openRegular(path string, flags int) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the HDF5 file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		err = fmt.Errorf("looking at the HDF5 file: %w", err)
	} else if !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: it is no regular file (%s)", ErrNotHDF5, info.Mode().Type())
	}
	if err != nil {
		f.Close()
	}
	return f, info, err
}

// refused says why libhdf5 did not open a file.
func refused(name string, why error) error {
	if errors.Is(why, ErrLocked) {
		return fmt.Errorf("opening the HDF5 file: %w", why)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return fmt.Errorf("opening the HDF5 file: %w", cause(err))
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("looking at the HDF5 file: %w", cause(err))
	}
	if err := ReadSuperblock(f, info.Size()); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, why)
}

// slots is how many places a chunk cache of a size gets: a prime, 100 for each chunk that fits, as H5Pset_chunk_cache's
// manual advises, but at least the library's 521 and at most 8 MiB of pointers.
func slots(cacheBytes int64, chunkBytes *int64) int64 {
	n := int64(521)
	if chunkBytes != nil && *chunkBytes > 0 {
		n = min(max(n, 100*min(cacheBytes / *chunkBytes, math.MaxInt32)), 1<<20)
	}
	for !big.NewInt(n).ProbablyPrime(0) { // which is sure below 2^64
		n++
	}
	return n
}
