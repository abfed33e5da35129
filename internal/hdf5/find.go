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
	last   rawLink      // the hard link to the dataset
	group  handle       // the group it is in, in the last of files
	hops   int
}

type openedFile struct {
	handle
	bytes int64
	at    string // where it lies by the kernel's account
}

func (f *finder) close() {
	if f.group > 0 {
		f.group.close()
		f.group = 0
	}
	for _, file := range f.files {
		file.closeFile()
	}
	f.files = nil
}

// file opens a file and makes it the last of files.
func (f *finder) file(path string) (root handle, err error) {
	file, err := openFile(path, f.follow, f.locked)
	if err != nil {
		return 0, err
	}
	f.files = append(f.files, file)
	root, err = file.open("/")
	if err != nil {
		return 0, fmt.Errorf("%w: its root group: %w", ErrUnreadable, err)
	}
	return root, nil
}

// find walks to the dataset link by link, because libhdf5, given a whole path, follows whatever lies on it. It leaves
// group and last behind.
func (f *finder) find(path, dataset string) error {
	at, err := f.file(path)
	if err != nil {
		return err
	}
	f.group = at
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
		rest := parts[1:]
		switch l.kind {
		case "":
			if len(rest) == 0 {
				f.last = l
				return nil
			}
			below, err := f.group.open(l.name)
			if err != nil {
				return fmt.Errorf("%w: opening %s: %w", ErrNoDataset, untrusted.Cut(l.name, 255), err)
			}
			f.enter(below)
			parts = rest
		default:
			if parts, err = f.hop(l, rest); err != nil {
				return err
			}
		}
	}
}

func (f *finder) enter(group handle) {
	f.group.close()
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
		path, err := beside(f.files[len(f.files)-1].at, file)
		if err != nil {
			return nil, fmt.Errorf("following the external link %s: %w", name, err)
		}
		root, err := f.file(path)
		if err != nil {
			return nil, fmt.Errorf("following the external link %s to %s: %w", name, untrusted.Cut(file, 255), err)
		}
		f.enter(root)
	case strings.HasPrefix(target, "/"):
		root, err := f.files[len(f.files)-1].open("/")
		if err != nil {
			return nil, fmt.Errorf("%w: its root group: %w", ErrUnreadable, err)
		}
		f.enter(root)
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
		path := place(folder, name)
		if ok, err := regular(path, name); ok || err != nil {
			return path, err
		}
	}
	return "", fmt.Errorf("%w: there is no file %s", ErrOutside, untrusted.Cut(name, 255))
}

// place puts a name that is not absolute into a folder.
func place(folder, name string) string {
	if filepath.IsAbs(name) || folder == "" {
		return name
	}
	return filepath.Join(folder, name)
}

// regular says whether there is a file, and refuses to have anything but a regular one opened.
func regular(path, name string) (bool, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || path == "":
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: looking at %s: %w", ErrOutside, untrusted.Cut(name, 255), cause(err))
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: %s is no regular file (%s)", ErrOutside, untrusted.Cut(name, 255),
			info.Mode().Type())
	}
	return true, nil
}

// maxSources bounds the files that a dataset may draw on.
const maxSources = 4096

// sources looks at the files that a dataset draws on before libhdf5 opens them. It returns the folder in which those of
// external storage lie, "" for the working folder or for absolute names. Sources of a virtual dataset may be missing,
// then it reads as its fill value; those that are named by a pattern are not looked at.
func (f *finder) sources(plist creation, storage Storage) (folder string, err error) {
	at := f.files[len(f.files)-1].at
	if storage == Virtual {
		list, total, err := plist.virtual(maxSources)
		if err == nil && total > maxSources {
			err = fmt.Errorf("%w: %d files, at most %d are followed", ErrOutside, total, maxSources)
		}
		for i := 0; err == nil && i < len(list); i++ {
			if name := list[i].file; name != "." && !strings.Contains(name, "%") {
				for _, folder := range []string{filepath.Dir(at), ""} {
					if _, err := regular(place(folder, name), name); err != nil {
						return "", err
					}
				}
			}
		}
		return "", err
	}
	list, total := plist.external(maxSources)
	if total > maxSources || len(list) == 0 {
		return "", fmt.Errorf("%w: %d files, 1 to %d are followed", ErrOutside, total, maxSources)
	}
	for _, folder := range []string{filepath.Dir(at), ""} {
		found := 0
		for _, s := range list {
			ok, err := regular(place(folder, s.file), s.file)
			if err != nil {
				return "", err
			}
			if ok {
				found++
			}
		}
		if found == len(list) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("%w: not all files are there, %s is the first", ErrOutside, untrusted.Cut(list[0].file, 255))
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
