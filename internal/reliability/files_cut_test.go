//go:build reliability

package reliability

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var cutTrials = []trial{
	{id: "D4", fault: "cut HDF5 files", made: "24 own seeds, cut at every 512 bytes and before the last one, and " +
		"with a hole of 1 GiB behind",
		target: "an answer for each within 10 s; no child dies of a cut", run: cutFiles},
	{id: "D4-living", fault: "files that change while they are read",
		made: "`bench-io` on HDF5, .npy and raw bytes that grow, are replaced by rename, or cut and written again " +
			"all the while",
		target: "a verdict; no SIGBUS in the parent", run: livingFiles},
}

func cutFiles(s *stand) {
	r := &reader{runner: s.newRunner(), limit: verdictLimit}
	defer r.close()
	folder := s.folder("cut")
	var counts [outcomes]int
	worst, files := time.Duration(0), 0
	try := func(name string, data []byte, hole int64) {
		path := filepath.Join(folder, fmt.Sprintf("%d.h5", files))
		must.Do(s, os.WriteFile(path, data, 0o600))
		if hole > 0 {
			must.Do(s, os.Truncate(path, hole))
		}
		began := time.Now()
		what := r.read(s.Context(), path)
		worst, files = max(worst, time.Since(began)), files+1
		if counts[what]++; what > refused {
			s.Errorf("%s, %d bytes and up to %d: %s: %v", name, len(data), hole, outcomeWords[what], r.why)
		}
		must.Do(s, os.Remove(path))
	}
	for _, f := range seeds(s) {
		for at := 512; at < len(f.data); at += 512 {
			try(f.name, f.data[:at], 0)
		}
		try(f.name, f.data[:len(f.data)-1], 0)
		try(f.name, f.data, int64(len(f.data))+1<<30)
	}
	s.measured("%d files: %d read whole, %d in part, %d refused, %d deaths; the slowest took %.1f s", files,
		counts[whole], counts[partly], counts[refused], counts[died], worst.Seconds())
}

// livingScript writes the files that livingFiles changes.
const livingScript = `
import h5py, numpy, os, sys
os.chdir(sys.argv[1])
data = numpy.zeros((256, 64, 64), "f4")
with h5py.File("data.h5", "w") as f:
    f.create_dataset("x", data=data, chunks=(1, 64, 64), maxshape=(None, 64, 64))
numpy.save("data.npy", data)
data.tofile("data.bin")
`

func livingFiles(s *stand) {
	folder := s.folder("living")
	must.Python(s, "-c", livingScript, folder)
	ways := []struct {
		name   string
		change func(path string, original []byte) error
	}{
		{"grows", func(path string, original []byte) error {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.Write(original[:4096])
			return err
		}},
		{"is replaced", func(path string, original []byte) error {
			replace := func(text []byte) error {
				return errors.Join(os.WriteFile(path+".new", text, 0o600), os.Rename(path+".new", path))
			}
			return errors.Join(replace(original[:len(original)/2]), replace(original))
		}},
		{"is cut", func(path string, original []byte) error {
			return errors.Join(os.Truncate(path, 1000), os.WriteFile(path, original, 0o600))
		}},
	}
	statuses, changes := map[int]int{}, 0
	for _, name := range []string{"data.h5", "data.npy", "data.bin"} {
		path := filepath.Join(folder, name)
		original := must.Get(os.ReadFile(path))(s)
		for _, way := range ways {
			p := s.pipetune([]string{"bench-io", "-q", "-v", "--budget", "2s", path})
			var wg sync.WaitGroup
			wg.Go(func() {
				for ; !p.hasEnded(); changes++ {
					if err := way.change(path, original); err != nil {
						s.T.Errorf("%s %s: %v", name, way.name, err)
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
			status := p.ends(2*time.Minute, 0, 3)
			wg.Wait()
			statuses[status]++
			if status != 0 && p.complaints() == "" {
				s.Errorf("%s %s: exit status %d without a word", name, way.name, status)
			}
			must.Do(s, os.WriteFile(path, original, 0o600))
		}
	}
	s.measured("9 runs under %d changes: %d ended with a report, %d said what is wrong; no signal", changes,
		statuses[0], statuses[3])
}
