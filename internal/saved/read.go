package saved

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/internal/rules"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

// What keeps a file from being read.
var (
	ErrFolder    = errors.New("it is a folder")
	ErrRecording = errors.New("is a recording, not a report")
)

// replayMemory is from where on the collector runs as often as it must while a file is read and judged: the file may be
// anybody's. It is no limit: a long recording takes 16 bytes a reading.
const replayMemory = 160 << 20

// Load reads a file of either kind, stdin where path is "-", and returns its report, and the recording where it is one.
// An error names the file. Where a recording comes with it, that could be read, and nothing can be concluded from it;
// else it may wrap ErrFolder or an error of packages report and recording.
func Load(path string, stdin io.Reader) (*report.Report, *recording.Recording, error) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(replayMemory))
	in := stdin
	if path != "-" {
		f, err := openRegular(path)
		if err != nil {
			return nil, nil, fmt.Errorf("reading %s: %w", path, err)
		}
		defer f.Close()
		in = f
	}
	br := bufio.NewReaderSize(in, 64<<10)
	if !isRecording(br) {
		r, err := readReport(br, path)
		return r, nil, err
	}
	rec, err := recording.Read(br)
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	}
	r, err := rules.Judge(rec)
	if err != nil {
		return nil, rec, fmt.Errorf("judging %s: %w", path, err)
	}
	if r.Job != nil {
		r.Job.Mode = "replay"
	}
	return r, rec, nil
}

// LoadReport reads a file that has to be a report. Its errors are as Load's, or wrap ErrRecording.
func LoadReport(path string) (*report.Report, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	defer f.Close()
	br := bufio.NewReaderSize(f, 64<<10)
	if isRecording(br) {
		return nil, fmt.Errorf("%s %w", path, ErrRecording)
	}
	return readReport(br, path)
}

// readReport reads what is no recording.
func readReport(br *bufio.Reader, path string) (*report.Report, error) {
	what, json := whatIs(br), beginsAsJSON(br)
	r, err := report.Decode(br)
	if errors.Is(err, report.ErrInvalid) && !json {
		// such as of a dataset, which is too large before it is anything else
		err = report.ErrNotReport
	}
	switch {
	case errors.Is(err, report.ErrNotReport) && what != "":
		return nil, fmt.Errorf("reading %s: %w, it is %s", path, err, what)
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return r, nil
}

// openRegular opens a file that can be read to its end: no folder, no device, no pipe that may hang.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Plain(err)
	}
	if info.IsDir() {
		return nil, ErrFolder
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(path)
	return f, Plain(err)
}

// isRecording tells the two kinds apart by their first bytes; what is neither is left to the report's decoder to
// refuse.
func isRecording(br *bufio.Reader) bool {
	head, err := br.Peek(64)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte(`{"header":`))
}

// LoadNodes reads the files, several at once, and keeps of each what merging needs. What cannot be read is left out.
func LoadNodes(paths []string) ([]*merge.Watch, []report.LeftOut) {
	watches, errs := make([]*merge.Watch, len(paths)), make([]error, len(paths))
	next := make(chan int)
	var readers sync.WaitGroup
	var recordings sync.Mutex // one at a time: each takes as much memory as it has readings
	for range min(runtime.GOMAXPROCS(0), len(paths)) {
		readers.Go(func() {
			var room bytes.Buffer
			for i := range next {
				watches[i], errs[i] = loadNode(paths[i], &room, &recordings)
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	readers.Wait()
	var list []*merge.Watch
	var left []report.LeftOut
	for i, err := range errs {
		if err == nil {
			list = append(list, watches[i])
			continue
		}
		reason := report.LeftUnreadable
		if errors.Is(err, merge.ErrOtherKind) {
			reason = report.LeftOtherKind
		}
		left = append(left, report.LeftOut{File: filepath.Base(paths[i]), Reason: reason,
			Why: untrusted.Message(err.Error())})
	}
	return list, left
}

// loadNode reads one file. room is used again.
func loadNode(path string, room *bytes.Buffer, recordings *sync.Mutex) (*merge.Watch, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	br := bufio.NewReaderSize(f, 4<<10)
	if isRecording(br) {
		recordings.Lock()
		defer recordings.Unlock()
		r, _, err := Load(path, nil)
		if err != nil {
			return nil, err
		}
		return merge.Of(path, r)
	}
	room.Reset()
	if _, err := room.ReadFrom(io.LimitReader(br, merge.MaxBytes+1)); err != nil {
		return nil, fmt.Errorf("reading: %w", Plain(err))
	}
	return merge.Decode(path, room.Bytes())
}
