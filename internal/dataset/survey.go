package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/isolate"
)

// SurveyOptions say how a dataset is surveyed. The zero value of a field is its default.
type SurveyOptions struct {
	Seed     uint64
	MaxFiles int    // files drawn; 2048
	MaxItems int    // items drawn; 4096
	Dataset  string // HDF5: path of the dataset in the file; "" is the likely one
	// of an item that is a patch: as many axes as the dataset, or one less when it takes one index of the first
	ItemShape  []int64
	BlockBytes int64         // an item of raw bytes; DefaultBlockBytes
	Follow     bool          // HDF5: allow data that lies in other files
	Limit      time.Duration // what the whole survey may take; 20 s. What was seen by then is the result
	Avoid      [][]byte      // HDF5 files that are not opened, because they ended an earlier survey's process
	WalkOnly   bool          // open no HDF5 file: the sample has the files drawn, in the order drawn, and no items
}

func (o SurveyOptions) withDefaults() SurveyOptions {
	o.MaxFiles, o.MaxItems = cmp.Or(max(0, o.MaxFiles), 2048), cmp.Or(max(0, o.MaxItems), 4096)
	o.BlockBytes, o.Limit = cmp.Or(max(0, o.BlockBytes), DefaultBlockBytes), cmp.Or(max(0, o.Limit), 20*time.Second)
	return o
}

// The shares of SurveyOptions.Limit at whose end the walk and the looks into files stop. A walk of a million files
// takes half a second from memory; what it leaves is for 2048 files that are looked at one by one, 5 ms each on a slow
// network disk.
const (
	walkShare   = 0.5
	surveyShare = 0.9
)

// SurveyResult is what lies at a path, and the part of it that is to be read.
type SurveyResult struct {
	// What is read. Kind and Format are set before there are items.
	Sample `json:"Sample"`

	Files      int64 // of Kind, by name
	FilesExact bool  // false: a lower bound, the walk was stopped
	Others     int64 // regular files of another kind
	Bytes      int64 // what the files of Kind hold

	LargestDir int64   // regular files in the folder that has most of them; 0 when the path is a file
	Folders    int64   // below the path
	Links      int64   // symbolic links, not followed
	Special    []Tally // FIFOs, sockets and devices, never opened
	Unread     []Tally // folders, and files among those drawn, that could not be read or are not what their name says

	Items     *int64   // in the whole dataset; nil where that would take opening every file
	ItemBytes *int64   // one item as it is delivered; nil where items differ
	Outside   []string // files that HDF5 files name outside of themselves, at most 16
	Part      *Part    // nil: an item is taken for a sample
	Access    *Access  // HDF5: the dataset that is read, as it is in the first file that was looked at
	Missing   []string // HDF5: filters of that dataset that this libhdf5 cannot undo, so that reading fails
	Notes     []string // what was assumed and what to mind, in full sentences
}

// Part says that an item is less than a sample, or something else, so that its rate is none of samples.
type Part struct {
	Noun string // what an item is: "row", "number", "block"
	Why  string // half a sentence
}

// The errors of Survey besides those of the file system, ErrNoData and, for a single file, those of hdf5.Layout.
var (
	// ErrNoFiles says that a folder holds no regular file that could be seen.
	ErrNoFiles = errors.New("no file to read")
	// ErrNoItems says that there are files, and nothing in those that were looked at can be read.
	ErrNoItems = errors.New("nothing to read in it")
	// ErrNoDataset says that the file lacks the dataset asked for, or any that samples are likely to be in.
	ErrNoDataset = errors.New("no dataset to read")
	// ErrOutside says that the data lies in other files, which were not to be followed.
	ErrOutside = errors.New("the data lies in other files, which are not followed unless asked")
	// ErrItemShape says that the shape asked for does not fit the dataset.
	ErrItemShape = errors.New("the item shape does not fit")
)

