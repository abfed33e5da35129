package openfiles

import (
	"path"
	"slices"
	"strings"

	"github.com/pipetune/pipetune/internal/format"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
)

// notDataFolders are where systems and Python keep what programs are made of.
var notDataFolders = []string{"/dev/", "/proc/", "/sys/", "/run/", "/usr/", "/lib", "/bin/", "/sbin/", "/etc/",
	"/var/lib/", "/var/cache/", "/var/log/", "/snap/"}

// notDataParts are the same inside anybody's folders.
var notDataParts = []string{"/site-packages/", "/dist-packages/", "/lib/python", "/__pycache__/", "/.cache/fontconfig",
	"/.nv/", "/.triton/", "/torchinductor", "/wandb/", "/mlruns/", "/tb_logs/", "/lightning_logs/"}

// notDataEnds are the names of code and of logs.
var notDataEnds = []string{".so", ".py", ".pyc", ".pyd", ".sh", ".log", ".out", ".err", ".lock", ".mo", ".ttf", ".otf",
	".pem", ".ipynb", ".swp", ".tmp"}

// mayBeData says whether an open or mapped file can belong to a dataset, by its path alone.
func mayBeData(file string) bool {
	if !strings.HasPrefix(file, "/") || strings.HasSuffix(file, " (deleted)") || strings.HasPrefix(file, "/memfd:") ||
		strings.HasPrefix(file, "/SYSV") {
		return false
	}
	name := path.Base(file)
	if strings.HasPrefix(name, "events.out.tfevents") || strings.Contains(name, ".so.") ||
		strings.Contains(file, "/dev/shm/torch_") {
		return false
	}
	if slices.Contains(notDataEnds, strings.ToLower(path.Ext(name))) ||
		slices.ContainsFunc(notDataParts, func(part string) bool { return strings.Contains(file, part) }) {
		return false
	}
	below := func(folder string) bool { return strings.HasPrefix(file, folder) }
	if slices.ContainsFunc(notDataFolders, below) { // people do keep data in /dev/shm, and images below /var/lib
		return isKnownData(name) && slices.ContainsFunc([]string{"/dev/shm/", "/usr/local/", "/var/", "/run/"}, below)
	}
	return true
}

// holdsMany says whether a file of this name is a dataset by itself.
func holdsMany(file string) bool {
	f, data := format.OfName(file)
	return data && f.Many
}

// isKnownData says whether a file is data by its name.
func isKnownData(file string) bool {
	_, data := format.OfName(file)
	return data
}

const (
	// maxListedFDs bounds the descriptors read in one listing: 1 µs each.
	maxListedFDs = 256
	// maxMapped bounds the mapped files kept of one process.
	maxMapped = 64
	// writeFlags is O_WRONLY|O_RDWR of open(2), the access mode in fdinfo's flags.
	writeFlags = 3
)

// within returns a path as the process itself names it. The kernel writes the targets of descriptors from the root of
// the mount namespace, which is not that of a process that did chroot; its mount table begins at its own root.
func within(file, root string) string {
	if root == "" || root == "/" {
		return file
	}
	inner, ok := strings.CutPrefix(file, root)
	if !ok || (inner != "" && inner[0] != '/') {
		return file
	}
	return path.Clean("/" + inner)
}

// openData returns the files of one process that may be data, by its descriptors. Files that known says are data
// already are not questioned. What is open for writing is a log or a checkpoint; only a loader worker may have its data
// open so, by mistake or by the default mode of old h5py.
func openData(p *procfs.Process, worker bool, known func(file string) bool) ([]string, error) {
	fds, _, err := p.FDs(maxListedFDs)
	if err != nil {
		return nil, err
	}
	root, err := p.Root()
	if err != nil {
		root = "/"
	}
	var out []string
	for _, fd := range fds {
		if !mayBeData(within(fd.Target, root)) {
			continue
		}
		if !known(fd.Target) && !(worker && isKnownData(fd.Target)) {
			flags, err := p.FDFlags(fd.Num)
			if err != nil || flags&writeFlags != 0 {
				continue
			}
		}
		out = append(out, fd.Target)
	}
	return out, nil
}

// mappedData returns the files a process has mapped that may be data. It takes the process' mmap lock, so it may hang,
// and is called from the finder alone.
func mappedData(machine procfs.FS, id procfs.ID) []string {
	p, err := machine.OpenID(id)
	if err != nil {
		return nil
	}
	defer p.Close()
	files, err := p.MappedFiles(func(file string) bool { return mayBeData(file) && isKnownData(file) }, maxMapped)
	if err != nil {
		return nil
	}
	return files
}

// readers returns the processes whose descriptors are read: the workers, and the trainers where a trainer has
// none.
func readers(tree *job.Tree) []job.Process {
	var all []job.Process
	for _, t := range tree.Trainers() {
		workers := tree.Workers(t.ID)
		if len(workers) == 0 {
			workers = []job.Process{t}
		}
		all = append(all, workers...)
	}
	return all
}
