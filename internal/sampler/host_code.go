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
	codeClock // the vDSO: a loop that waits for the device looks at the clock
	codeLibc  // called by all; see hostThread.add
)

// codeMap is what a process may execute, with the class of each range.
type codeMap struct {
	ranges  []procfs.CodeRange // sorted
	classes []codeClass
}

// newCodeMap classifies the ranges. Without a library of a device in the process the clock of the vDSO is nobody's
// wait for one.
func newCodeMap(ranges []procfs.CodeRange) codeMap {
	m := codeMap{ranges: ranges, classes: make([]codeClass, len(ranges))}
	device := false
	for i, r := range ranges {
		m.classes[i] = codeOf(r.Path)
		device = device || m.classes[i] == codeDevice
	}
	for i, c := range m.classes {
		switch {
		case c == codeClock && device:
			m.classes[i] = codeDevice
		case c == codeClock:
			m.classes[i] = codeOther
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
