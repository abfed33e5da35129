package dataset

import (
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/pipetune/pipetune/internal/hdf5"
)

// drawnRoom is what drawn files may take as JSON: with pathRoom and itemRoom it is below a child's answer.
const drawnRoom = 512 << 10

// Why a file's Drawn may not be all, beside hdf5.Drawn's reasons.
const (
	unsureRoom = "it draws on more files than are listed"
	unsureRead = "what it draws on could not be inspected"
	unsureLate = "the time for inspecting what it draws on was over"
)

// drawsOn fills in what a dataset in a file draws on, and counts what lies outside of the path that is surveyed.
func (s *surveyor) drawsOn(f File, name string) File {
	if s.late(surveyShare) {
		f.Unsure = unsureLate
		return f
	}
	drawn, err := hdf5.DrawnBy(string(f.Path), name)
	if err != nil { // a dataset that cannot be read says so when it is
		f.Unsure = unsureRead
		return f
	}
	f.ChunkRows, f.Unsure = drawn.ChunkRows, drawn.Unsure
	for _, path := range drawn.Files {
		const numbers = 100 // the other fields, with their names
		if s.drawnText += numbers + 4*len(path)/3; s.drawnText > drawnRoom {
			f.Unsure = unsureRoom
			break
		}
		one, err := size(path)
		if err != nil {
			f.Unsure = unsureRead
			continue
		}
		f.Drawn = append(f.Drawn, one)
	}
	return f
}

// countDrawn adds what files draw on outside of the path, by the mean of the files looked at, to the size.
func (s *surveyor) countDrawn() {
	within := s.path
	if real, err := filepath.EvalSymlinks(s.path); err == nil {
		within = real
	}
	counted := map[[2]uint64]bool{}
	var sum, files, decoded int64
	unsure := ""
	for _, l := range s.lots {
		if each := s.out.ItemBytes; each != nil {
			if bytes := hdf5.Product(*each, []int64{l.items}); bytes != nil && *bytes < math.MaxInt64-decoded {
				decoded += *bytes
			}
		}
		if l.file.Unsure != "" {
			unsure = l.file.Unsure
		}
		for _, d := range l.file.Drawn {
			inode := [2]uint64{d.Device, d.Inode}
			if strings.HasPrefix(string(d.Path), within+string(os.PathSeparator)) || counted[inode] {
				continue
			}
			counted[inode] = true
			sum, files = sum+d.Bytes, files+1
		}
	}
	if looked := int64(len(s.lots)); files > 0 && looked < s.out.Files {
		sum = int64(float64(sum) / float64(looked) * float64(s.out.Files))
	}
	s.out.Bytes += sum
	if files > 0 {
		s.note("The size given includes what lies in other files: %d were found that the samples are read from.", files)
	}
	if unsure != "" {
		sizeKind := "too small by those"
		if decoded > s.out.Bytes {
			s.out.Bytes, sizeKind = decoded, "that of the samples as they are read, decoded"
		}
		s.note("Samples are read from files that are not all known: %s. The size given is %s.", unsure, sizeKind)
	}
}
