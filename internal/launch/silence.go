package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pipetune/pipetune/internal/hook"
	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/job"
	"github.com/pipetune/pipetune/internal/procfs"
	"github.com/pipetune/pipetune/internal/untrusted"
)

// mostExplained bounds how many processes of a job are asked at one look why the hook reports nothing of them.
const mostExplained = 16

// notice keeps why the hook reports nothing of a job that may end before it is watched. The reason that says most
// stays, of several the latest: a job may begin with a shell, and replace its program by another.
func (j *Job) notice(tree *job.Tree) {
	for _, p := range tree.Processes[:min(len(tree.Processes), mostExplained)] {
		if why := j.explain(p.ID, j.Hook(), nil); why.weight > 0 && why.weight >= j.quiet.weight {
			j.quiet = why
		}
	}
}

// The reasons that take no look at the process.
const (
	silentLoader = "torch is imported, but no DataLoader of torch.utils.data was made: the job loads its data with " +
		"something else, or with a subclass that takes the place of DataLoader's own methods"
	silentBatch = "a DataLoader of torch.utils.data was made, but no batch was taken from it"
	silentTorch = "no process of the job has imported torch.utils.data"
	switchedOff = "it switched itself off: " // and the reason that it gave
)

// reason is why the hook says nothing of a process. The zero value: that cannot be determined now.
type reason struct {
	text   string
	weight int // 1: the process is nothing for the hook; 2: it may become something; 3: the hook was kept out, or went
}

// explain says why the hook, which has reported no more than state, says nothing of a process. paths are children that
// may look into the job's root folder; nil: it is not looked at.
func (j *Job) explain(id procfs.ID, state hook.State, paths *isolate.Paths) reason {
	switch {
	case len(state.Off) > 0:
		return reason{switchedOff + state.Off[0].Reason, 3}
	case state.Loaded > 0:
		return reason{loaded(state), 2}
	}
	p, err := j.fs.OpenID(id)
	if err != nil {
		return reason{}
	}
	defer p.Close()
	exe, err := p.Exe()
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return reason{} // it has just ended
	}
	if err != nil {
		return reason{"process " + strconv.Itoa(id.PID) + " may not be inspected: it belongs to another user or has " +
			"privileges of its own", 3}
	}
	name := path.Base(strings.TrimSuffix(exe, " (deleted)"))
	if !strings.HasPrefix(name, "python") && !strings.HasPrefix(name, "pypy") {
		return reason{untrusted.Sanitize(name) + " is not a Python", 1}
	}
	if major, minor, ok := pythonVersion(name); ok && (major < 3 || major == 3 && minor < 8) {
		return reason{fmt.Sprintf("Python %d.%d is older than 3.8", major, minor), 3}
	}
	if argv, ok := job.Guarded(&j.reads, j.fs, id, (*procfs.Process).Cmdline); ok {
		if flag := isolating(argv); flag != "" {
			return reason{"Python was started with " + flag + ", which keeps out what PYTHONPATH adds", 3}
		}
	}
	if env, ok := job.Guarded(&j.reads, j.fs, id, (*procfs.Process).Environ); ok {
		switch search, found := env["PYTHONPATH"]; {
		case env[hook.EnvSocket] == "":
			return reason{"the job's environment was emptied: " + hook.EnvSocket + " is not in it", 3}
		case env[hook.EnvSocket] != j.socket:
			return reason{"another pipetune, below this one, has launched the training", 3}
		case found && !slices.Contains(strings.Split(search, ":"), j.folder):
			return reason{"PYTHONPATH was replaced within the job; add to it instead: PYTHONPATH=folder:$PYTHONPATH", 3}
		}
	}
	if status, err := p.Status(); err == nil && status.UID.Or(-1) != os.Geteuid() {
		return reason{fmt.Sprintf("the training runs as another user, number %d", status.UID.Or(-1)), 3}
	}
	if paths == nil {
		return reason{silentTorch, 2}
	}
	// The job's root folder is somebody else's: only a child may look there.
	inside := filepath.Join("/proc", strconv.Itoa(id.PID), "root", j.socket)
	if _, err := paths.Lstat(context.Background(), "hook", inside); errors.Is(err, fs.ErrNotExist) {
		return reason{"the training runs in a container or chroot that does not see the folder " +
			filepath.Dir(j.socket), 3}
	}
	return reason{silentTorch, 2}
}

// loaded says why a hook that is in the job has reported no batch.
func loaded(state hook.State) string {
	if state.Made > 0 {
		return silentBatch
	}
	return silentLoader
}

// unmade says of a job that failed what it had not come to: of one that ended early, its loaders say nothing yet.
func unmade(state hook.State) string {
	if state.Made > 0 {
		return "a DataLoader of torch.utils.data was made, but no batch was taken from it by then"
	}
	return "torch was imported, but no DataLoader of torch.utils.data was made by then"
}

// pythonVersion reads the version in the name of an interpreter: python3.7.
func pythonVersion(name string) (major, minor int, ok bool) {
	n, err := fmt.Sscanf(strings.TrimPrefix(name, "python"), "%d.%d", &major, &minor)
	return major, minor, err == nil && n == 2
}

// isolating returns the option among an interpreter's own that keeps PYTHONPATH or sitecustomize out: -I, -E or -S,
// alone or among others.
func isolating(argv [][]byte) string {
arguments:
	for i := 1; i < len(argv); i++ {
		arg := argv[i]
		if len(arg) < 2 || arg[0] != '-' || arg[1] == '-' {
			return "" // the script, or a long option, none of which isolates
		}
		for j, letter := range arg[1:] {
			switch letter {
			case 'I', 'E', 'S':
				return "-" + string(letter)
			case 'c', 'm':
				return ""
			case 'W', 'X':
				if j == len(arg)-2 {
					i++ // its value is the next argument
				}
				continue arguments
			}
		}
	}
	return ""
}
