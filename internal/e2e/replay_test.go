package e2e

import (
	"compress/gzip"
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
			rep := must.Get(reportOn(rec))(t)
			ranks := must.Get(readStopwatches(stopwatch))(t)
			from, to := window(rep, 0, 0)
			inside, ok := over(ranks, from, to)
			if !ok {
				t.Fatalf("the stop-watch does not reach over %.1f to %.1f s", from, to)
			}
			o := judge(c, rep, inside)
			meets(t, o.try(), o.err, o.figures)
		})
	}
}

// TestLaunchesReplayed does the same with the launched jobs.
func TestLaunchesReplayed(t *testing.T) {
	for _, c := range launchCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rec, stopwatch := unpack(t, "launch-"+c.name)
			rep := must.Get(reportOn(rec))(t)
			l := launched{launchCase: c}
			must.Do(t, l.gather(rep, rec, stopwatch))
			meets(t, l.try(), nil, l.row)
		})
	}
}

// meets fails the test unless an attempt meets all its bounds. There is no other attempt at a recording.
func meets(t *testing.T, one try, err error, figures func() string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !one.met() {
		t.Errorf("%s: %s", figures(), one)
	}
}

// unpack returns a recording, and the path that its stop-watches were unpacked to.
func unpack(t *testing.T, name string) (rec *recording.Recording, stopwatch string) {
	t.Helper()
	packed, err := filepath.Glob(filepath.Join(suiteRecordings, name+".*.gz"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, path := range packed {
		file := must.Get(os.Open(path))(t)
		defer file.Close()
		lines := must.Get(gzip.NewReader(file))(t)
		text := must.Get(io.ReadAll(lines))(t)
		must.Do(t, os.WriteFile(filepath.Join(dir, strings.TrimSuffix(filepath.Base(path), ".gz")), text, 0o644))
	}
	rec, err = readRecordingFile(filepath.Join(dir, name+".jsonl"))
	if err != nil {
		t.Fatalf("%v: keep one by E2E_KEEP=DIR E2E_JOBS='^%s$' make e2e", err, name)
	}
	return rec, filepath.Join(dir, name+".stopwatch")
}
