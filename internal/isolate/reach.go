package isolate

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reach is what of the machine's files a child can come to, whatever runs in it.
type reach struct {
	forbidden    rights // but for places; zero: nothing is
	places       []place
	capabilities uint64 // that a child of root keeps
}

// rights are bits of linux/landlock.h.
type rights struct{ files, net uint64 }

// place is a file or folder that a child may use.
type place struct {
	path    string
	rights  uint64
	foreign bool // not pipetune's own: a mount may hang
}

const (
	reading = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writing = reading | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlock is the version of it that the kernel has, 0 when it has none or it is off.
func landlock() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// forbiddable is all that a version of Landlock can forbid (landlock.rst, "Compatibility").
func forbiddable(version int) rights {
	var r rights
	if version < 1 {
		return r
	}
	r.files = unix.LANDLOCK_ACCESS_FS_REFER - 1 // the thirteen of the first version
	if version >= 2 {
		r.files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		r.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		r.net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		r.files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return r
}

// Capabilities that a child of root keeps: to read a dataset of somebody else's, leaving its access times alone, and to
// look through /proc/PID/root. A child that talks to a driver keeps CAP_SYS_ADMIN as well, by which the NVIDIA driver
// knows the administrator.
const (
	keptByAll     = 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER | 1<<unix.CAP_SYS_PTRACE
	keptByDrivers = 1 << unix.CAP_SYS_ADMIN
)

// reach works out what a child of this kind can come to.
func (r *Runner) reach(spec Spec) reach {
	out := reach{capabilities: keptByAll}
	if spec.UnixSockets {
		out.capabilities |= keptByDrivers
	}
	if spec.Only == nil && spec.Write == nil {
		return out
	}
	for _, path := range slices.Concat(spec.Only, spec.Write) {
		if path == "/proc" || strings.HasPrefix(path, "/proc/") {
			return out
		}
	}
	out.forbidden = forbiddable(landlock())
	if out.forbidden.files == 0 {
		return out
	}
	out.places = r.ownPlaces()
	for _, path := range spec.Only {
		out.places = append(out.places, place{path, reading, true})
	}
	for _, path := range spec.Write {
		out.places = append(out.places, place{path, writing, true})
	}
	return out
}

// ownPlaces are what pipetune's program itself needs to start and run: its file, the dynamic linker, libraries, and
// what the kernel reports about the process and the machine.
func (r *Runner) ownPlaces() []place {
	const running = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	list := []place{{path: r.config.Executable, rights: running}}
	for _, path := range loaded() {
		list = append(list, place{path: path, rights: running})
	}
	folders := []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/proc/self", "/sys"}
	for _, variable := range childEnvironment(r.config, privileged(r.config.Environ)) {
		if value, found := strings.CutPrefix(variable, "LD_LIBRARY_PATH="); found {
			for _, folder := range filepath.SplitList(value) {
				if filepath.IsAbs(folder) {
					folders = append(folders, folder)
				}
			}
		}
	}
	for _, path := range folders {
		list = append(list, place{path: path, rights: reading})
	}
	return append(list,
		place{path: "/etc/ld.so.cache", rights: reading},
		place{path: "/dev/null", rights: reading | unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
		place{path: "/proc/self/oom_score_adj",
			rights: unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE})
}

// loaded lists the files that this program's code comes from, the dynamic linker among them: those mapped executable,
// by /proc/self/maps. A child is the same program.
func loaded() (paths []string) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil // the folders of libraries are given in any case; the linker is in one of them
	}
	for line := range bytes.Lines(maps) {
		fields := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(" "), 6)
		if len(fields) < 6 || !bytes.Contains(fields[1], []byte("x")) {
			continue
		}
		path := strings.TrimSuffix(strings.TrimLeft(string(fields[5]), " "), " (deleted)")
		if filepath.IsAbs(path) && !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Confinement says what of the kernel's means a child is confined by here: the version of Landlock, 0 when there is
// none, and whether system calls can be filtered.
func Confinement() (landlockVersion int, filter bool) {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return landlock(), errno == 0
}
