// Package doctor tries what pipetune can see of this machine, by doing it on a small scale: each check says what works,
// what does not, and the command that would change that.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/dataset"
	"github.com/pipetune/pipetune/internal/demo"
	"github.com/pipetune/pipetune/internal/hdf5"
	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/nvml"
	"github.com/pipetune/pipetune/internal/openfiles"
	"github.com/pipetune/pipetune/internal/perf"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/sampler"
	"github.com/pipetune/pipetune/internal/unit"
)

// State is how much of a thing can be seen here.
type State string

// The states.
const (
	OK      State = "ok"
	Limited State = "limited"
	Missing State = "missing"
)

// Check is what can be seen of one thing.
type Check struct {
	Name   string
	State  State
	Detail string
	Cure   string // an exact command, "" where nothing helps or nothing is needed
}

// checks is the table of what is looked at.
var checks = []func(context.Context, *isolate.Runner) []Check{checkGPU, checkThreads, checkHostCode, checkProcesses,
	checkPressure, checkCgroup, checkFiles, checkHDF5, checkChildren, checkHook, checkPython}

var fs procfs.FS // this machine's

// Look makes all checks, those that may hang or crash in children of runner.
func Look(ctx context.Context, runner *isolate.Runner) (list []Check) {
	for _, check := range checks {
		list = append(list, check(ctx, runner)...)
	}
	return list
}

func checkGPU(ctx context.Context, runner *isolate.Runner) []Check {
	child := sampler.GPUChild{Child: runner.Child(sampler.GPUSpec())}
	defer child.Close()
	found, err := child.Open(ctx)
	switch {
	case err != nil:
		return []Check{{"GPU (NVML)", Missing, err.Error(), "nvidia-smi"}}
	case found.Unavailable != nil:
		return []Check{{"GPU (NVML)", Missing, found.Unavailable.Reason, found.Unavailable.Cure}}
	case len(found.Devices) == 0:
		return []Check{{"GPU (NVML)", Missing, "the driver is loaded and lists no GPU", "nvidia-smi -L"}}
	}
	count := unit.Count(int64(len(found.Devices)), "GPU", "GPUs")
	list := []Check{{"GPU (NVML)", OK, "driver " + found.Driver + ", " + count, ""}}
	for _, listed := range found.Devices {
		name := "  " + listed.Place
		opened, err := child.OpenGPU(ctx, listed.Place)
		switch {
		case err != nil:
			list = append(list, Check{name, Missing, "opening it: " + err.Error(), "nvidia-smi"})
		case opened.Failed != "":
			list = append(list, Check{name, Missing, "opening it: " + opened.Failed, "nvidia-smi"})
		}
		for _, g := range opened.Devices {
			list = append(list, checkDevice(name, g))
		}
	}
	return list
}

// checkDevice says what can be read of one GPU, or of one slice of a GPU; name says where it is.
func checkDevice(name string, g nvml.Device) Check {
	c := Check{name, OK, g.Name + ", with SM and DRAM activity; " + g.UUID, ""}
	switch {
	case g.Lost:
		c.State, c.Detail, c.Cure = Missing, "the driver has lost it", "sudo dmesg | grep -i xid"
	case !g.GPM && g.MIG != nil && *g.MIG:
		c.State, c.Detail = Limited, g.Name+
			": MIG is enabled, and of its slices neither utilization nor activity can be read here"
	case !g.GPM:
		c.State, c.Detail = Limited, g.Name+": no SM and DRAM activity, which needs Hopper or newer"
	}
	return c
}

// checkThreads reports whether /proc/PID/syscall of a job that is not our descendant can be read: the Yama module
// decides.
func checkThreads(context.Context, *isolate.Runner) []Check {
	const name = "threads (syscall)"
	scope, err := fs.PtraceScope()
	cure := ""
	switch {
	case err != nil || scope == 0 || os.Geteuid() == 0 && scope < 3:
		return []Check{{name, OK, "what each thread of a job waits for can be read", ""}}
	case scope < 3: // else the kernel lets nobody change it
		cure = "sudo sysctl kernel.yama.ptrace_scope=0"
	}
	return []Check{{name, Limited, fmt.Sprintf("kernel.yama.ptrace_scope is %d: only wait channels can be read, "+
		"which show less", scope), cure}}
}

// checkHostCode reports whether a thread that spins until the GPU is done can be distinguished from one that runs
// Python, by sampling this program.
func checkHostCode(context.Context, *isolate.Runner) []Check {
	const name = "spin or Python"
	clock, err := perf.Open(os.Getpid())
	if err == nil {
		clock.Close()
		return []Check{{name, OK, "whose code a busy thread or worker of a job executes can be sampled " +
			"(perf_event_open)", ""}}
	}
	paranoid, unknown := fs.PerfEventParanoid()
	if unknown != nil {
		paranoid = -1
	}
	reason, cure, _ := perf.Explain(err, paranoid)
	return []Check{{name, Limited, reason + "; in which libraries workers compute is not seen, and whether a busy " +
		"thread waits for the GPU is taken from other signs, which show less", cure}}
}

func checkProcesses(context.Context, *isolate.Runner) []Check {
	const name = "processes"
	all, err := fs.Table()
	if err != nil {
		return []Check{{name, Missing, err.Error(), "mount -t proc proc /proc"}}
	}
	return []Check{{name, OK, fmt.Sprintf("%d can be seen", len(all)), ""}}
}

