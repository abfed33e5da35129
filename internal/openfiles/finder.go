package openfiles

import (
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/procfs"
)

// openFile is a file that a process of the job was found to have open or mapped.
type openFile struct {
	file string
	by   procfs.ID // or its trainer, which has the same mounts and does not end as soon
	how  string    // fd, map
}

// finding is a dataset that the finder made out from an open file.
type finding struct {
	openFile
	root    string // folder or file, as descriptors name it
	folder  bool
	facts   Facts  // zero where it could not be described
	reason  string // why not; sanitized by its maker
	storage procfs.Storage
	// watch are the paths to count opens on, as pipetune reaches them; empty with whyNot.
	watch []string
	// apart are paths to watch beside them so that the kernel does not merge events; see openCounter.
	apart  []string
	whyNot string
}

// FolderReader asks the file system in a child: what of *isolate.Paths a Sampler needs.
type FolderReader interface {
	Stat(ctx context.Context, key, path string) (isolate.FileInfo, error)
	ReadDir(ctx context.Context, key, path string, limit int) (isolate.Listing, error)
}

// finder finds out which dataset an open file belongs to. It runs in a goroutine of its own, because its
// questions to the file system go through children and may take seconds.
type finder struct {
	fs       procfs.FS
	paths    FolderReader
	describe Describe
	in       chan openFile
	out      chan finding
	maps     chan procfs.ID
	// seen are the datasets made out so far. They are not described again: that would be counted among the job's
	// own opens.
	seen []finding
}

const (
	// maxWatches bounds the folders whose opens are counted for one dataset. ImageNet has 1,000 class folders; a watch
	// costs the kernel about 1 KiB, and fs.inotify.max_user_watches is at least 8,192 (inotify(7)).
	maxWatches = 1024
	// sample is how many names are read to see what a folder holds.
	sample = 256
	// alike is how many files of the same kind make a folder a dataset.
	alike = 4
	// siblings is how many neighbouring folders are looked into before their parent is taken for the dataset.
	siblings = 3
)

func (s *finder) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-s.maps:
			for _, file := range mappedData(s.fs, id) {
				if !s.knows(file) {
					s.send(ctx, s.examine(ctx, openFile{file: file, by: id, how: "map"}))
				}
			}
		case seen := <-s.in:
			found := finding{openFile: seen}
			if !s.knows(seen.file) {
				found = s.examine(ctx, seen)
			}
			s.send(ctx, found)
		}
	}
}

func (s *finder) knows(file string) bool {
	return slices.ContainsFunc(s.seen, func(f finding) bool { return f.holds(file) })
}

func (f *finding) holds(file string) bool {
	return file == f.root || (f.folder && strings.HasPrefix(file, f.root+"/"))
}

func (s *finder) send(ctx context.Context, f finding) {
	select {
	case s.out <- f:
	case <-ctx.Done():
	}
}

// place is how pipetune reaches what a process of the job sees.
type place struct {
	mounts []procfs.Mount
	root   string // of the process; see within
	prefix string // goes before the process' own paths; "" in the same mount namespace
}

// reach returns pipetune's own path and the mount's key for a path of the job.
func (p place) reach(file string) (own, key string) {
	inner := within(path.Clean(file), p.root)
	own, key = file, "/"
	if p.prefix != "" {
		own, key = p.prefix+inner, p.prefix
	}
	if m, ok := procfs.MountOf(p.mounts, inner); ok {
		key = p.prefix + m.Point
	}
	return own, key
}

func (s *finder) examine(ctx context.Context, seen openFile) finding {
	f := finding{openFile: seen, root: seen.file}
	where := s.placeOf(seen.by)
	if storage, err := s.fs.StorageOf(where.mounts, within(seen.file, where.root)); err == nil {
		f.storage = storage
	}
	s.chooseRoot(ctx, where, &f)
	if s.describe != nil {
		own, key := where.reach(f.root)
		if facts, err := s.describe(ctx, key, own); err != nil {
			f.reason = err.Error()
		} else {
			f.facts = facts
		}
		if f.facts.Layout == nil && f.folder && f.facts.Kind == "hdf5" { // many files: one of them stands for all
			own, key := where.reach(seen.file)
			if one, err := s.describe(ctx, key, own); err == nil {
				f.facts.Layout = one.Layout
			}
		}
	}
	s.chooseWatches(ctx, where, &f)
	s.seen = append(s.seen, f)
	return f
}

// placeOf reads the mounts of a process and how to reach its files.
func (s *finder) placeOf(id procfs.ID) place {
	mounts, err := s.fs.MountsSeenBy(id)
	if err != nil {
		return place{}
	}
	p := place{mounts: mounts, root: "/"}
	theirs, err := s.fs.OpenID(id)
	if err != nil {
		return p
	}
	defer theirs.Close()
	if root, err := theirs.Root(); err == nil {
		p.root = root
	}
	if shared, err := theirs.SharesOurMounts(s.fs); err == nil && !shared {
		p.prefix = theirs.Inside()
	}
	return p
}

