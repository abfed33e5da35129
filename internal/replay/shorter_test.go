package replay

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// TestAWatchMayEndSoon holds to recordings what ends a watch early (watch/interim.go): cut off at 15 s, a verdict of
// high confidence and its first finding are those of the whole recording. It takes every fourth of the stand-in GPU's;
// of all 113, 58 are of high confidence by then, and all agree.
func TestAWatchMayEndSoon(t *testing.T) {
	const soon = 15 * time.Second
	files, err := filepath.Glob("../../testdata/recordings/device/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	certain := 0
	for i := 0; i < len(files); i += 4 {
		name := strings.TrimSuffix(filepath.Base(files[i]), ".jsonl")
		whole := readRecording(t, files[i])
		if whole.End == nil || whole.End.At <= soon {
			continue
		}
		early := reportOf(t, cutOff(whole, soon))
		if early.Verdict.Confidence != report.High {
			continue
		}
		certain++
		late := reportOf(t, whole)
		if early.Verdict.Class != late.Verdict.Class || first(early) != first(late) {
			t.Errorf("%s: %s (%s) at %v, %s (%s) in the end", name, early.Verdict.Class, first(early), soon,
				late.Verdict.Class, first(late))
		}
	}
	if certain < 8 {
		t.Errorf("%d of %d recordings are certain at %v", certain, (len(files)+3)/4, soon)
	}
}

func first(r *report.Report) string {
	if len(r.Findings) == 0 {
		return "nothing"
	}
	return r.Findings[0].Rule
}

// cutOff is what a recording would be had its watch ended at a moment.
func cutOff(whole *recording.Recording, at time.Duration) *recording.Recording {
	cut := *whole
	cut.Series = slices.Clone(whole.Series)
	for i, s := range cut.Series {
		if end := slices.IndexFunc(s.Points, func(p recording.Point) bool { return p.At > at }); end >= 0 {
			cut.Series[i].Points = s.Points[:end]
		}
	}
	cut.Events = slices.DeleteFunc(slices.Clone(whole.Events), func(e recording.Event) bool { return e.At > at })
	cut.End = &recording.End{At: at, Reason: recording.EndDuration}
	return &cut
}
