//go:build reliability

package reliability

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"github.com/pipetune/pipetune/internal/must"
	"github.com/pipetune/pipetune/internal/recording"
	"github.com/pipetune/pipetune/pkg/report"
)

// readAs reads a file that pipetune or a program of a trial has written.
func readAs[T any](s *stand, path string, decode func(io.Reader) (T, error)) T {
	s.Helper()
	f := must.Get(os.Open(path))(s)
	defer f.Close()
	v, err := decode(f)
	if err != nil {
		s.Fatalf("%s: %v", filepath.Base(path), err)
	}
	return v
}

func (s *stand) report(path string) *report.Report {
	s.Helper()
	return readAs(s, path, report.Decode)
}

func (s *stand) recording(path string) *recording.Recording {
	s.Helper()
	return readAs(s, path, recording.Read)
}

// fromJSON reads a file of one value.
func fromJSON[T any](s *stand, path string) T {
	s.Helper()
	return readAs(s, path, func(r io.Reader) (v T, err error) {
		err = json.NewDecoder(r).Decode(&v)
		return v, err
	})
}
