package watch

import (
	"strings"

	"github.com/pipetune/pipetune/internal/recording"
)

// rootSink is the sink of a pipetune that is root already: what it may not read then is kept from it by its container,
// and to become root is no cure.
type rootSink struct{ recording.Sink }

// forUser is the sink for samplers of a process of that user.
func forUser(s recording.Sink, uid int) recording.Sink {
	if uid == 0 {
		return rootSink{s}
	}
	return s
}

// Unseen implements recording.Sink.
func (s rootSink) Unseen(signal, entity, reason, cure string) {
	if strings.Contains(cure, "as root") {
		cure = "root of this container may not: give the container SYS_PTRACE and the job's process namespace, or " +
			"start the job with pipetune diagnose -- COMMAND"
	}
	s.Sink.Unseen(signal, entity, reason, cure)
}