// Survey looks at all of a dataset and draws the sample that is read. It goes through a folder once, in memory that
// does not grow with the number of files, opens some of the files drawn and reads no item. With an error, the result
// holds what was seen until then.
func Survey(path string, o SurveyOptions) (SurveyResult, error) {
	s := &surveyor{path: path, o: o.withDefaults(), now: time.Now}
	return s.run()
}

type surveyor struct {
	path  string
	o     SurveyOptions
	now   func() time.Time
	began time.Time
	out   SurveyResult
	bad   tallies
	lots  []lot // files with items in them, in the order drawn
	asked int   // files drawn, those that were not looked at among them

	signed bool // the format is what the name of a file beside the data says

	waiting []arrayIn // looked at, while it is not settled what an item is
	settled bool

	drawnText int // bytes as JSON of what files draw on
}

func (s *surveyor) late(share float64) bool {
	return s.now().Sub(s.began) > time.Duration(share*float64(s.o.Limit))
}

func (s *surveyor) note(format string, args ...any) {
	s.out.Notes = append(s.out.Notes, fmt.Sprintf(format, args...))
}

func (s *surveyor) run() (SurveyResult, error) {
	s.began = s.now()
	place, mode, size, err := locate(s.path, 0)
	if err != nil {
		return s.out, fmt.Errorf("opening the dataset: %w", err)
	}
	defer unix.Close(place)
	switch mode {
	case unix.S_IFDIR:
		err = s.folder(place)
	case unix.S_IFREG:
		err = s.single(place, size)
	default:
		err = fmt.Errorf("%w: it is a %s", ErrNoData, specialName(byte(mode>>12)))
	}
	if err == nil && !(s.o.WalkOnly && s.out.Kind == HDF5) {
		s.countDrawn()
		err = s.draw()
		s.out.Sample.OpensEach = s.out.Kind.Items().OpensPerItem(float64(s.out.Files), s.out.perFile())
	}
	s.out.Unread = s.bad.sorted()
	return s.out, err
}

func (s *surveyor) single(place int, size int64) error {
	f, err := reopen(place, 0)
	if err != nil {
		return fmt.Errorf("opening the dataset: %w", err)
	}
	defer f.Close()
	head, err := readHead(f)
	if err != nil {
		return fmt.Errorf("reading the dataset's first bytes: %w", err)
	}
	found := format.OfBytes(head)
	named, _ := format.OfName(s.path)
	if found.Kind == Other && hasSuperblock(f, size) {
		found.Kind, found.Name = HDF5, "hdf5" // behind a user block
	}
	if found.Kind == Other && found.Name == "" && named.Kind == Other {
		found = named
	}
	s.out.Kind, s.out.Format = found.Kind, found.Name
	s.out.Files, s.out.FilesExact, s.out.Bytes, s.asked = 1, true, size, 1
	switch {
	case size == 0:
		return fmt.Errorf("%w: the file is empty", ErrNoItems)
	case found.Kind != HDF5 && HDF5.Promises(s.path):
		return fmt.Errorf("%w, whatever its name says", hdf5.ErrNotHDF5)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("looking at the dataset: %w", err)
	}
	return s.survey([]File{{Path: []byte(s.path), Bytes: size, Written: info.ModTime().Unix()}})
}

// survey opens the files drawn as their kind needs it and fills in s.lots.
func (s *surveyor) survey(files []File) error {
	if s.out.Kind == HDF5 && s.o.WalkOnly {
		s.out.Sample.Files = files
		return nil
	}
	r := Readers[s.out.Kind]
	switch {
	case r.survey != nil:
		return r.survey(s, files)
	case r.Open == nil:
		return fmt.Errorf("%w: nothing here reads items of kind %q", ErrNoItems, s.out.Kind)
	}
	return s.each(files, func(f File) error { return s.count(r, f) })
}

