//go:build reliability

package reliability

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/isolate/hungmount"
	"github.com/pipetune/pipetune/internal/must"
)

// mountTrials are F1: a mount that answers everything but one kind of question, which it never answers.
func mountTrials() []trial {
	var list []trial
	for _, v := range []struct {
		name string
		op   hungmount.Op
		path string // within the mount
	}{
		{"statfs", hungmount.Statfs, hungmount.File},
		{"open", hungmount.Open, hungmount.File},
		{"read", hungmount.Read, hungmount.File},
		{"getattr", hungmount.Getattr, "."},
		{"readdir", hungmount.Readdir, "."},
	} {
		list = append(list, trial{
			id: "F1-" + v.name, fault: "the dataset's mount hangs in " + v.name,
			made: "`bench-io` on a file system on raw /dev/fuse that never answers it; again, with Ctrl-C",
			target: "a verdict within 5 s; one helper is stuck, at most 4 in all; Ctrl-C ends it within 2 s, exit " +
				"130; no thread of pipetune's own in state D for more than 0.5 s",
			run: func(s *stand) { hungMount(s, v.op, v.path) },
		})
	}
	return list
}

func hungMount(s *stand, op hungmount.Op, path string) {
	s.ownMounts()
	run := func(what string, limit time.Duration, interrupt bool) (time.Duration, int) {
		m := s.mount(op)
		defer m.release()
		p := s.pipetune([]string{"bench-io", "-q", "-v", "--budget", "2s", filepath.Join(m.dir, path)})
		began, f := time.Now(), p.follow()
		if interrupt {
			s.until(time.Minute, "the mount holds somebody", func() bool { return m.Hanging() > 0 || p.hasEnded() })
			began = time.Now()
			p.signal(syscall.SIGINT)
		}
		status := p.exit(2 * time.Minute)
		took := time.Since(began)
		f.stop()
		for thread, where := range f.asleep {
			s.Errorf("%s was in state D, in %s", thread, where)
		}
		s.atMost(float64(f.mostHung), 1, "%.0f helpers were stuck on one mount")
		if f.mostHung > isolate.MaxStuck {
			s.Errorf("%d helpers were stuck", f.mostHung)
		}
		if m.Hanging() == 0 {
			s.Error("nobody came to hang: the trial shows nothing")
		}
		m.release()
		p.alone()
		s.Logf("%s: exit %d after %v: %s%s", what, status, took, p.complaints(), p.output())
		s.atMost(took.Seconds(), limit.Seconds(), "%s took %.1f s", what)
		return took, status
	}
	took, status := run("the verdict", 5*time.Second, false)
	stopped, interrupted := run("Ctrl-C", 2*time.Second, true)
	if interrupted != 130 {
		s.Errorf("Ctrl-C: exit %d", interrupted)
	}
	s.measured("verdict after %.1f s, exit %d; Ctrl-C: exit %d after %.1f s", took.Seconds(), status, interrupted,
		stopped.Seconds())
}

// ownMounts gives the trial a mount namespace of its own: what it mounts from here on is seen by it and by the programs
// it starts, and by nobody else, who might walk into a mount that hangs. The trial's thread is not given back: it ends
// with the trial.
func (s *stand) ownMounts() {
	s.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		s.Fatalf("making a mount namespace: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		s.Fatalf("making mounts private: %v", err)
	}
}

// tmpfs mounts one over a folder until the trial ends.
func (s *stand) tmpfs(dir string, flags uintptr, options string) {
	s.Helper()
	must.Do(s, unix.Mount("tmpfs", dir, "tmpfs", flags, options))
	s.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			s.Error(err)
		}
	})
}

// mounted is a file system of the trial's own, on raw /dev/fuse.
type mounted struct {
	*hungmount.Mount
	dir     string
	release func() // takes it away, once: what hangs in it goes on with an error
}

// mount mounts one that never answers some kinds of questions. It must be released before whoever hangs in it can be
// ended.
func (s *stand) mount(hang ...hungmount.Op) mounted {
	s.Helper()
	dir := must.Get(os.MkdirTemp(s.work, "mount-"))(s)
	m := must.Get(hungmount.Start(dir, hang...))(s)
	return mounted{m, dir, sync.OnceFunc(func() {
		if err := m.Release(); err != nil {
			s.Error(err)
		}
	})}
}
