//go:build reliability

package reliability

import (
	"os"
	"path/filepath"

	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// report reads a report that pipetune has written.
func (s *stand) report(path string) *report.Report {
	s.Helper()
	f, err := os.Open(path)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	r, err := report.Decode(f)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

// recording reads a recording that pipetune has written.
func (s *stand) recording(path string) *recording.Recording {
	s.Helper()
	f, err := os.Open(path)
	if err != nil {
		s.Fatal(err)
	}
	defer f.Close()
	rec, err := recording.Read(f)
	if err != nil {
		s.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return rec
}
