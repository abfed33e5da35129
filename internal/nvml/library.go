package nvml

import (
	"fmt"
	"slices"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/pipetune/pipetune/internal/untrusted"
)

// soname is what every driver installs.
const soname = "libnvidia-ml.so.1"

// places are tried after the dynamic linker's own: WSL, NixOS, and two container layouts keep the library outside of
// its paths. All belong to root.
var places = []string{
	soname,
	"/usr/lib/wsl/lib/" + soname,
	"/run/opengl-driver/lib/" + soname,
	"/usr/local/nvidia/lib64/" + soname,
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/" + soname,
	"/run/nvidia/driver/usr/lib/aarch64-linux-gnu/" + soname,
}

const (
	cureDriver = "install the NVIDIA driver; in a container, ask for the driver capability \"utility\" " +
		"(NVIDIA_DRIVER_CAPABILITIES=compute,utility)"
	cureModule    = "load the NVIDIA kernel module (modprobe nvidia) and check that nvidia-smi works"
	cureMismatch  = "the driver was upgraded under a running kernel module: reboot, or reload the nvidia module"
	curePrivilege = "run pipetune as a user who may open /dev/nvidiactl and /dev/nvidia0"
)

// Beginnings of reasons that have a cure of their own.
const (
	ReasonNoPermission = "no permission"
	ReasonNoFunction   = "this driver has no "
)

// library is the loaded library. All its answers to has are kept: a function does not come or go.
type library struct {
	nvml  nvml.Interface
	own   *dl.DynamicLibrary
	path  string
	known map[string]bool
}

// load opens the library at the first of the places that has one, and starts it.
func load(places []string) (*library, *Unavailable) {
	l := &library{known: map[string]bool{}}
	var first error
	for _, path := range places {
		own := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
		err := own.Open()
		if err == nil {
			l.own, l.path = own, path
			break
		}
		if first == nil {
			first = err
		}
	}
	if l.own == nil {
		reason := "no NVML library (" + soname + ") on this machine"
		if first != nil && !strings.Contains(first.Error(), "No such file") {
			reason = "the NVML library cannot be loaded: " + untrusted.Cut(first.Error(), 160).String()
		}
		return nil, &Unavailable{Reason: reason, Cure: cureDriver}
	}
	if !l.has("nvmlInit_v2") && !l.has("nvmlInit") || !l.has("nvmlShutdown") {
		return nil, &Unavailable{Reason: soname + " is not an NVML library: it has no nvmlInit", Cure: cureDriver}
	}
	l.nvml = nvml.New(nvml.WithLibraryPath(l.path))
	if ret := l.nvml.Init(); ret != nvml.SUCCESS {
		cure := cureModule
		switch ret {
		case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
			cure = cureMismatch
		case nvml.ERROR_NO_PERMISSION:
			cure = curePrivilege
		}
		return nil, &Unavailable{Reason: "NVML does not start: " + reason(ret), Cure: cure}
	}
	return l, nil
}

// has says whether the library has a function. Calling one it has not ends the process with "symbol lookup error".
func (l *library) has(symbol string) bool {
	known, asked := l.known[symbol]
	if !asked {
		known = l.own.Lookup(symbol) == nil
		l.known[symbol] = known
	}
	return known
}

// lacks returns a reason when none of the functions is there.
func (l *library) lacks(symbols ...string) string {
	if slices.ContainsFunc(symbols, l.has) {
		return ""
	}
	return ReasonNoFunction + strings.Join(symbols, " or ")
}

// reasons are our own words: nvmlErrorString may be missing in the library, and a C string is not to be trusted.
var reasons = map[nvml.Return]string{
	nvml.ERROR_UNINITIALIZED:             "NVML is not initialised",
	nvml.ERROR_INVALID_ARGUMENT:          "the driver refuses the arguments",
	nvml.ERROR_NOT_SUPPORTED:             "not supported by this GPU or driver",
	nvml.ERROR_NO_PERMISSION:             ReasonNoPermission,
	nvml.ERROR_NOT_FOUND:                 "no data",
	nvml.ERROR_DRIVER_NOT_LOADED:         "the NVIDIA driver is not loaded",
	nvml.ERROR_TIMEOUT:                   "the driver timed out",
	nvml.ERROR_IRQ_ISSUE:                 "the driver has an interrupt problem with a GPU",
	nvml.ERROR_LIBRARY_NOT_FOUND:         "the library could not be loaded",
	nvml.ERROR_FUNCTION_NOT_FOUND:        "this driver does not have the function",
	nvml.ERROR_GPU_IS_LOST:               "the GPU is lost",
	nvml.ERROR_RESET_REQUIRED:            "the GPU needs a reset",
	nvml.ERROR_OPERATING_SYSTEM:          "the GPU is blocked by the operating system",
	nvml.ERROR_LIB_RM_VERSION_MISMATCH:   "library and kernel module have different versions",
	nvml.ERROR_IN_USE:                    "the GPU is in use",
	nvml.ERROR_MEMORY:                    "the driver is out of memory",
	nvml.ERROR_NO_DATA:                   "no data",
	nvml.ERROR_ARGUMENT_VERSION_MISMATCH: "the driver does not know this version of the call",
	nvml.ERROR_DEPRECATED:                "the driver no longer has the call",
	nvml.ERROR_NOT_READY:                 "the driver is not ready",
	nvml.ERROR_GPU_NOT_FOUND:             "no GPU was found",
	nvml.ERROR_UNKNOWN:                   "the driver reports an unknown error",
}

func reason(ret nvml.Return) string {
	if words := reasons[ret]; words != "" {
		return words
	}
	return fmt.Sprintf("NVML error %d", int(ret))
}
