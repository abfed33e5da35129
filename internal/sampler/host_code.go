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
	codeClock   // the vDSO: a loop that waits for the device looks at the clock
	codeLibc    // called by all; see hostThread.add
)

// codeMap is what a process may execute, with the class of each range.
type codeMap struct {
	ranges  []procfs.CodeRange // sorted
	classes []codeClass
}

// newCodeMap classifies the ranges. Without a library of a device in the process the clock of the vDSO is nobody's
// wait for one. Code without a file is what PyTorch's convolutions are compiled to at run time (oneDNN), where it is
// there.
func newCodeMap(ranges []procfs.CodeRange) codeMap {
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
	i, _ := slices.BinarySearchFunc(m.ranges, ip, func(r procfs.CodeRange, ip uint64) int {
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
// neither: the host's part of it is the work of launching.
var libraryClasses = []struct {
	name  string
	class codeClass
}{
	{"libcuda.so", codeDevice}, {"libcudart", codeDevice}, {"libnvidia", codeDevice}, {"libcudadebugger", codeDevice},
	{"libamdhip64", codeDevice}, {"libhsa-runtime64", codeDevice}, {"libhsakmt", codeDevice}, {"libdxcore.so",
		codeDevice}, {"libd3d12core.so", codeDevice},
	{"libtorch_cpu", codeModel}, {"libtorch_cuda", codeModel}, {"libdnnl", codeModel}, {"libmkl", codeModel}, {"libopenblas", codeModel},
	{"libblas.so", codeModel}, {"libgomp", codeModel}, {"libiomp", codeModel},
	{"libhdf5", codeReading}, {"libz.so", codeReading}, {"libz-", codeReading}, {"zlib.", codeReading}, {"libzstd", codeReading},
	{"liblz4", codeReading}, {"libbz2", codeReading}, {"liblzma", codeReading}, {"libsz.so", codeReading}, {"libaec", codeReading},
	{"libsnappy", codeReading}, {"libbrotli", codeReading}, {"libblosc", codeReading}, {"blosc", codeReading},
	{"libjpeg", codeReading}, {"libturbojpeg", codeReading}, {"libpng", codeReading}, {"libwebp", codeReading}, {"libtiff", codeReading},
	{"libopenjp2", codeReading}, {"_imaging", codeReading}, {"cv2.", codeReading}, {"libopencv_imgcodecs", codeReading},
	{"libarrow", codeReading}, {"libparquet", codeReading}, {"liblmdb", codeReading}, {"libnetcdf", codeReading},
	{"libavcodec", codeReading}, {"libavformat", codeReading}, {"libsndfile", codeReading},
	{"libc.so", codeLibc}, {"libc-2.", codeLibc}, {"libpthread", codeLibc}, {"ld-musl", codeLibc},
}

// codeOf returns the class of a mapped file.
func codeOf(file string) codeClass {
	if file == "[vdso]" {
		return codeClock
	}
	base := path.Base(strings.TrimSuffix(file, " (deleted)"))
	for _, l := range libraryClasses {
		if strings.HasPrefix(base, l.name) {
			return l.class
		}
	}
	return codeOther
}
