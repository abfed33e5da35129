//go:build reliability

package reliability

import (
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var appendTrials = []trial{
	{
		id: "H7", fault: "a job opens an HDF5 file for append while pipetune reads it",
		made:   "1,000 opens with h5py, 20 ms apart, beside `bench-io` in a loop, the same file timed through h5py too",
		target: "none is refused (errno 11): neither pipetune nor the Python it starts takes a lock", run: appended,
	},
}

// appended lets bench-io read a file, by itself and through h5py, for as long as a writer opens it. The same writer
// beside a reader that locks shows that a lock would be seen.
func appended(s *stand) {
	file, writer := s.in("train.h5"), s.testdata("reliability/append.py")
	must.Python(s, "-c", `import h5py, numpy, sys
with h5py.File(sys.argv[1], "w") as f:
    values = numpy.random.default_rng(1).standard_normal((20000, 256), dtype="f4")
    f.create_dataset("x", data=values, chunks=(100, 256), compression="gzip")`, file)
	holder := s.start("holder", []string{s.python, "-c",
		`import h5py, sys, time; f = h5py.File(sys.argv[1], "r"); print("holds", flush=True); time.sleep(600)`, file})
	holder.awaitLines(1)
	refused := s.start("writer", []string{s.python, writer, file, "3"})
	if refused.wait(5 * time.Minute); string(refused.output()) != "appending\n3 opens, 3 refused\n" {
		s.Fatalf("beside a reader with a lock the writer says %q: a lock would not show; %s", refused.output(),
			refused.complaints())
	}
	holder.kill()

	w := s.start("writer", []string{s.python, writer, file, "1000"})
	w.awaitLines(1)
	var statuses []int
	for !w.hasEnded() {
		p := s.pipetune([]string{"bench-io", file, "--budget", "10s", "--python", s.python, "-q", "-o",
			s.in("bench.json")})
		if statuses = append(statuses, p.ends(10*time.Minute, 0, 3, 4)); s.Failed() {
			break
		}
	}
	status := w.wait(20 * time.Minute)
	last := strings.TrimSpace(string(w.output()[len("appending\n"):]))
	if status != 0 || last != "1000 opens, 0 refused" || w.complaints() != "" {
		s.Errorf("the writer ended with %d: %s; %.800s", status, last, w.complaints())
	}
	s.measured("%s, beside %d runs of bench-io (exit codes %v)", last, len(statuses), statuses)
}
