package probe

import (
	"context"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
)

// openWork opens files.
var openWork = work[opening, opened]{"open", openFiles}

// opening asks a worker process to open files and close them again, one after the other and round and round.
type opening struct {
	Files   []int   // positions in the sample's Files
	From    int     // where in Files to begin
	Seconds float64 // stop after that long; 0: at the end of Files
	Drop    bool    // drop each file's pages first, and stop at the end of Files
}

// opened is what came of it.
type opened struct {
	Pass     pass // Items are files; Bytes are none
	Failures []dataset.Failure
	Next     int
}

// openFiles opens files as a job does before it reads: the file, the dataset in it, its shape. It lets go of all
// handles first, because libhdf5 opens a file again in a tenth of the time while the same process has it open already.
func openFiles(ctx context.Context, w *state, q opening) (opened, error) {
	if err := w.Sample.HasFiles(q.Files); err != nil {
		return opened{}, err
	}
	w.Forget()
	return w.opening(ctx, q), nil
}

func (w *state) opening(ctx context.Context, q opening) opened {
	var out opened
	bad := map[int]bool{}
	if q.Drop {
		r := w.residency(q.Files, true)
		out.Pass.Cached, out.Pass.Remote = r.ratio(), r.Remote
	}
	before := usedSoFar()
	began := time.Now()
	end := began.Add(time.Duration(q.Seconds * float64(time.Second)))
	at := q.From % len(q.Files)
	for n := 1; ; n++ {
		file := q.Files[at]
		at = (at + 1) % len(q.Files)
		mark := time.Now()
		err := w.openOnce(file)
		now := time.Now()
		if err == nil {
			out.Pass.Items++
			out.Pass.Seconds += now.Sub(mark).Seconds()
		} else if !bad[file] && len(out.Failures) < dataset.MaxFailures {
			bad[file] = true
			f := dataset.Failed(-1, err, w.Sample.Files[file].Path)
			f.File = file
			out.Failures = append(out.Failures, f)
		}
		around := n%len(q.Files) == 0
		if around && (q.Drop || q.Seconds <= 0 || out.Pass.Items == 0) || q.Seconds > 0 && !now.Before(end) || ctx.Err() != nil {
			break
		}
	}
	out.Next = at
	out.Pass.CPU, out.Pass.IO = usedSoFar().since(before)
	return out
}

func (w *state) openOnce(file int) error {
	h, err := w.Open(w.Sample.Source, w.Sample.Files[file])
	if err != nil {
		return err
	}
	return h.Close()
}
