//go:build reliability

package reliability

import (
	"path/filepath"
	"syscall"
	"time"

	"github.com/pipetune/pipetune/internal/isolate"
	"github.com/pipetune/pipetune/internal/isolate/hungmount"
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
			target: "a verdict within 5 s; one helper is stuck, at most 4 in all; Ctrl-C ends it within 2 s; no " +
				"thread of pipetune's own in state D for more than 0.5 s",
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
		if f.mostHung > 1 {
			s.missed("%d helpers were stuck on one mount", f.mostHung)
		}
		if f.mostHung > isolate.MaxStuck {
			s.Errorf("%d helpers were stuck", f.mostHung)
		}
		if m.Hanging() == 0 {
			s.Error("nobody came to hang: the trial shows nothing")
		}
		m.release()
		p.alone()
		s.Logf("%s: exit %d after %v: %s%s", what, status, took, p.complaints(), p.output())
		if took > limit {
			s.missed("%s took %.1f s", what, took.Seconds())
		}
		return took, status
	}
	took, status := run("the verdict", 5*time.Second, false)
	stopped, interrupted := run("Ctrl-C", 2*time.Second, true)
	s.measured("verdict after %.1f s, exit %d; Ctrl-C: exit %d after %.1f s", took.Seconds(), status, interrupted,
		stopped.Seconds())
}
