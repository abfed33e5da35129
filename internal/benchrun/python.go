package benchrun

import (
	"context"
	"os"
	"os/exec"
	"path"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/probe"
	"github.com/pipetune/pipetune/internal/procfs"
)

// pythonLimit is how long an interpreter, which may lie on a slow disk, may take to say what it has.
const pythonLimit = 20 * time.Second

// Interpreter returns the command of the Python whose libraries are timed; nil is none. chosen is a path or name, where
// one that does not work is an error; or "auto", for one of a running job of this user or of the system that has a
// library that reads datasets; or "none".
func Interpreter(ctx context.Context, chosen string) ([]string, error) {
	switch chosen {
	case "none", "":
		return nil, nil
	case "auto":
	default:
		path, err := exec.LookPath(chosen)
		if err == nil {
			_, err = libraries(ctx, path)
		}
		if err != nil {
			return nil, err
		}
		return []string{path}, nil
	}
	for _, path := range append(interpretersOfJobs(ctx), "python3", "/usr/bin/python3") {
		found, err := exec.LookPath(path)
		if err != nil {
			continue
		}
		if list, err := libraries(ctx, found); err == nil && readsData(list) {
			return []string{found}, nil
		}
	}
	return nil, nil
}

func libraries(ctx context.Context, path string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, pythonLimit)
	defer cancel()
	return probe.PythonLibraries(ctx, []string{path})
}

// readsData reports whether a list of libraries with versions holds one that reads datasets.
func readsData(list []string) bool {
	for _, l := range list {
		switch name, _, _ := strings.Cut(strings.ToLower(l), " "); name {
		case "pillow", "opencv", "cv2", "torchvision", "h5py":
			return true
		}
	}
	return false
}

// virtualOf is the interpreter of the virtual environment that a process has its libraries from, if any: the program
// itself is that of the Python which the environment was made of.
func virtualOf(p *procfs.Process) (list []string) {
	files, err := p.MappedFiles(func(path string) bool { return besidePackage(path) != "" }, 1)
	if err == nil && len(files) > 0 {
		list = append(list, besidePackage(files[0]))
	}
	return list
}

// besidePackage is the interpreter whose environment a library is installed in, as .venv/bin/python3 beside
// .venv/lib/python3.11/site-packages; "" where the library is in none.
func besidePackage(library string) string {
	before, _, packaged := strings.Cut(library, "/site-packages/")
	root, found := strings.CutSuffix(path.Dir(before), "/lib")
	if !packaged || !found {
		return ""
	}
	return root + "/bin/python3"
}

// interpretersOfJobs returns the Pythons of training jobs that run here now and belong to this very user, best first.
func interpretersOfJobs(ctx context.Context) []string {
	fs := procfs.FS{}
	found, err := job.Find(ctx, job.Options{FS: fs, UID: os.Geteuid(), Self: os.Getpid()})
	if err != nil {
		return nil
	}
	var list []string
	for _, c := range found {
		p, err := fs.OpenID(c.Trainer)
		if err != nil {
			continue
		}
		status, err := p.Status()
		if exe, exeErr := p.Exe(); err == nil && exeErr == nil && status.UID.Or(-1) == os.Geteuid() &&
			strings.Contains(exe, "python") {
			list = append(list, append(virtualOf(p), exe)...)
		}
		p.Close()
	}
	return list
}
