package sampler

import (
	"errors"
	"io/fs"

	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/recording"
)

// slowly is a pace for what changes seldom and costs more: the first call of due is true, and then every tenth. The
// zero value is ready.
type slowly struct{ calls int }

func (s *slowly) due() bool {
	now := s.calls%10 == 0
	s.calls++
	return now
}

// unread reports why a signal is missing. Where the read was refused the cure is to be the job's user; where the kernel
// has no such thing it is the one given.
func unread(sink recording.Sink, signal, entity string, err error, cure string) {
	switch {
	case err == nil:
	case errors.Is(err, procfs.ErrGone):
		sink.Unseen(signal, entity, "the process ended", "")
	case errors.Is(err, fs.ErrPermission):
		sink.Unseen(signal, entity, err.Error(), "run pipetune as the user of the job, or as root")
	default:
		sink.Unseen(signal, entity, err.Error(), cure)
	}
}
