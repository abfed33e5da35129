//go:build reliability

package reliability

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/must"
)

// corpusFolder is the variable that names a folder of files that others have made: scripts/corpus fills one with
// folders hdf5 and pictures. Of a folder without these, D2 reads everything.
const corpusFolder = "RELIABILITY_CORPUS"

const (
	// pictureLimit and pictureMemory are what one picture may take.
	pictureLimit  = 2 * time.Second
	pictureMemory = 512 << 20
	// sampled is every how many-th file the whole of bench-io is run on.
	sampled = 50
)

var corpusTrials = []trial{
	{id: "D2", fault: "HDF5 files of others", given: corpusFolder,
		made: "each HDF5 test file that `make corpus` takes from Debian's source archives, looked through and one " +
			"item read; h5py reads the same item; all of `bench-io` on every 50th",
		target: "the parent goes on; an answer, or the child's end, within 10 s; a child holds at most 1 GiB; h5py's " +
			"bytes; no dataset that h5py reads is refused but for a reason listed",
		run: func(s *stand) { corpus(s, "hdf5", verdictLimit, mostHeld) }},
	{id: "D8-corpus", fault: "pictures of others", given: corpusFolder,
		made: "each test picture that `make corpus` takes from Debian's source archives, decoded; Pillow decodes " +
			"it too; all of `bench-io` on every 50th",
		target: "the parent goes on; at most 2 s and 512 MiB a picture; Pillow's pixels; no picture that Pillow " +
			"decodes is refused but for a reason listed",
		run: func(s *stand) { corpus(s, "pictures", pictureLimit, pictureMemory) }},
}

// corpusFiles lists the regular files below a folder of the corpus.
func corpusFiles(s *stand, part string) (paths []string) {
	s.Helper()
	top := must.Get(filepath.Abs(os.Getenv(corpusFolder)))(s)
	if _, err := os.Stat(filepath.Join(top, part)); err == nil || part != "hdf5" {
		top = filepath.Join(top, part)
	}
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && e.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil || len(paths) == 0 {
		s.Fatalf("%d files in %s: %v", len(paths), top, err)
	}
	return paths
}

