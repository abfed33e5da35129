package dataset

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/isolate"
)

func (s *surveyor) folder(place int) error {
	f, err := reopen(place, unix.O_DIRECTORY)
	if err != nil {
		return fmt.Errorf("opening the dataset's folder: %w", err)
	}
	defer f.Close()
	root := strings.TrimRight(s.path, "/") + "/"
	count := newCensus(s.o, len(root))
	w := walk{root: root, stop: func() bool { return s.late(walkShare) }, file: count.add}
	w.special.root, w.bad.root = []byte(root), []byte(root)
	err = w.run(int(f.Fd()))
	s.out.FilesExact = !w.cut && err == nil
	s.out.LargestDir, s.out.Folders, s.out.Links, s.out.Special = w.fullest, w.folders, w.links, w.special.sorted()
	s.bad.list = w.bad.list
	switch {
	case err != nil:
		return fmt.Errorf("the dataset's folder: %w", err)
	case count.files() == 0:
		return s.nothing()
	}
	if len(s.bad.list) > 0 {
		s.out.FilesExact = false // a folder that could not be entered holds nobody knows how many
	}
	chosen := s.choose(count, root)
	s.out.Files, s.out.Others = chosen.drawn.seen, count.files()-chosen.drawn.seen
	s.out.Kind, s.out.Format = chosen.kind, count.format(chosen)
	if chosen.kind == Other && count.signed.Name != "" {
		s.out.Format, s.signed = count.signed.Name, true
	}
	files := s.sizes(chosen.drawn.inDrawnOrder(), root)
	s.reckonBytes(files)
	return s.survey(s.verify(files))
}

// nothing is the error for a tree without a file, with what was there instead.
func (s *surveyor) nothing() error {
	var there []string
	note := func(what string, n int64) {
		if n > 0 {
			there = append(there, fmt.Sprintf("%s (%d)", what, n))
		}
	}
	note("folders", s.out.Folders)
	note("symbolic links, not followed", s.out.Links)
	for _, t := range s.out.Special {
		note(t.Reason, t.Count)
	}
	for _, t := range s.bad.list {
		note("what could not be read: "+t.Reason, t.Count)
	}
	if len(there) == 0 {
		return fmt.Errorf("%w: the folder is empty", ErrNoFiles)
	}
	return fmt.Errorf("%w in the folder, only %s", ErrNoFiles, strings.Join(there, ", "))
}

// fewFiles is a folder whose files are no sample each: fewer than a usual batch has. A file of another kind among them
// may hold all samples.
const fewFiles = 32

// choose picks the kind of the dataset: the one that more than half of the files have; else, as with a text beside
// every picture, a handful of archives among logs, or pictures of what one large file holds, the one with most bytes.
func (s *surveyor) choose(count *census, root string) *pool {
	best, most := count.pools[0], -1.0
	for _, p := range count.pools {
		if p.kind != Other && 2*p.drawn.seen > count.files() && count.files() >= fewFiles ||
			p.drawn.seen == count.files() {
			return p
		}
	}
	for _, p := range count.pools {
		if p.drawn.seen == 0 {
			continue
		}
		paths := p.drawn.inDrawnOrder()
		var sum, n float64
		for _, name := range paths[:min(len(paths), 256)] {
			if f, err := size(root + name); err == nil {
				sum, n = sum+float64(f.Bytes), n+1
			}
		}
		if bytes := sum / max(n, 1) * float64(p.drawn.seen); bytes > most {
			best, most = p, bytes
		}
	}
	return best
}

