package sampler

import (
	"path"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/procfs"
)

// codeClass is whose code an address holds.
type codeClass uint8

const (
	codeOther codeClass = iota
	codeDevice
	codeReading // of data: what a trainer without workers executes to load
	codeModel   // PyTorch's mathematics, and what that calls
	codeClock   // the vDSO: a loop that waits for the device reads the clock
	codeLibc    // called by all; see hostThread.count
	// from here on: the libraries of one map, by codeMap.names
	codeLibrary
	maxCodeClass = 255
)

// codeMap is what a process may execute, with the class of each range.
type codeMap struct {
	ranges  []procfs.Mapping // sorted
	classes []codeClass
	names   []string // of libraries, from codeLibrary on; of a worker's map alone
}

// newCodeMap classifies the ranges. Without a library of a device in the process the clock of the vDSO is nobody's
// wait for one. Code without a file is what PyTorch's convolutions are compiled to at run time (oneDNN), where it is
// there.
func newCodeMap(ranges []procfs.Mapping) codeMap {
	m := codeMap{ranges: ranges, classes: make([]codeClass, len(ranges))}
	for i, r := range ranges {
		m.classes[i] = codeOf(r.Path)
	}
	clock, compiled := codeOther, codeOther
	if slices.Contains(m.classes, codeDevice) {
		clock = codeDevice
	}
	if slices.Contains(m.classes, codeModel) {
		compiled = codeModel
	}
	for i, c := range m.classes {
		switch {
		case c == codeClock:
			m.classes[i] = clock
		case ranges[i].Path == "":
			m.classes[i] = compiled
		}
	}
	return m
}

// find returns the class of an address; false where nothing was known to be there.
func (m *codeMap) find(ip uint64) (codeClass, bool) {
	i, _ := slices.BinarySearchFunc(m.ranges, ip, func(r procfs.Mapping, ip uint64) int {
		if r.To <= ip {
			return -1
		}
		return 1
	})
	if i == len(m.ranges) || ip < m.ranges[i].From {
		return codeOther, false
	}
	return m.classes[i], true
}

// libraryClasses are tried in order on the beginning of a mapped file's name. NVIDIA's mathematics (cuBLAS, cuDNN) is
// neither: the host's part of it is the work of launching. NumPy's own is neither loading nor training, too.
var libraryClasses = []struct {
	class codeClass
	names string
}{
	{codeDevice, "libcuda.so libcudart libnvidia libcudadebugger libamdhip64 libhsa-runtime64 libhsakmt libdxcore.so " +
		"libd3d12core.so"},
	{codeOther, "libopenblas64_"},
	{codeModel, "libtorch_cpu libtorch_cuda libdnnl libmkl libopenblas libblas.so libgomp libiomp"},
	{codeReading, "libhdf5 libnetcdf libarrow libparquet liblmdb" +
		" libz.so libz- zlib. libzstd liblz4 libbz2 liblzma libsz.so libaec libsnappy libbrotli libblosc blosc" +
		" libjpeg libturbojpeg libpng libwebp libtiff libopenjp2 _imaging. cv2. libopencv_imgcodecs libavcodec " +
		"libavformat libsndfile"},
	{codeLibc, "libc.so libc-2. libpthread ld-musl"},
}

func codeOf(file string) codeClass {
	if file == "[vdso]" {
		return codeClock
	}
	base := path.Base(strings.TrimSuffix(file, " (deleted)"))
	for _, l := range libraryClasses {
		for name := range strings.FieldsSeq(l.names) {
			if strings.HasPrefix(base, name) {
				return l.class
			}
		}
	}
	return codeOther
}
