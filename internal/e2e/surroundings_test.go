//go:build e2e

package e2e

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// around prepares a case's surroundings, which end with the test. It returns the lines of shell that the job's own
// process runs before it becomes the job.
func (s surroundings) around(t *testing.T, b bench, c testCase) (prelude []string) {
	t.Helper()
	if s.cold {
		makeCold(t, b, c)
	}
	for _, limit := range s.limits(t, b) {
		prelude = append(prelude, "echo $$ > "+filepath.Join(limit.make(t), "cgroup.procs"))
	}
	if s.shmBytes > 0 {
		if os.Getuid() != 0 {
			t.Fatal("a /dev/shm of its own needs root")
		}
		prelude = append(prelude, fmt.Sprintf("mount -t tmpfs -o size=%d tmpfs %s/dev/shm", s.shmBytes, b.root))
	}
	if s.affinity != "" {
		prelude = append(prelude, "taskset -pc "+s.affinity+" $$ >/dev/null")
	}
	return prelude
}

// makeCold makes the data set in a run of its own, and drops its pages from the cache. The run also warms the
// interpreter and its libraries, which a throttled job would otherwise load for minutes.
func makeCold(t *testing.T, b bench, c testCase) {
	t.Helper()
	output(t, b.shell(nil, b.scriptArgs(c, "--make-only")...))
	must.Do(t, filepath.WalkDir(b.data(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		must.Do(t, b.ctx.Err())
		file := must.Get(os.Open(path))(t)
		defer file.Close()
		return unix.Fadvise(int(file.Fd()), 0, 0, unix.FADV_DONTNEED)
	}))
}

// startNeighbours starts n CPU hogs beside the job, which end with the test. They come when the job already trains:
// beside them it would import torch for minutes. pid is their process group, 0 where there are none.
func startNeighbours(t *testing.T, n int) (pid int) {
	t.Helper()
	if n == 0 {
		return 0
	}
	cmd := inGroup(exec.Command("stress-ng", "--cpu", strconv.Itoa(n), "--cpu-method", "int64", "--quiet", "--timeout",
		jobSeconds+"s"))
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting stress-ng (apt-get install -y stress-ng): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			t.Errorf("ending stress-ng: %v", err)
		}
		_ = cmd.Wait() // killed, as asked
	})
	return cmd.Process.Pid
}

// limit is one limit of one cgroup controller, in both hierarchies' words.
type limit struct {
	controller string // version 1's; version 2 has io for blkio
	v1, v2     map[string]string
}

func (s surroundings) limits(t *testing.T, b bench) []limit {
	t.Helper()
	var limits []limit
	if s.readIOPS > 0 || s.readBPS > 0 {
		device := must.Get(blockDevice(b.work))(t)
		l := limit{controller: "blkio", v1: map[string]string{}, v2: map[string]string{}}
		if s.readIOPS > 0 {
			l.v1["blkio.throttle.read_iops_device"] = fmt.Sprintf("%s %d", device, s.readIOPS)
			l.v2["io.max"] = fmt.Sprintf("%s riops=%d", device, s.readIOPS)
		}
		if s.readBPS > 0 {
			l.v1["blkio.throttle.read_bps_device"] = fmt.Sprintf("%s %d", device, s.readBPS)
			l.v2["io.max"] = strings.TrimSpace(fmt.Sprintf("%s rbps=%d", cmp.Or(l.v2["io.max"], device), s.readBPS))
		}
		limits = append(limits, l)
	}
	if s.quotaCPUs > 0 {
		const period = 100000 // microseconds, the kernel's default (Documentation/scheduler/sched-bwc.rst)
		quota := strconv.Itoa(int(s.quotaCPUs * period))
		limits = append(limits, limit{
			controller: "cpu",
			v1:         map[string]string{"cpu.cfs_quota_us": quota},
			v2:         map[string]string{"cpu.max": quota + " " + strconv.Itoa(period)},
		})
	}
	return limits
}

// make makes a cgroup with the limit, which goes with the test, and returns its folder.
func (l limit) make(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("a cgroup limit needs root")
	}
	parent, values := filepath.Join("/sys/fs/cgroup", l.controller), l.v1
	if _, err := os.Stat(parent); err != nil {
		parent, values = "/sys/fs/cgroup", l.v2
		controller := strings.TrimPrefix(l.controller, "blk")
		there, err := os.ReadFile(filepath.Join(parent, "cgroup.controllers"))
		if err != nil || !slices.Contains(strings.Fields(string(there)), controller) {
			t.Fatalf("no %s controller, neither cgroup version 1 nor 2", l.controller)
		}
		must.Do(t, os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+"+controller), 0))
	}
	dir := filepath.Join(parent, fmt.Sprintf("%s%d-%s", workPrefix, os.Getpid(), l.controller))
	must.Do(t, os.Mkdir(dir, 0o755))
	t.Cleanup(func() { must.Do(t, removeCgroup(dir)) })
	for file, value := range values {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); err != nil {
			t.Fatalf("writing %q: %v", value, err)
		}
	}
	return dir
}

// removeCgroup removes an emptied cgroup; the kernel needs a moment after the last process ended.
func removeCgroup(dir string) error {
	var err error
	for range 50 {
		if err = os.Remove(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("removing the cgroup: %w", err)
}

// blockDevice returns major:minor of the whole device that holds path: limits do not apply to partitions.
func blockDevice(path string) (string, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return "", err
	}
	device := fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	sys, err := filepath.EvalSymlinks("/sys/dev/block/" + device)
	if err != nil {
		return "", fmt.Errorf("%s lies on no block device (%s)", path, device)
	}
	if _, err := os.Stat(filepath.Join(sys, "partition")); err == nil {
		whole, err := os.ReadFile(filepath.Join(filepath.Dir(sys), "dev"))
		if err != nil {
			return "", err
		}
		device = strings.TrimSpace(string(whole))
	}
	return device, nil
}

// sweep removes what an earlier run that was killed left behind: work folders and empty cgroups whose owner is gone.
func sweep(root string) error {
	patterns := []string{
		filepath.Join(root, "/var/tmp", workPrefix+"*"), filepath.Join("/sys/fs/cgroup", workPrefix+"*"),
		filepath.Join("/sys/fs/cgroup", "*", workPrefix+"*"),
		filepath.Join("/dev/shm", workPrefix+"*"), filepath.Join("/dev", workPrefix+"*"),
	}
	var errs []error
	for _, pattern := range patterns {
		found, err := filepath.Glob(pattern)
		errs = append(errs, err)
		for _, path := range found {
			owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), workPrefix), "-")
			if pid, err := strconv.Atoi(owner); err != nil || syscall.Kill(pid, 0) != syscall.ESRCH {
				continue
			}
			if strings.HasPrefix(path, "/sys/") {
				errs = append(errs, removeCgroup(path))
			} else {
				errs = append(errs, os.RemoveAll(path))
			}
		}
	}
	return errors.Join(errs...)
}
