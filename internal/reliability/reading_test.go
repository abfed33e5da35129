//go:build reliability

package reliability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

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

// write makes a file that everybody may read and run.
func (s *stand) write(path, text string) {
	s.Helper()
	must.Do(s, os.WriteFile(path, []byte(text), 0o755))
}

// library builds a shared library from C.
func (s *stand) library(path, source string, flags ...string) {
	s.Helper()
	gcc := exec.Command("gcc", slices.Concat([]string{"-shared", "-fPIC", "-O1", "-w", "-o", path, "-x", "c"}, flags,
		[]string{"-"})...)
	gcc.Stdin = strings.NewReader(source)
	if out, err := gcc.CombinedOutput(); err != nil {
		s.Fatalf("building %s: %v\n%s", filepath.Base(path), err, out)
	}
}

// markingLibrary builds one that leaves a mark where it is loaded.
func (s *stand) markingLibrary(path, mark string, flags ...string) {
	s.Helper()
	s.library(path, fmt.Sprintf(`#include <stdio.h>
__attribute__((constructor)) static void loaded(void) {
	FILE *f = fopen(%q, "a");
	if (f) { fputs("library\n", f); fclose(f); }
}
int nvmlInit_v2(void) { loaded(); return 0; }
`, mark), flags...)
}