func checkPressure(context.Context, *isolate.Runner) []Check {
	var list []Check
	machine := fs.Machine()
	defer machine.Close()
	for _, r := range []procfs.PressureResource{procfs.PressureCPU, procfs.PressureIO, procfs.PressureMemory} {
		var p procfs.Pressure
		if err := machine.Pressure(r, &p); err != nil {
			list = append(list, Check{"pressure " + r.String(), Missing, err.Error(), "boot the kernel with psi=1"})
		}
	}
	if len(list) == 0 {
		list = append(list, Check{"pressure (PSI)", OK, "cpu, io, memory", ""})
	}
	return list
}

func checkCgroup(context.Context, *isolate.Runner) []Check {
	const name = "control groups"
	group, err := fs.Cgroup(os.Getpid())
	if err != nil {
		return []Check{{name, Limited, err.Error(), ""}}
	}
	usable, err := fs.UsableCPUs(os.Getpid())
	if err != nil {
		return []Check{{name, Limited, string(group.Mode) + "; usable CPUs: " + err.Error(), ""}}
	}
	return []Check{{name, OK, fmt.Sprintf("%s; %g CPUs usable here", group.Mode, usable.CPUs), ""}}
}

// checkFiles counts opens of a file of its own.
func checkFiles(context.Context, *isolate.Runner) []Check {
	const name = "file opens"
	folder, err := hook.Try()
	if err == nil {
		err = openfiles.Try(folder)
	}
	switch {
	case errors.Is(err, syscall.EMFILE):
		return []Check{{name, Missing, "inotify: " + err.Error(), "sudo sysctl fs.inotify.max_user_instances=512"}}
	case errors.Is(err, syscall.ENOSPC):
		return []Check{{name, Missing, "inotify: no watch is left, or the disk of " + folder + " is full",
			"sudo sysctl fs.inotify.max_user_watches=524288"}}
	case err != nil:
		return []Check{{name, Missing, err.Error(), ""}}
	}
	return []Check{{name, OK, "opens of dataset files can be counted (inotify), except on network file systems",
		""}}
}

// checkHDF5 has the child read a whole file, and holds what it says to what is in it.
func checkHDF5(ctx context.Context, runner *isolate.Runner) []Check {
	const name = "HDF5 layouts"
	library, err := tryHDF5(ctx, runner)
	if err != nil {
		return []Check{{name, Missing, err.Error(), ""}}
	}
	return []Check{{name, OK, "read in a child process, by libhdf5 " + library, ""}}
}

func tryHDF5(ctx context.Context, runner *isolate.Runner) (library string, err error) {
	folder, err := hook.Try()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(folder, "pipetune-*.h5")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.Write(hdf5.Sample); err != nil {
		return "", err
	}
	found, err := isolate.Call[dataset.Request, dataset.Description](ctx, runner,
		isolate.Spec{Task: dataset.Task, Timeout: 5 * time.Second, Only: []string{f.Name()}},
		dataset.Request{Path: []byte(f.Name())})
	switch file := found.HDF5; {
	case err != nil:
		return "", err
	case file == nil:
		return "", errors.New(found.Refused.String())
	case len(file.Datasets) != 1 || !slices.Equal(file.Datasets[0].Chunk, []int64{2, 3}):
		return "", fmt.Errorf("a file of one chunked dataset was read as another: %d datasets", len(file.Datasets))
	}
	return found.HDF5.Library, nil
}

// checkChildren says what keeps a child that a damaged or hostile file takes over from doing harm.
func checkChildren(context.Context, *isolate.Runner) []Check {
	return []Check{confinement(isolate.Confinement())}
}

func confinement(landlock int, filter bool) Check {
	const name = "own children"
	var lacks []string
	if landlock == 0 {
		lacks = append(lacks, "to the dataset's files (Landlock)")
	}
	if !filter {
		lacks = append(lacks, "to harmless system calls (seccomp)")
	}
	if len(lacks) == 0 {
		return Check{name, OK, fmt.Sprintf("kept to the dataset's files (Landlock %d) and to harmless system "+
			"calls (seccomp)", landlock), ""}
	}
	cure := ""
	if landlock == 0 {
		cure = "boot Linux 5.13 or newer with landlock in lsm="
	}
	return Check{name, Limited, "not kept " + strings.Join(lacks, ", nor ") +
		": what a hostile file could take over has this user's rights", cure}
}

// checkHook reports whether the folder and the socket for a launched job can be made, by making them.
func checkHook(context.Context, *isolate.Runner) []Check {
	const name = "launched jobs"
	parent, err := hook.Try()
	if err != nil {
		return []Check{{name, Limited, "watched from outside only: " + err.Error(), "export TMPDIR=FOLDER, one " +
			"of your own with a short path that holds no ':'"}}
	}
	detail := "timed from inside: the hook's private folder can be made in " + parent
	for _, other := range []string{"XDG_RUNTIME_DIR", "TMPDIR"} {
		switch dir := os.Getenv(other); dir {
		case "":
		case parent:
			return []Check{{name, OK, detail, ""}}
		default:
			detail += "; " + other + " is passed over: it has to be a folder of your own that can be written to, " +
				"with a short path that holds no ':'"
		}
	}
	return []Check{{name, OK, detail, ""}}
}

func checkPython(context.Context, *isolate.Runner) []Check {
	path, err := demo.FindPython("")
	if err != nil {
		return []Check{{"demo", Limited, err.Error(), "sudo apt-get install python3-torch python3-h5py"}}
	}
	return []Check{{"demo", OK, path + " has torch and h5py", ""}}
}