// each has files looked at, one after the other, until they hold a sample or the time is over. One that cannot be read
// is counted; the error is for the only one, or for an item shape that does not fit.
func (s *surveyor) each(files []File, look func(File) error) error {
	for i, f := range files {
		if s.enough() || i > 0 && s.late(surveyShare) {
			break
		}
		err := look(f)
		if err == nil {
			continue
		}
		s.bad.add(reasonOf(err), nil, f.Path)
		switch {
		case errors.Is(err, ErrItemShape):
			return err
		case s.asked == 1:
			return fmt.Errorf("%w: %w", ErrNoItems, err)
		}
	}
	return nil
}

// count makes a lot of a file by asking its handle how many items it holds.
func (s *surveyor) count(r Reader, f File) error {
	h, err := r.Open(s.out.Sample.Source, f)
	if err != nil {
		return err
	}
	defer h.Close()
	counted, ok := h.(Counted)
	if !ok || counted.Items() == 0 {
		return errScalar
	}
	s.lots = append(s.lots, lot{file: f, items: counted.Items()})
	return nil
}

func (s *surveyor) surveyWhole(files []File) error {
	for _, f := range files {
		s.lots = append(s.lots, lot{file: f, items: 1})
	}
	if s.asked == 1 && len(files) == 1 {
		s.out.ItemBytes = &files[0].Bytes
	}
	return nil
}

func (s *surveyor) surveyRaw(files []File) error {
	s.out.Sample.BlockBytes = s.o.BlockBytes
	name := "a format that is not known here"
	if s.out.Format != "" {
		name = s.out.Format + ", which is not read here"
	}
	s.out.Part = &Part{Noun: "block", Why: fmt.Sprintf("the files are %s: they are read as raw bytes, in blocks of "+
		"%s, as storage gives them; what a sample costs, pipetune diagnose shows in the training itself", name,
		blockText(s.o.BlockBytes))}
	same := true
	for _, f := range files {
		same = same && f.Bytes >= s.o.BlockBytes
		s.lots = append(s.lots, lot{file: f, items: (f.Bytes-1)/s.o.BlockBytes + 1})
	}
	if same {
		s.out.ItemBytes = &s.o.BlockBytes
	}
	return nil
}

func blockText(bytes int64) string {
	if bytes%1024 == 0 {
		return fmt.Sprintf("%d KiB", bytes/1024)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// rng is the survey's own chance, apart for each purpose.
func (s *surveyor) rng(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(s.o.Seed, purpose)) }

// locate finds a file without opening it: no FIFO and no driver is woken. flags may hold O_NOFOLLOW.
func locate(path string, flags int) (place int, mode uint32, size int64, err error) {
	flags |= unix.O_PATH | unix.O_CLOEXEC
	err = isolate.Persist(func() (err error) { place, err = unix.Open(path, flags, 0); return err })
	if err != nil {
		return -1, 0, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err := isolate.Persist(func() error { return unix.Fstat(place, &st) }); err != nil {
		unix.Close(place)
		return -1, 0, 0, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return place, st.Mode & unix.S_IFMT, st.Size, nil
}

// reopen opens for reading what locate found, without changing its access time where it is ours.
func reopen(place, flags int) (*os.File, error) {
	name := "/proc/self/fd/" + strconv.Itoa(place)
	flags |= unix.O_RDONLY | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY
	f, err := os.OpenFile(name, flags|unix.O_NOATIME, 0)
	if errors.Is(err, unix.EPERM) {
		f, err = os.OpenFile(name, flags, 0)
	}
	if err != nil {
		return nil, errnoOf(err)
	}
	return f, nil
}

// OpenRegular opens a regular file for reading and asks for its size. flags may hold O_NOFOLLOW.
func OpenRegular(path string, flags int) (*os.File, int64, error) {
	place, mode, size, err := locate(path, flags)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(place)
	if mode != unix.S_IFREG {
		return nil, 0, fmt.Errorf("no longer a regular file but a %s", specialName(byte(mode>>12)))
	}
	f, err := reopen(place, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("opening a file: %w", err)
	}
	return f, size, nil
}

// errnoOf strips an error of the name under /proc, which tells a reader nothing.
func errnoOf(err error) error {
	if e := new(os.PathError); errors.As(err, &e) {
		return e.Err
	}
	return err
}
