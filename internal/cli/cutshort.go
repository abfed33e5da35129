package cli

import (
	"fmt"
	"time"

	"github.com/pipetune/pipetune/internal/evidence"
	"github.com/pipetune/pipetune/internal/recording"
)

// cutShort is the end of a watch that was interrupted before enough was seen to conclude anything: nothing is
// reported, and a file that was asked for stays as it was. It is nil where there is something to report.
func (s *session) cutShort(rec *recording.Recording) error {
	if rec == nil || rec.End.Reason != recording.EndInterrupted || sawEnough(rec) {
		return nil
	}
	words := fmt.Sprintf("the watch was interrupted after %s: too little to conclude anything from, which takes %s "+
		"after the warm-up; no file was written", rec.End.At.Round(100*time.Millisecond), minSteady)
	if s.launched != nil { // the job's status is the one to end with
		return fail(exitNotMeasured, "", "%s", words)
	}
	return fail(requestCode(s.by), "", "%s", words)
}

// sawEnough reports whether a watch lasted long enough beyond its warm-up for anything to be concluded.
func sawEnough(rec *recording.Recording) bool {
	e, err := evidence.FromRecording(rec)
	return err == nil && (e.Window.End-e.Window.Start).Seconds() >= evidence.LeastSteady
}
