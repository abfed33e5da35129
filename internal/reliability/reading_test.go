//go:build reliability

package reliability

import (
	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

func (s *stand) report(path string) *report.Report {
	s.Helper()
	return must.Read(s, path, report.Decode)
}

func (s *stand) recording(path string) *recording.Recording {
	s.Helper()
	return must.Read(s, path, recording.Read)
}

// fromJSON reads a file of one value.
func fromJSON[T any](s *stand, path string) T {
	s.Helper()
	return must.Read(s, path, must.JSON[T])
}
