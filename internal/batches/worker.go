package batches

import (
	"bytes"
	"errors"

	"github.com/pipetune/pipetune/internal/procfs"
)

// Worker is one worker of a trainer. The process and its links stay the caller's, and must be open while it is
// followed.
type Worker struct {
	Process *procfs.Process
	Links   *procfs.FDLinks
	Inner   int // its own number in its pid namespace, which names its tensors
	ledger  *tensorLedger
	io      procfs.IO
	ioErr   error
	fdErr   error
}

// list looks for tensors among the worker's descriptors. trainer is the trainer's number as the job knows it.
func (w *Worker) list(trainer int) {
	if w.fdErr != nil {
		return
	}
	w.ReadIO()
	ledger := w.ledger
	ledger.startListing()
	_, err := w.Links.Each(listLimit, func(fd int, target []byte) {
		if bytes.HasPrefix(target, []byte("socket:")) {
			ledger.socket = true
			return
		}
		name, ok := parseDescriptor(target)
		switch {
		case !ok:
		case name.pid == w.Inner:
			ledger.learnSize(name.number, w.Links, fd)
			ledger.hold(name.number)
		case name.pid == trainer:
			ledger.inherit(name.number)
		}
	})
	if err != nil {
		if !errors.Is(err, procfs.ErrGone) {
			w.fdErr = err
		}
		return
	}
	ledger.endListing()
}

// ReadIO reads the worker's account of calls.
func (w *Worker) ReadIO() {
	if w.ioErr != nil {
		return
	}
	if err := w.Process.IO(&w.io); err != nil {
		if !errors.Is(err, procfs.ErrGone) {
			w.ioErr = err
		}
		return
	}
	w.ledger.readIO(w.io.WriteCalls, w.io.WrittenChars, w.io.ReadCalls)
}

// detectPrograms finds out whether the account holds what programs did that the worker runs.
func (w *Worker) detectPrograms() {
	var st procfs.Stat
	if w.ledger.mixed || w.Process.Stat(&st) != nil {
		return // one that has ended runs no more
	}
	w.ledger.sawPrograms(st.EndedSeconds)
}
