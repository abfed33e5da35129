package procfs

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/must"
)

// Tell the copy of this test that runs below which folder to make its root, and that its mounts are its own.
const (
	chrootTo  = "PIPETUNE_TEST_CHROOT"
	ownMounts = "PIPETUNE_TEST_OWN_MOUNTS"
)

// TestChroot: a root folder that no mount has is found, of another process as this one sees it, and of ourselves by
// asking the file system.
func TestChroot(t *testing.T) {
	if dir := os.Getenv(chrootTo); dir != "" {
		insideChroot(t, dir)
		return
	}
	dir := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	want, ok := MountOf(must.Get(FS{}.Mounts())(t), dir)
	if !ok {
		t.Fatalf("no mount holds %s", dir)
	}

	cmd, ready := startInChroot(t, dir, 0)
	line := must.Get(ready.ReadString('\n'))(t)
	p := open(t, FS{}, cmd.Process.Pid)
	theirs := must.Get(p.Mounts(FS{}))(t)
	if m, ok := MountOf(theirs, "/data/train"); !ok || m.Device != want.Device || m.FSType != want.FSType {
		t.Errorf("the root of a process in %s (%q): %+v, want %+v", dir, line, m, want)
	}

	_, ready = startInChroot(t, dir, unix.CLONE_NEWNS)
	line = must.Get(ready.ReadString('\n'))(t)
	if told := fmt.Sprintf("own: %v %v true, /proc: proc\n", want.Device, KindOfFS(want.FSType)); line != told {
		t.Errorf("in a chroot of its own, with /proc, the root is %q, want %q", line, told)
	}
}

// startInChroot runs this test with dir as its root, until the end of the caller's. Who is not root becomes it in a
// user namespace of its own, as far as the kernel allows.
func startInChroot(t *testing.T, dir string, flags uintptr) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), chrootTo+"="+dir)
	if flags != 0 {
		cmd.Env = append(cmd.Env, ownMounts+"=1")
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	}
	out, hold := must.Get(cmd.StdoutPipe())(t), must.Get(cmd.StdinPipe())(t)
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		hold.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("in the chroot: %v", err)
		}
	})
	return cmd, bufio.NewReader(out)
}

// insideChroot makes dir its root, with /proc where the mounts are its own, prints what it sees of itself there, and
// stays until its standard input ends.
func insideChroot(t *testing.T, dir string) {
	own := os.Getenv(ownMounts) != ""
	if own {
		proc := filepath.Join(dir, "proc")
		must.Do(t, os.MkdirAll(proc, 0o755))
		must.Do(t, unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
		must.Do(t, unix.Mount("/proc", proc, "", unix.MS_BIND|unix.MS_REC, ""))
	}
	must.Do(t, unix.Chroot(dir))
	must.Do(t, os.Chdir("/"))
	told := "in"
	if own {
		mounts := must.Get(FS{}.Mounts())(t)
		s, err := FS{}.StorageOf(mounts, "/data/train")
		m, _ := MountOf(mounts, "/proc/self")
		told = fmt.Sprintf("own: %v %v %v, /proc: %s", s.Mount.Device, s.Kind, err == nil, m.FSType)
	}
	fmt.Println(strings.TrimSpace(told))
	fmt.Scanln() // until the other side closes: the error is the end that is waited for
}