// size asks for a file's size and opens nothing.
func size(path string) (File, error) {
	var st unix.Stat_t
	stat := unix.Lstat
	if blobsOf(path) != "" {
		stat = unix.Stat // the walk has seen where its links lead
	}
	if err := isolate.Persist(func() error { return stat(path, &st) }); err != nil {
		return File{}, fmt.Errorf("looking at a file: %w", err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return File{}, fmt.Errorf("no longer a regular file but a %s", specialName(byte(st.Mode&unix.S_IFMT>>12)))
	}
	return File{Path: []byte(path), Bytes: st.Size, Written: st.Mtim.Sec, Device: st.Dev, Inode: st.Ino}, nil
}

// sizes asks for the sizes of the files drawn. Those it cannot have are counted and left out.
func (s *surveyor) sizes(drawn []string, root string) []File {
	s.asked = len(drawn)
	files := make([]File, 0, len(drawn))
	for i, name := range drawn {
		if i%64 == 63 && s.late(surveyShare) {
			break
		}
		f, err := size(root + name)
		if err != nil {
			s.bad.add(reasonOf(err), nil, []byte(root+name))
			continue
		}
		files = append(files, f)
	}
	return files
}

// reckonBytes fills in what all files hold. To ask every file of a tree for its size takes 6.7 times as long as to list
// it, from a warm cache (BenchmarkSurveyTree), and a round trip each on a network disk; so beyond the files drawn it is
// their mean that counts.
func (s *surveyor) reckonBytes(files []File) {
	var sum int64
	for _, f := range files {
		sum += f.Bytes
	}
	s.out.Bytes = sum
	if len(files) > 0 && int64(len(files)) < s.out.Files {
		s.out.Bytes = int64(float64(sum) / float64(len(files)) * float64(s.out.Files))
	}
}

// verified is how many files are held against their first bytes: it shows a share wrong by 6 points (95 %).
const verified = 256

// verify drops empty files and holds names against first bytes, for the kinds whose files are not opened anyway. The
// kind, and its format, becomes that of more than half of the files whose bytes were looked at.
func (s *surveyor) verify(files []File) []File {
	files = slices.DeleteFunc(files, func(f File) bool {
		if f.Bytes > 0 {
			return false
		}
		s.bad.add(reasonEmpty, nil, f.Path)
		return true
	})
	if s.out.Kind.Items().Array {
		return files
	}
	kinds, formats := map[Kind]int{}, map[string]int{}
	var looked []File
	var found []Kind
	next := 0
	for ; next < min(len(files), verified) && !s.late(surveyShare); next++ {
		f := files[next]
		head, _, err := s.headOf(f)
		if err != nil {
			s.bad.add(reasonOf(err), nil, f.Path)
			continue
		}
		is := format.OfBytes(head)
		kinds[is.Kind]++
		formats[is.Name]++
		looked, found = append(looked, f), append(found, is.Kind)
	}
	if kind := majority(kinds, len(looked)); kind != "" && kind != s.out.Kind {
		if kind == Other {
			s.note("By their names the files are of the kind %s; by their first bytes most are not.", s.out.Kind)
			s.out.Format = ""
		}
		s.out.Kind = kind
	}
	if name := majority(formats, len(looked)); name != "" && !s.signed {
		s.out.Format = name
	}
	var kept []File
	for i, f := range looked {
		if s.out.Kind != Other && found[i] != s.out.Kind {
			s.bad.add("its first bytes are not those of the kind "+string(s.out.Kind), nil, f.Path)
			continue
		}
		kept = append(kept, f)
	}
	return append(kept, files[next:]...)
}

// openHeaders opens a regular file whose headers are read, and nothing between them: not through a link, but where the
// person named it or a snapshot has it.
func (s *surveyor) openHeaders(f File) (r *os.File, size int64, err error) {
	flags := unix.O_NOFOLLOW
	if path := string(f.Path); path == s.path || blobsOf(path) != "" {
		flags = 0
	}
	if r, size, err = OpenRegular(string(f.Path), flags); err == nil {
		// Without this the kernel reads 128 KiB ahead into the page cache, and more of a small file would be warm than
		// it was found.
		_ = unix.Fadvise(int(r.Fd()), 0, 0, unix.FADV_RANDOM)
	}
	return r, size, err
}

// headOf reads the first bytes of a regular file and asks for its size.
func (s *surveyor) headOf(f File) (head []byte, size int64, err error) {
	r, size, err := s.openHeaders(f)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	if head, err = readHead(r); err != nil {
		return nil, 0, fmt.Errorf("reading its first bytes: %w", err)
	}
	return head, size, nil
}
