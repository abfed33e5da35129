//go:build reliability

package reliability

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

var callerTrials = []trial{
	{
		id: "H11", fault: "root watches another user's job from a shell whose environment is not to be trusted",
		made: "PATH, PYTHONPATH, LD_LIBRARY_PATH, HDF5_PLUGIN_PATH and other HDF5_* name folders with programs and " +
			"libraries that leave a mark; `diagnose --pid` of a job of another uid; each execve seen by strace",
		target: "no mark; helpers have none of these variables; nothing but pipetune's own file is run",
		run:    untrustedCaller,
	},
}

func untrustedCaller(s *stand) {
	j := steady{batches: 1500, step: 20 * time.Millisecond, workers: 2}
	argv := j.argv(s)
	open := must.Get(os.MkdirTemp("/var/tmp", "pipetune-job-"))(s) // that user may not look into the trial's folder
	defer os.RemoveAll(open)
	script, err := os.ReadFile(argv[1])
	argv[1] = filepath.Join(open, filepath.Base(argv[1]))
	must.Do(s, errors.Join(err, os.Chmod(open, 0o755), os.WriteFile(argv[1], script, 0o644)))
	job := s.start("job", argv, asNobody, func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "HOME=/nonexistent") })
	job.awaitLines(2)
	trap, mark := s.in("trap"), s.in("mark")
	must.Do(s, os.Mkdir(trap, 0o755))
	for _, name := range []string{"python3", "nvidia-smi", "sh", "git", "h5ls", "nvidia-modprobe", "lsblk", "mount"} {
		s.write(filepath.Join(trap, name), "#!/bin/sh\necho "+name+" >>"+mark+"\n")
	}
	s.write(filepath.Join(trap, "sitecustomize.py"), fmt.Sprintf("open(%q, 'a').write('python')\n", mark))
	for _, name := range []string{"libnvidia-ml.so.1", "libfilter.so"} {
		s.markingLibrary(filepath.Join(trap, name), mark)
	}
	trace := s.in("trace")
	traced := []string{"/usr/bin/strace", "-f", "-qq", "--seccomp-bpf", "-v", "-s", "10000", "-o", trace, "-e",
		"trace=execve,execveat"}
	for _, v := range []string{"PATH=" + trap, "PYTHONPATH=" + trap, "LD_LIBRARY_PATH=" + trap,
		"HDF5_PLUGIN_PATH=" + trap, "HDF5_DRIVER=trap", "HDF5_VOL_CONNECTOR=trap", "HDF5_USE_FILE_LOCKING=TRUE",
		"TRAP=" + trap} {
		traced = append(traced, "-E", v) // for pipetune, not for strace
	}
	s.under(traced, watchOf(job, "6s", "-q")).ends(5*time.Minute, 0)
	if text, err := os.ReadFile(mark); err == nil {
		s.Errorf("run: %s", text)
	}
	text := must.Get(os.ReadFile(trace))(s)
	helpers := 0
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		m := regexp.MustCompile(`execve\("([^"]*)", \[(.*?)\], \[(.*)\]`).FindStringSubmatch(line)
		switch {
		case i == 0 || m == nil && !strings.Contains(line, "execve"): // pipetune itself, and the ends of calls
		case m == nil:
			s.Errorf("an execve that cannot be read: %.300s", line)
		case m[1] != "/proc/self/exe":
			s.Errorf("it ran %s", m[1])
		default:
			helpers++
			if strings.Contains(m[3], "trap") || strings.Contains(m[3], "PYTHONPATH") ||
				strings.Contains(m[3], "LD_") || strings.Contains(m[3], "HDF5_PLUGIN_PATH") {
				s.Errorf("a helper's environment: %.600s", m[3])
			}
		}
	}
	if helpers == 0 {
		s.Error("no helper was started: the trial shows nothing")
	}
	s.measured("%d helpers, none with a variable of the caller's; no mark", helpers)
	j.unharmed(s, job)
}
