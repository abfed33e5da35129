package probe

import (
	"context"
	"os"
	"slices"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/storage"
)

var cacheWork = work[cacheAsk, residency]{"cache", readResidency}

// cacheAsk asks a worker process how much of some files the page cache holds.
type cacheAsk struct {
	Files []int // positions in the sample's Files
	Drop  bool  // let go of the handles and drop the files' pages first
}

// residency is how much of some files lies in the page cache, as one worker process sees it.
type residency struct {
	storage.Residency
	PID int // of who looked
	// Elsewhere is Remote of the first file of the sample, whether it was asked for and can be looked at or not.
	Elsewhere bool
}

func readResidency(_ context.Context, w *state, q cacheAsk) (residency, error) {
	if q.Drop {
		w.Forget()
	}
	return residency{storage.Resident(&w.Sample, q.Files, q.Drop), os.Getpid(),
		len(w.Sample.Files) > 0 && storage.Remote(string(w.Sample.Files[0].Path))}, nil
}

// dropCaches makes the files of the items cold, with the handles just opened where they are kept: what libhdf5 caches
// belongs to a handle, and a job that keeps its files open pays for opening them once. It returns what stayed.
func (l *loading) dropCaches() storage.Residency {
	l.Forget()
	var files []int
	for _, i := range l.Items {
		files = append(files, l.Sample.Items[i].File)
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) <= dataset.MaxOpen {
		l.reopen(l.Items, l.Handle)
	}
	return storage.Resident(&l.Sample, files, true)
}
