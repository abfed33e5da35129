//go:build reliability

package reliability

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// folder makes a new folder in the trial's own.
func (s *stand) folder(name string) string {
	s.Helper()
	dir := must.Get(os.MkdirTemp(s.work, name+"-"))(s)
	return dir
}

// fakeNVML builds the library that pretends to be NVIDIA's, with a configuration, and returns its folder.
func (s *stand) fakeNVML(config string) string {
	s.Helper()
	source := s.testdata("fakenvml/fakenvml.c")
	dir := s.folder("nvml")
	gcc := s.start("gcc", []string{"gcc", "-shared", "-fPIC", "-O1", "-o", filepath.Join(dir, "libnvidia-ml.so.1"),
		source, "-ldl"})
	if status := gcc.wait(2 * time.Minute); status != 0 {
		s.Fatalf("building the fake NVML: %s", gcc.complaints())
	}
	must.Do(s, os.WriteFile(filepath.Join(dir, "fakenvml.conf"), []byte(config+"\n"), 0o644))
	return dir
}

// tinyPNG is a picture of 8 by 8 pixels.
func tinyPNG(s *stand) []byte {
	s.Helper()
	var b bytes.Buffer
	must.Do(s, png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8))))
	return b.Bytes()
}
