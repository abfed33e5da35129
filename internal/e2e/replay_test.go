package e2e

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
)

// suiteRecordings holds what E2E_KEEP kept of each row of the suite, with its stop-watch
// (testdata/recordings/README.md).
const suiteRecordings = "../../testdata/recordings/suite"

// TestSuiteReplayed judges the recordings of the suite's jobs anew, and holds each report to the bounds of the live
// row. A row that has no recording fails.
func TestSuiteReplayed(t *testing.T) {
	for _, c := range suite {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec, stopwatch := unpack(t, c.name)
			rep := reportOn(t, rec)
			from, to := window(rep, 0, 0)
			inside, ok := over(must.Get(readStopwatches(stopwatch))(t), from, to)
			if !ok || rep.Verdict == nil {
				t.Fatalf("the stop-watch reaches over %.1f to %.1f s: %t; verdict %+v", from, to, ok, rep.Verdict)
			}
			o := outcome{testCase: c, rep: rep, inside: inside}
			meets(t, o.try(), o.figures)
		})
	}
}

// TestLaunchesReplayed does the same with the launched jobs.
func TestLaunchesReplayed(t *testing.T) {
	for _, c := range launchCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec, stopwatch := unpack(t, "launch-"+c.name)
			l := gather(t, c, reportOn(t, rec), rec, stopwatch)
			meets(t, l.try(), l.row)
		})
	}
}

// meets fails the test unless an attempt meets all its bounds. There is no other attempt at a recording.
func meets(t *testing.T, one try, figures func() string) {
	t.Helper()
	if !one.met() {
		t.Errorf("%s: %s", figures(), one)
	}
}

// unpack returns a recording, and the path that its stop-watches were unpacked to.
func unpack(t *testing.T, name string) (rec *recording.Recording, stopwatch string) {
	t.Helper()
	packed := must.Get(filepath.Glob(filepath.Join(suiteRecordings, name+".*.gz")))(t)
	if len(packed) == 0 {
		t.Fatalf("no recording: keep one by E2E_KEEP=DIR E2E_JOBS='^%s$' make e2e", name)
	}
	dir := t.TempDir()
	for _, path := range packed {
		text := must.Read(t, path, must.Unzipped(io.ReadAll))
		must.Do(t, os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".gz")), text, 0o644))
	}
	return must.Read(t, filepath.Join(dir, name+".jsonl"), recording.Read), filepath.Join(dir, name+".stopwatch")
}
