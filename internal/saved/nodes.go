package saved

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/pipetune/pipetune/internal/merge"
	"github.com/pipetune/pipetune/internal/untrusted"
	"github.com/pipetune/pipetune/pkg/report"
)

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
		switch {
		case err == nil:
			list = append(list, watches[i])
		case errors.Is(err, merge.ErrOtherKind):
			left = append(left, report.LeftOut{File: filepath.Base(paths[i]), Reason: report.LeftOtherKind,
				Why: untrusted.Message(err.Error())})
		default:
			left = append(left, report.LeftOut{File: filepath.Base(paths[i]), Reason: report.LeftUnreadable,
				Why: untrusted.Message(err.Error())})
		}
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
