//go:build reliability

package reliability

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pipetune/pipetune/internal/must"
)

// room are the sizes that a watch of 6 s is given for its files, in units of fullDisk and fileLimit: from one that not
// even a header fits into to one that is enough.
var room = []int{1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 200}

// watchesWithRoom runs a watch for each size, all beside one job, and holds each to what must be. prepare returns the
// program that a watch runs under, and what changes its command.
func watchesWithRoom(s *stand, prepare func(o outputs, units int) (program []string, change func(*exec.Cmd))) {
	s.Helper()
	job := steady{batches: 6000, step: 10 * time.Millisecond, workers: 2}.start(s)
	type run struct {
		outputs
		p *command
	}
	var runs []run
	for _, units := range room {
		o := outputs{s.folder(fmt.Sprintf("room-%d", units))}
		program, change := prepare(o, units)
		o.prepare(s)
		runs = append(runs, run{o, s.under(program, watchOf(job, "6s", "-q", "-o", o.recording(), "-o", o.report()),
			change)})
	}
	clean, kept := 0, 0
	for _, r := range runs {
		if r.judge(s, r.p, r.p.wait(2*time.Minute)) {
			clean++
		}
		kept += len(must.Get(filepath.Glob(filepath.Join(r.dir, ".run.jsonl.partial-*")))(s))
		if s.Failed() {
			s.Fatalf("in %s", filepath.Base(r.dir))
		}
	}
	if clean == 0 || clean == len(runs) {
		s.Errorf("%d of %d watches were clean: the sizes tell nothing", clean, len(runs))
	}
	s.measured("%d watches, %d of them without enough room: no half file, exit 2, %d recordings kept and read again",
		len(runs), len(runs)-clean, kept)
}

func fullDisk(s *stand) {
	watchesWithRoom(s, func(o outputs, pages int) ([]string, func(*exec.Cmd)) {
		// Two pages hold the old files.
		s.tmpfs(o.dir, 0, "size="+strconv.Itoa((pages+2)*os.Getpagesize()))
		return nil, func(*exec.Cmd) {}
	})
}

func fileLimit(s *stand) {
	const unit = 2048
	watchesWithRoom(s, func(_ outputs, units int) ([]string, func(*exec.Cmd)) {
		return []string{"/usr/bin/prlimit", fmt.Sprintf("--fsize=%d", units*unit)}, func(cmd *exec.Cmd) {
			// the limit is not about them
			cmd.Stdout, cmd.Stderr = s.pipeTo(cmd.Stdout.(*os.File)), s.pipeTo(cmd.Stderr.(*os.File))
		}
	})
}

// pipeTo returns a pipe whose other end is copied into a file: a file limit does not bind a pipe.
func (s *stand) pipeTo(file *os.File) *os.File {
	s.Helper()
	r, w, err := os.Pipe()
	must.Do(s, err)
	into := must.Get(os.OpenFile(file.Name(), os.O_WRONLY|os.O_APPEND, 0))(s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = into.ReadFrom(r) // what is missing shows in what was expected of it
		into.Close()
		r.Close()
	}()
	s.Cleanup(func() {
		w.Close()
		<-done
	})
	return w
}

func failingCalls(s *stand) {
	source, dir, log := s.testdata("recordings/no-workers.jsonl"), s.folder("out"), s.in("strace.log")
	path := filepath.Join(dir, "run.json")
	runs := 0
	for _, fault := range []struct{ call, errno string }{
		{"write", "ENOSPC"}, {"write", "EIO"}, {"write", "EDQUOT"}, {"fsync", "EIO"}, {"renameat", "EIO"},
		{"openat", "EROFS"}, {"openat", "ENOSPC"}, {"unlinkat", "EIO"}, {"close", "EIO"},
	} {
		for n := 1; ; n++ {
			if n > 400 {
				s.Fatalf("%s still fails at call %d", fault.call, n)
			}
			must.Do(s, os.WriteFile(path, []byte(oldText), 0o600))
			inject := fmt.Sprintf("inject=%s:error=%s:when=%d+", fault.call, fault.errno, n)
			p := s.under([]string{"strace", "-f", "-qq", "-o", log, "-e", "trace=" + fault.call, "-e", inject},
				[]string{"report", source, "-o", path})
			status := p.wait(time.Minute)
			runs++
			trace := must.Get(os.ReadFile(log))(s)
			what := fmt.Sprintf("%s fails with %s from call %d on", fault.call, fault.errno, n)
			fresh := s.whole(path)
			switch {
			case bytes.Contains(trace, []byte("SIGSEGV")) || crashed(p.complaints()):
				s.Errorf("%s: it crashed: %.1500s", what, p.complaints())
			case status == 0 && !fresh:
				s.Errorf("%s: exit 0 with the old file", what)
			case status != 0 && status != 2:
				// The dynamic loader opens and closes files too, before any of pipetune's code runs: 127 is its own
				// word.
				if !strings.Contains(p.complaints(), "error while loading shared libraries") {
					s.Errorf("%s: exit %d: %s", what, status, p.complaints())
				}
			}
			// Where removing itself is what fails, a temporary name may be left.
			leftover := fault.call == "unlinkat" || fault.call == "openat"
			for _, e := range must.Get(os.ReadDir(dir))(s) {
				if e.Name() != "run.json" && !leftover {
					s.Errorf("left: %s", e.Name())
				}
				must.Do(s, os.RemoveAll(filepath.Join(dir, e.Name())))
			}
			if s.Failed() || !bytes.Contains(trace, []byte("INJECTED")) {
				break
			}
		}
	}
	s.measured("%d runs over 9 kinds of failing calls: the old file or the new one each time, exit 0 or 2, no crash",
		runs)
}
