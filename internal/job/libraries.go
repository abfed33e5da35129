package job

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/procfs"
)

// libraries are what maps tell of a process.
type libraries struct {
	framework string // "pytorch", "tensorflow", "jax", ""
	python    string // "3.11", ""
	hdf5      string // "1.10", "2.2", ""
	// accelerator is "cuda", "rocm" or "dxg" (a GPU of Windows, seen in WSL2 by CUDA or ROCm through /dev/dxg); ""
	// where none was seen. A process may hold one and compute nothing on it.
	accelerator string
	// tokenizers says that this library is mapped, which Hugging Face's transformers imports; who uses it without a
	// Trainer has it too.
	tokenizers bool
}

var (
	pythonInPath = regexp.MustCompile(`(?:/|lib)python(\d+\.\d+)t?(?:/|\.so|$)`)
	hdf5Library  = regexp.MustCompile(`^libhdf5(?:_serial|_openmpi|_mpich|-[0-9a-f]+)?\.so\.(\d+)(?:\.(\d+)\.(\d+))?$`)
)

// maxLibraries bounds how many mapped files of interest are kept; a torch process maps some twenty.
const maxLibraries = 256

// readLibraries looks through the mapped files of a process. It takes the process' mmap lock for reading: for discovery
// only.
func readLibraries(p *procfs.Process) (libraries, error) {
	files, err := p.MappedFiles(interesting, maxLibraries)
	return librariesOf(files), err
}

// interestingNames are how the names of the files begin that tell something. Debian's torch maps some 300 libraries, so
// all others are passed over.
var interestingNames = []string{"libtorch", "libtensorflow", "_pywrap_tensorflow", "libcuda.so", "libamdhip64.so",
	"libdxcore.so", "libhdf5", "libpython", "tokenizers."}

func interesting(file string) bool {
	b := path.Base(file)
	return strings.Contains(file, "/jaxlib/") ||
		slices.ContainsFunc(interestingNames, func(name string) bool { return strings.HasPrefix(b, name) })
}

func librariesOf(files []string) libraries {
	var l libraries
	for _, file := range files {
		b := path.Base(file)
		switch {
		case strings.HasPrefix(b, "libtorch"):
			// torch wins: its users import tensorflow for TensorBoard, never the other way round
			l.framework = "pytorch"
		case strings.HasPrefix(b, "libtensorflow"), strings.HasPrefix(b, "_pywrap_tensorflow"):
			l.framework = cmp.Or(l.framework, "tensorflow")
		case strings.Contains(file, "/jaxlib/"):
			l.framework = cmp.Or(l.framework, "jax")
		case strings.HasPrefix(b, "tokenizers."):
			l.tokenizers = true
		case strings.HasPrefix(b, "libcuda.so"):
			l.accelerator = acceleratorCUDA
		case strings.HasPrefix(b, "libamdhip64.so"):
			l.accelerator = acceleratorROCm
		case strings.HasPrefix(b, "libdxcore.so"):
			l.accelerator = cmp.Or(l.accelerator, acceleratorDXG)
		case strings.HasPrefix(b, "libhdf5"):
			l.hdf5 = cmp.Or(l.hdf5, hdf5Release(b))
		}
		l.python = cmp.Or(l.python, pythonOf(file))
	}
	return l
}

// hdf5Release turns the file name of a shared HDF5 library into its release, "" where the name says nothing. The
// numbers are the libtool interfaces of HDF5's config/lt_vers.am: Debian 12 ships 1.10.8 as 103.3.1, openSUSE 1.12.2 as
// 200, Debian 13 1.14.5 as 310, Debian sid 2.2.0 as 320.2.0. From 320 on the second number follows the minor release.
func hdf5Release(file string) string {
	m := hdf5Library.FindStringSubmatch(file)
	if m == nil {
		return ""
	}
	switch m[1] {
	case "8", "9", "10":
		return "1.8"
	case "100", "101", "103":
		return "1.10"
	case "200":
		return "1.12"
	case "300", "310":
		return "1.14"
	case "320":
		if m[2] != "" {
			return "2." + m[2]
		}
		return "2"
	}
	return ""
}

// isRuntime reports whether a mapped file is Python, as a program or as the library that a program may have it in, be
// it replaced since.
func isRuntime(file string) bool {
	b := path.Base(strings.TrimSuffix(file, " (deleted)"))
	return isInterpreter(b) || strings.HasPrefix(b, "libpython")
}

// pythonOf reads the version from the path of an interpreter or of what it loads, "" where it does not say.
func pythonOf(file string) string {
	if m := pythonInPath.FindStringSubmatch(file); m != nil {
		return m[1]
	}
	return ""
}

// The accelerators in the words of a recording.
const (
	acceleratorCUDA = "cuda"
	acceleratorROCm = "rocm"
	acceleratorDXG  = "dxg"
)

// acceleratorOf returns whose device file a descriptor's target is, "" where it is none. nvidia0 counts, and not
// nvidiactl, which nvidia-smi holds too.
func acceleratorOf(target string) string {
	if _, ok := NVIDIAMinor(target); ok {
		return acceleratorCUDA
	}
	switch target {
	case "/dev/kfd":
		return acceleratorROCm
	case "/dev/dxg":
		return acceleratorDXG
	}
	return ""
}

// NVIDIAMinor returns the number of an NVIDIA GPU's device file: 0 of /dev/nvidia0.
func NVIDIAMinor(target string) (int, bool) {
	rest, ok := strings.CutPrefix(target, "/dev/nvidia")
	if !ok || rest == "" || rest[0] < '0' || rest[0] > '9' {
		return 0, false
	}
	n, err := strconv.Atoi(rest)
	return n, err == nil
}

// maxGPUDescriptors bounds how many descriptors are looked through for a GPU's device file. CUDA opens them at its
// start, so they are among the first.
const maxGPUDescriptors = 256

// acceleratorHeld returns whose device file the process has open, "" where it has none.
func acceleratorHeld(p *procfs.Process) string {
	fds, _, err := p.FDs(maxGPUDescriptors)
	if err != nil {
		return ""
	}
	for _, fd := range fds {
		if a := acceleratorOf(fd.Target); a != "" {
			return a
		}
	}
	return ""
}
