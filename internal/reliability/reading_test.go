//go:build reliability

package reliability

import (
	"os"
	"path/filepath"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// report reads a report that pipetune has written.
func (s *stand) report(path string) *report.Report {
	s.Helper()
	f := must.Get(os.Open(path))(s)
	defer f.Close()
	r := must.Get(report.Decode(f))(s)
	return r
}

// recording reads a recording that pipetune has written.
func (s *stand) recording(path string) *recording.Recording {
	s.Helper()
	f := must.Get(os.Open(path))(s)
	defer f.Close()
	rec, err := recording.Read(f)
	if err != nil {
		s.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return rec
}
