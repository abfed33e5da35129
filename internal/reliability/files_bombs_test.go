//go:build reliability

package reliability

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/pipetune/pipetune/internal/must"
)

var bombTrials = []trial{
	{id: "D6", fault: "HDF5 files that grow when they are read", made: "a 1 GiB gzip chunk in 1 MB, a chunk of 4 GiB " +
		"less a byte, a chunk that says 1 MiB and inflates to 1 GiB, 1 PB of nothing, an item of 300 MB of varying " +
		"length, 100,000 groups, names of 60 kB, 32 filters",
		target: "refused by the declared size first; an answer within 10 s; a child holds at most 256 MiB",
		run:    func(s *stand) { bombs(s, bombScript) }},
	{id: "D6-attributes", fault: "a dataset with a million attributes",
		made: "h5py's low-level interface, in the dense form of format 1.8", long: true,
		target: "as D6", run: func(s *stand) { bombs(s, attributeScript) }},
}

const bombScript = `
import h5py, numpy, os, sys, zlib
os.chdir(sys.argv[1])
M = 1 << 20

def zeros(n):
    c = zlib.compressobj(1)
    return b"".join([c.compress(bytes(M)) for _ in range(n // M)] + [c.flush()])

gib = zeros(1 << 30)

def chunk(name, shape, size, raw, **how):
    with h5py.File(name + ".h5", "w") as f:
        d = f.create_dataset("x", shape, "u1", chunks=size, **how)
        if raw:
            d.id.write_direct_chunk((0,) * len(shape), raw, 0)

chunk("gzip-1-GiB", (1024, M), (1024, M), gib, compression="gzip")
chunk("chunk-4-GiB", (2, (1 << 32) - 1), (1, (1 << 32) - 1), None)
chunk("lying-chunk", (16, M), (1, M), gib, compression="gzip")
chunk("petabyte", (1 << 30, M), (1, M), None)

with h5py.File("vlen-300-MB.h5", "w") as f:
    d = f.create_dataset("x", (2,), h5py.vlen_dtype("u1"))
    d[0] = numpy.zeros(300_000_000, "u1")

with h5py.File("groups-100000.h5", "w", libver="latest") as f:
    for i in range(100_000):
        h5py.h5g.create(f.id, b"%d" % i)
    f["x"] = numpy.zeros((8, 8))

with h5py.File("names-60-kB.h5", "w") as f:
    for i in range(20):
        f["%d" % i + "n" * 60_000] = numpy.zeros((8, 8))
    f["x"] = numpy.zeros((8, 8))

with h5py.File("filters-32.h5", "w") as f:
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((1, 4096))
    for i in range(16):
        plist.set_shuffle()
        plist.set_deflate(1)
    h5py.h5d.create(f.id, b"x", h5py.h5t.NATIVE_INT32, h5py.h5s.create_simple((8, 4096)), plist)
    f["x"][:] = numpy.arange(8 * 4096).reshape(8, 4096)
`

const attributeScript = `
import h5py, numpy, os, sys
os.chdir(sys.argv[1])
with h5py.File("attributes-1000000.h5", "w", libver="latest") as f:
    d = f.create_dataset("x", data=numpy.zeros((8, 8)))
    space = h5py.h5s.create(h5py.h5s.SCALAR)
    for i in range(1_000_000):
        h5py.h5a.create(d.id, b"%d" % i, h5py.h5t.NATIVE_INT8, space)
`

func bombs(s *stand, script string) {
	folder := s.folder("bombs")
	must.Python(s, "-c", script, folder)
	paths, err := filepath.Glob(filepath.Join(folder, "*.h5"))
	if err != nil || len(paths) == 0 {
		s.Fatalf("no files: %v", err)
	}
	may := bounds{took: verdictLimit, bytes: 256 << 20}
	var words []string
	for _, path := range paths {
		v := s.examine(path)
		name := strings.TrimSuffix(filepath.Base(path), ".h5")
		words = append(words, fmt.Sprintf("%s %s, %d MiB, %.1f s", name, outcomeWords[v.outcome], v.bytes>>20,
			v.took.Seconds()))
		may.hold(name, v)
		if v.outcome == odd {
			s.Errorf("%s: %v", name, v.why)
		}
		if name == "gzip-1-GiB" || name == "chunk-4-GiB" {
			if v.outcome == whole || v.why == nil || !strings.Contains(v.why.Error(), "too large") {
				s.Errorf("%s is not refused by its declared size: %s, %v", name, outcomeWords[v.outcome], v.why)
			}
		}
	}
	s.measured("%s", strings.Join(words, "; "))
	may.tell(s)
}