// corpus has each file examined by children of its own, and what was read compared with what another library reads.
func corpus(s *stand, part string, limit time.Duration, most int64) {
	paths := corpusFiles(s, part)
	ctx, stop := signal.NotifyContext(s.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	other := newOther(s)
	defer other.close()
	own := newOwn(s)
	var counts [outcomes]int
	may := bounds{took: limit, bytes: most}
	slowest, held := time.Duration(0), int64(0)
	agreed := newAgreement(part)
	for _, path := range paths {
		if ctx.Err() != nil {
			s.Fatal("ended from outside")
		}
		name := filepath.Base(path)
		v := s.examine(path)
		counts[v.outcome]++
		slowest, held = max(slowest, v.took), max(held, v.bytes)
		if v.outcome == odd {
			s.Errorf("the parent failed on %s: %v", name, v.why)
		}
		may.hold(name, v)
		var mine ownAnswer
		if v.outcome == whole {
			mine = own.read(ctx, path)
		}
		agreed.add(s, path, v, mine, other)
	}
	s.measured("%d files, two children started for each: %d read whole, %d in part, %d refused, %d ended a child, %d "+
		"ended by the time limit, %d failures of the parent; the slowest took %.1f s, the most a child held is %d MiB",
		len(paths), counts[whole], counts[partly], counts[refused], counts[died], counts[late], counts[odd],
		slowest.Seconds(), held>>20)
	agreed.tell(s)
	benchSome(s, paths)
	may.tell(s)
}

// benchSome runs the whole of bench-io on some of the files: it ends with a report, or says why there is none.
func benchSome(s *stand, paths []string) {
	codes := map[int]int{}
	for i := 0; i < len(paths); i += sampled {
		c := s.pipetune([]string{"bench-io", "-q", "-v", "--budget", "2s", "--workers", "1", "--no-cold", "--python",
			"none", paths[i]})
		status := c.wait(2 * time.Minute)
		codes[status]++
		if words := c.complaints(); status != 0 && status != 3 || status == 3 &&
			!strings.Contains(words, "pipetune: error: ") || strings.Contains(words, "panic: ") {
			s.Errorf("bench-io on %s: exit %d: %s", paths[i], status, words)
		}
	}
	s.measured("all of bench-io on %d of them: %d ended with a report, %d said why there is none", codes[0]+codes[3],
		codes[0], codes[3])
}

// agreement is the account of what pipetune and another library make of the same files.
type agreement struct {
	part, library string
	same          int
	reasons       map[string]int // why one of them reads what the other does not, among those listed
	others        []string       // what differs for none of these
}

func newAgreement(part string) *agreement {
	return &agreement{part: part, library: map[string]string{"hdf5": "h5py", "pictures": "Pillow"}[part],
		reasons: map[string]int{}}
}

// add compares what was made of one file.
func (a *agreement) add(s *stand, path string, v verdict, mine ownAnswer, other *other) {
	s.Helper()
	theirs, err := other.ask(question{Path: path, Part: a.part, Dataset: mine.Dataset, Index: mine.Index,
		Read: v.outcome == whole && mine.err == nil})
	if theirs.Notes != "" {
		theirs.Notes = " (" + theirs.Notes + ")"
	}
	bytesOnly := a.part == "pictures" && v.outcome == whole && mine.Kind != dataset.Image
	switch {
	case err != nil:
		s.Fatalf("%s on %s: %v", a.library, path, err)
	case v.outcome == whole && mine.err != nil:
		s.Errorf("%s was read by bench-io's child and is not by the test's: %v", path, mine.err)
	case theirs.Item == nil && (bytesOnly || v.outcome != whole):
		a.reasons["neither decodes"]++
	case theirs.Item == nil:
		a.differs(s, path, fmt.Sprintf("read; %s: %s", a.library, theirs.Why))
	case v.outcome != whole:
		a.differs(s, path, fmt.Sprintf("%v; %s reads %s", v.why, a.library, *theirs.Item))
	case bytesOnly:
		a.differs(s, path, fmt.Sprintf("read as bytes; %s decodes %s", a.library, *theirs.Item))
	case mine.Contents == *theirs.Item:
		a.same++
	case mine.Channels == 3 && strings.HasSuffix(theirs.Notes, "opaque, without its alpha "+mine.SHA256+")"):
		a.reasons["are opaque RGBA for Pillow, and the same RGB here"]++
	default:
		a.differs(s, path, fmt.Sprintf("other bytes: %s; %s has %s%s", mine.Contents, a.library, *theirs.Item,
			theirs.Notes))
	}
}

// differs counts a difference by the listed reason that fits it.
func (a *agreement) differs(s *stand, path, words string) {
	s.Helper()
	for _, d := range differences[a.part] {
		if d.fits.MatchString(words) {
			a.reasons[d.reason]++
			s.Logf("%s: %s: %s", path, d.reason, words)
			return
		}
	}
	a.others = append(a.others, filepath.Base(path)+": "+words)
	s.Logf("NOT LISTED: %s: %s", path, words)
}

// tell writes the account down, and fails for what has no listed reason.
func (a *agreement) tell(s *stand) {
	s.Helper()
	var words []string
	for _, reason := range sortedKeys(a.reasons) {
		words = append(words, fmt.Sprintf("%d %s", a.reasons[reason], reason))
	}
	s.measured("%d have the same bytes by %s; of the others %s", a.same, a.library, strings.Join(words, ", "))
	if len(a.others) > 0 {
		s.Errorf("%d differ from %s without a listed reason: %s", len(a.others), a.library, shortList(a.others))
	}
	if a.same == 0 {
		s.Error(errors.New("nothing was compared"))
	}
}

// difference is a reason why pipetune and another library do not agree about a file.
type difference struct {
	fits   *regexp.Regexp // agreement.add's words for such a file
	reason string         // what those files do or are, for the row
}

// differences lists the reasons by the folder of the corpus. What fits none of them fails the trial.
var differences = map[string][]difference{
	"hdf5": {
		{regexp.MustCompile(`the elements are not stored in place`),
			"hold strings, sequences or references in the dataset that samples are likely to be in, which pipetune " +
				"does not read"},
		{regexp.MustCompile(`a filter is missing`), "need a filter that libhdf5 lacks and h5py brings along or does " +
			"without"},
		{regexp.MustCompile(`likely to be in: \d+ objects could not be read`),
			"have broken objects where their samples may be, and something that h5py reads beside"},
	},
	"pictures": {
		{regexp.MustCompile(`bmp: unsupported BMP`), "are of a kind that x/image/bmp does not support"},
		{regexp.MustCompile(
			`tiff: unsupported feature|not enough pixel data|tiff: invalid format: wrong number of samples|tags are not sorted`), "are of a kind that x/image/tiff does not support"},
		{regexp.MustCompile(
			`\(tiff\): (ccitt|lzw|unexpected EOF)|bmp: invalid palette index|gif: (invalid pixel|no color table|pixel size|frame bounds)|png: invalid format: (invalid checksum|too much pixel data)`), "are damaged for Go's decoders and not for Pillow"},
		{regexp.MustCompile(`its first frame does not fill`), "are GIFs whose first frame does not fill the picture"},
		{regexp.MustCompile(`webp: invalid format`), "are animated WebP, which x/image/webp does not support"},
		{regexp.MustCompile(`^read as bytes`), "are of no format that pipetune knows, and read as bytes"},
		{regexp.MustCompile(`^read; Pillow: `), "are decoded, and refused by Pillow"},
		{regexp.MustCompile(`^other bytes.*turned as its orientation tag says`),
			"are TIFFs that only Pillow turns as their tag says"},
		{regexp.MustCompile(`^other bytes.*its bits are in reverse order`),
			"are TIFFs whose bits only Pillow puts in order"},
		{regexp.MustCompile(`^other bytes.*tiles of 16 bits reach over its edge`),
			"are TIFFs of wide tiles whose ends x/image/tiff takes for pixels"},
		{regexp.MustCompile(`^other bytes.*gray with a transparent color`),
			"are gray GIFs with a transparent color, which is alpha here"},
		{regexp.MustCompile(`^other bytes.*an index that its palette lacks`),
			"have colors that their palette lacks, black here and gray in Pillow"},
	},
}