// chooseRoot decides whether the file itself, its folder or the folder above is the dataset: a folder of many files
// alike is one, and so is a folder of such folders (torchvision's ImageFolder). A file of many items is a part of a
// larger dataset where seven more beside it are numbered as it is, or where there are so many and another one of them
// was read before.
func (s *finder) chooseRoot(ctx context.Context, where place, f *finding) {
	ext := strings.ToLower(path.Ext(f.file))
	dir := path.Dir(f.file)
	ofKind := func(name string) bool { return strings.ToLower(path.Ext(name)) == ext }
	same, _, ok := s.countFiles(ctx, where, dir, ofKind)
	if !ok || same < alike || holdsMany(f.file) && same < 2*alike {
		return
	}
	if holdsMany(f.file) && !slices.ContainsFunc(s.seen, func(other finding) bool {
		return other.file != f.file && path.Dir(other.file) == dir && ofKind(other.file)
	}) {
		series := withoutNumbers(path.Base(f.file))
		same, _, ok = s.countFiles(ctx, where, dir, func(name string) bool { return withoutNumbers(name) == series })
		if !ok || same < 2*alike {
			return
		}
	}
	f.root, f.folder = dir, true
	up := path.Dir(dir)
	if up == "/" || up == dir {
		return
	}
	_, folders, ok := s.countFiles(ctx, where, up, ofKind)
	if !ok || len(folders) < 2 {
		return
	}
	tried, good := 0, 0
	for _, name := range folders {
		if tried == siblings {
			break
		}
		if sibling := path.Join(up, name); sibling != dir {
			tried++
			if n, _, ok := s.countFiles(ctx, where, sibling, ofKind); ok && n > 0 {
				good++
			}
		}
	}
	if good > 0 && good == tried {
		f.root = up
	}
}

// withoutNumbers is the name that files of one series share.
func withoutNumbers(name string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, name)
}

// countFiles counts the files of one kind in a folder and names the folders in it.
func (s *finder) countFiles(ctx context.Context, where place, dir string, kind func(name string) bool) (same int,
	folders []string, ok bool) {
	if s.paths == nil {
		return 0, nil, false
	}
	own, key := where.reach(dir)
	list, err := s.paths.ReadDir(ctx, key, own, sample)
	if err != nil {
		return 0, nil, false
	}
	for _, e := range list.Entries {
		switch {
		case e.Type == unix.DT_DIR:
			folders = append(folders, string(e.Name))
		case kind(string(e.Name)):
			same++
		}
	}
	return same, folders, true
}

// chooseWatches says on what to count opens. Counting asks the kernel to look the path up in pipetune's own process, so
// it is done only where the file system is local and has just answered.
func (s *finder) chooseWatches(ctx context.Context, where place, f *finding) {
	switch f.storage.Kind {
	case procfs.StorageBlock, procfs.StorageMemory:
	case procfs.StorageUnknown, "":
		f.whyNot = "the file system it lies on is not known to be local, and a file system that hangs would take " +
			"pipetune with it"
		return
	default:
		f.whyNot = "it lies on a file system of another machine or of a program (" + f.storage.FSType +
			"), where the kernel does not report every open"
		return
	}
	if s.paths == nil {
		f.whyNot = "pipetune could not ask the file system"
		return
	}
	own, key := where.reach(f.root)
	if _, err := s.paths.Stat(ctx, key, own); err != nil {
		f.whyNot = "the file system did not answer"
		return
	}
	f.watch = []string{own}
	if !f.folder {
		f.apart = []string{path.Dir(own)}
		return
	}
	list, err := s.paths.ReadDir(ctx, key, own, maxListed)
	if err != nil {
		f.watch, f.whyNot = nil, "its folder could not be listed"
		return
	}
	for _, e := range list.Entries {
		if e.Type == unix.DT_DIR {
			f.watch = append(f.watch, path.Join(own, string(e.Name)))
		} else if len(list.Entries) <= maxApart {
			f.apart = append(f.apart, path.Join(own, string(e.Name)))
		}
	}
	if len(f.watch) > maxWatches || (list.More && len(f.watch) > 1) {
		f.watch, f.apart = nil, nil
		f.whyNot = "it has more than " + strconv.Itoa(maxWatches) + " folders"
	}
	slices.Sort(f.watch)
}

// maxApart is the number of files in a folder up to which each is watched too: among more, the same file is seldom
// opened twice in a row, which is when the kernel would merge the two.
const maxApart = 256

// maxListed bounds the names read to find a dataset's folders; it is the most a Paths answers.
const maxListed = 10000
