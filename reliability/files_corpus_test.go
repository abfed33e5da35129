//go:build reliability

package reliability

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// corpusTrials are there only where RELIABILITY_CORPUS names a folder of files that others have collected.
func corpusTrials() []trial {
	if os.Getenv("RELIABILITY_CORPUS") == "" {
		return nil
	}
	return []trial{{id: "D2", fault: "HDF5 files and pictures of others", made: "each file in the folder RELIABILITY_CORPUS, looked through and one item read",
		target: "the parent goes on; an answer, or the child's end, within 10 s; a child holds at most 1 GiB", run: corpus}}
}

func corpus(s *stand) {
	r := &reader{runner: s.newRunner(), limit: verdictLimit}
	defer r.close()
	var counts [outcomes]int
	files, most := 0, int64(0)
	err := filepath.WalkDir(os.Getenv("RELIABILITY_CORPUS"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || strings.Contains(path, "/.git/") {
			return err
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		what := r.read(s.Context(), absolute)
		files, most = files+1, max(most, held(r.runner))
		if counts[what]++; what >= died {
			s.Logf("%s: %s: %v", path, outcomeWords[what], r.why)
		}
		return nil
	})
	if err != nil || files == 0 {
		s.Fatalf("%d files in %s: %v", files, os.Getenv("RELIABILITY_CORPUS"), err)
	}
	s.measured("%d files: %d read whole, %d in part, %d refused, %d ended a child, %d ended by the time limit; the most a living child held: %d MiB",
		files, counts[whole], counts[partly], counts[refused], counts[died], counts[late], most>>20)
	if counts[odd] > 0 {
		s.Errorf("the parent failed %d times", counts[odd])
	}
	if most > mostHeld {
		s.missed("a child held %d MiB", most>>20)
	}
}
