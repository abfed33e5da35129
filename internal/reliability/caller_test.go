//go:build reliability

package reliability

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
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
	job := s.start("job", argv, func(cmd *exec.Cmd) {
		cmd.Dir = "/"
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
		cmd.Env = append(cmd.Env, "HOME=/nonexistent")
	})
	job.awaitLines(2)
	trap, mark := filepath.Join(s.work, "trap"), filepath.Join(s.work, "mark")
	must.Do(s, os.Mkdir(trap, 0o755))
	for _, name := range []string{"python3", "nvidia-smi", "sh", "git", "h5ls", "nvidia-modprobe", "lsblk", "mount"} {
		must.Do(s, os.WriteFile(filepath.Join(trap, name), []byte("#!/bin/sh\necho "+name+" >>"+mark+"\n"), 0o755))
	}
	must.Do(s, os.WriteFile(filepath.Join(trap, "sitecustomize.py"), fmt.Appendf(nil, "open(%q, 'a').write('python')\n",
		mark), 0o644))
	source := filepath.Join(s.work, "trap.c")
	code := fmt.Sprintf("#include <stdio.h>\n__attribute__((constructor)) static void mark(void) { FILE *f = "+
		"fopen(%q, \"a\"); if (f) { fputs(\"library\\n\", f); fclose(f); } }\nint nvmlInit_v2(void) { mark(); return "+
		"0; }\n", mark)
	must.Do(s, os.WriteFile(source, []byte(code), 0o644))
	for _, name := range []string{"libnvidia-ml.so.1", "libfilter.so"} {
		if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(trap, name),
			source).CombinedOutput(); err != nil {
			s.Fatalf("building %s: %v\n%s", name, err, out)
		}
	}
	trace := filepath.Join(s.work, "trace")
	variables := []string{"PATH=" + trap, "PYTHONPATH=" + trap, "LD_LIBRARY_PATH=" + trap, "HDF5_PLUGIN_PATH=" + trap,
		"HDF5_DRIVER=trap", "HDF5_VOL_CONNECTOR=trap", "HDF5_USE_FILE_LOCKING=TRUE", "TRAP=" + trap}
	var given []string
	for _, v := range variables {
		given = append(given, "-E", v) // for pipetune, not for strace
	}
	traced := append([]string{"/usr/bin/strace", "-f", "-qq", "--seccomp-bpf", "-v", "-s", "10000", "-o", trace, "-e",
		"trace=execve,execveat"}, given...)
	p := s.start("strace", append(traced, s.binary, "diagnose", "-q", "--pid", strconv.Itoa(job.pid()), "--duration",
		"6s"), s.ownFolders)
	if status := p.wait(5 * time.Minute); status != 0 {
		s.Errorf("exit %d: %s", status, p.complaints())
	}
	p.alone()
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
	s.leftNothing()
}
